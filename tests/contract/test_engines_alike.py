"""Both engines rank the same records identically where they score exactly."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, StoreUnavailable
from atlas.core.operations import Operations
from atlas.storage.maintenance.copying import copy_store
from atlas.storage.records import Scope
from atlas.storage.sql import copying, ledger
from atlas.storage.store import Store
from tests.support.repository import REPOSITORY
from tests.support.storage.ledgers import THINGS, Opened, vector_of

ODD = (
    "getUserById failed for HTTPServerError in snake_case_name",
    "Ein naïver Straßenname, café crème, ÅNGSTRÖM, İstanbul, ﬁn",
    "数据库连接失败 データベース接続 데이터베이스 연결",
    "ёлка Ёлка ЁЖ, Ελλάδα ΑΘΗΝΑ, عربي نص, हिन्दी पाठ, ไทย",
    "e\u0301te\u0301 x\u0335y n\0ul \u00bd ² Ⅷ 😀 C++ C# .NET a_b-c__d",
    "",
    "word " * 300,
    "one two three two one two three",
)
QUERIES = (
    *("user by id", "getUserById", "naive strasse cafe", "数据库", "库", "データ", "ёлка", "αθηνα", "été", "two three"),
    *('"one two three"', "fin", "C++ a_b", "नि पाठ", "word", "1/2 VIII", "connection failed", "snake case nam"),
    "नमस्ते 연결",
)


def texts() -> list[str]:
    """Texts of the sample data, and odd ones."""
    lines = [
        json.loads(line) for line in (REPOSITORY / "sample_data" / "customer_support.jsonl").read_text().splitlines()
    ]
    return [*ODD, *(json.dumps(line, ensure_ascii=False)[:2_000] for line in lines[:120])]


@pytest.fixture(scope="module")
def both(postgres_server, tmp_path_factory) -> Iterator[list[Store]]:
    """A store of each engine, with the same records written, changed, deleted and brought back in the same order."""
    directory = tmp_path_factory.mktemp("alike")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_LOCAL", str(directory))
        stores = [Store.open(directory / "store"), Store.open(postgres_server.new_address())]
        for store in stores:
            fill(Opened(store))
        yield stores
        for store in stores:
            store.ledger.close()


def fill(opened: Opened) -> None:
    draw, things = random.Random(5), opened.store.collection(THINGS)
    held = texts()
    for start in range(0, len(held), 40):
        part = held[start : start + 40]
        ids = [f"r{start + i}" for i in range(len(part))]
        metadatas = [{"search_text": text[::-1][:200], "n": i, "kind": f"k{i % 3}"} for i, text in enumerate(part)]
        things.add(ids, [vector_of(i) for i in ids], metadatas, part)
    for number in draw.sample(range(len(held)), 20):
        opened.edit(f"r{number}", held[number - 1] + " changed", n=number / 2)
    gone = [f"r{number}" for number in draw.sample(range(len(held)), 20)]
    deleted = opened.delete(*gone)
    opened.store.undo(opened.delete("r0", "r1") if "r0" not in gone and "r1" not in gone else deleted)


def asked() -> list[str]:
    lines = json.loads((REPOSITORY / "sample_data" / "queries.json").read_text())["queries"]
    return [*QUERIES, *(line["query"] for line in lines[:20])]


@pytest.mark.parametrize("is_typed", [False, True])
@pytest.mark.parametrize("scope", ["all", "hidden", "few"])
def test_words_find_the_same_with_the_same_values_in_the_same_order(both, scope, is_typed):
    seqs = np.arange(1, 200, dtype=np.int64)
    within = {
        "all": Scope(hidden=np.zeros(0, np.int64)),
        "hidden": Scope(hidden=seqs[::4]),
        "few": Scope(passing=seqs[::12], hidden=np.zeros(0, np.int64)),
    }[scope]
    for query in asked():
        here, there = (store.ledger.words.find(THINGS, query, within, 10, as_typed=is_typed) for store in both)
        assert list(here.values) == list(there.values), query
        assert list(here.values.values()) == pytest.approx(list(there.values.values()), abs=1e-9), query
        assert here.information == pytest.approx(there.information), query


def test_vectors_find_the_same(both):
    for number in range(20):
        here, there = (store.collection(THINGS).query(vector_of(f"q{number}"), 10) for store in both)
        assert (here.ids, here.distances) == (there.ids, there.distances)


@pytest.mark.parametrize("order", ["", "n", "kind"])
@pytest.mark.parametrize("descending", [False, True])
def test_records_come_in_the_same_order(both, order, descending):
    here, there = (
        [row.id for row in store.ledger.scan(THINGS, order_by=order, descending=descending)] for store in both
    )
    assert here == there


def test_everything_that_is_kept_is_the_same(both):
    here, there = (Opened(store).contents() for store in both)
    assert here == there
    here, there = (store.ledger.columns.column(THINGS, "n") for store in both)
    assert here == there
    assert {key: type(value) for key, value in here.items()} == {key: type(value) for key, value in there.items()}


@pytest.mark.parametrize(
    ("text", "is_found"),
    [("HTTPserverERROR", True), ("数据库", True), ("snake_case", True), ("snakeXcase", False), ("100%", False)],
)
def test_the_history_is_searched_by_the_texts_of_changed_records(both, text, is_found):
    here, there = (store.ledger.history.operations(50, 0, Operations(text=text)) for store in both)
    assert [each.kind for each in here] == [each.kind for each in there]
    assert bool(here) is is_found


def test_the_tables_of_words_follow_the_records(both):
    assert [problem for store in both for check in store.ledger.checks() if (problem := check.run())] == []


def test_a_store_is_copied_there_and_back_and_what_was_done_before_is_undone_there(tmp_path, postgres_address, both):
    here, _ = both
    [last, *_] = here.history()
    there, back = Store.open(postgres_address), Store.open(tmp_path / "back")
    assert copy_store(here, there) == copy_store(there, back) > 200
    for store in (there, back):
        assert Opened(store).contents() == Opened(here).contents()
        assert store.history(1_000) == here.history(1_000)
        assert store.ledger.moment().ledger_id != here.ledger.moment().ledger_id
        undone = store.undo(last.id)
        assert store.operation(last.id).undone_by == undone.id
        assert [problem for check in store.ledger.checks() if (problem := check.run())] == []
        store.undo(undone.id)
        assert Opened(store).contents() == Opened(here).contents()
        Opened(store).add("new after the copy")
    with pytest.raises(InvalidInput, match="is not empty"):
        copy_store(here, there)
    for store in (there, back):
        store.ledger.close()


@pytest.mark.parametrize("way", ["there", "back"])
@pytest.mark.parametrize("n_calls", [1, 2, 4])
def test_a_copy_that_was_cut_off_is_no_store_and_goes_on(tmp_path, postgres_address, both, monkeypatch, way, n_calls):
    monkeypatch.setattr(copying, "BATCH", 50)
    source = both[0 if way == "there" else 1]
    place = postgres_address if way == "there" else tmp_path / "back"
    target, inserted = Store.open(place), copying._insert_rows

    def cut_off(*arguments):
        cut_off.n_calls += 1
        if cut_off.n_calls > n_calls:
            raise KeyboardInterrupt
        inserted(*arguments)

    cut_off.n_calls = 0
    monkeypatch.setattr(copying, "_insert_rows", cut_off)
    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target)
    target.ledger.close()
    with pytest.raises(StoreUnavailable, match=r"a copy of another store was begun at .*.*: atlas copy SOURCE "):
        Store.open(place)
    told = []
    monkeypatch.setattr(copying, "_insert_rows", inserted)
    target = Store.open(place, accept_incomplete=True)
    n_rows = copy_store(source, target, lambda done, total: told.append((done, total)))
    assert told[-1] == (n_rows, n_rows)
    assert told[0][0] > 50
    target.ledger.close()
    again = Store.open(place)
    assert Opened(again).contents() == Opened(source).contents()
    assert again.history(1_000) == source.history(1_000)
    assert [problem for check in again.ledger.checks() if (problem := check.run())] == []
    again.ledger.close()


def test_a_copy_begins_again_where_the_source_was_written_meanwhile(tmp_path, postgres_address, both, monkeypatch):
    source = Store.open(tmp_path / "source")
    fill(Opened(source))
    target = Store.open(postgres_address)
    monkeypatch.setattr(copying, "finish_or_clear_copy", None)
    monkeypatch.setattr(ledger, "finish_or_clear_copy", None)
    with pytest.raises(TypeError):
        copy_store(source, target)
    monkeypatch.undo()
    monkeypatch.setenv("ATLAS_LOCAL", str(tmp_path / "local"))
    Opened(source).edit("r3", "said otherwise")
    Opened(source).delete("r4")
    assert copy_store(source, target) > 200
    assert Opened(target).contents() == Opened(source).contents()
    source.close()
    target.close()
