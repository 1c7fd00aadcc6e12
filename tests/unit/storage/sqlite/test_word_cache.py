"""Words that a process holds in memory find what the file says now, whoever has written since."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from atlas.storage.sql.words import word_cache
from atlas.storage.sqlite.words.fts_tables import rebuild_word_table
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.ledgers import THINGS, Opened, vector_of

engine = every_engine

VOCABULARY = "cancel flight refund café getUserById user parse 数据库 cafe retry timeout".split()  # noqa: SIM905


def text(draw: random.Random) -> str:
    return " ".join(draw.choices(VOCABULARY, k=draw.randint(1, 9)))


def found(opened: Opened, query: str) -> object:
    return opened.store.collection(THINGS).candidates(None, query, 50)


def change(opened: Opened, draw: random.Random, number: int) -> None:
    """Add, edit or delete a record, or take the last operation back."""
    ids = opened.ids()
    kind = draw.choice(["add", "add", "edit", "delete", "undo"])
    if kind == "add" or len(ids) < 5:
        document = text(draw)
        metadata = {"search_text": text(draw)}
        opened.store.collection(THINGS).add([f"n{number}"], [vector_of(document)], [metadata], [document])
    elif kind == "edit":
        opened.edit(draw.choice(ids), text(draw))
    elif kind == "delete":
        opened.delete(draw.choice(ids))
    else:
        opened.store.undo(opened.edit(draw.choice(ids), text(draw)))


@pytest.mark.parametrize("most_changed", [0, 3, 64])
@pytest.mark.parametrize("most_held", [5, 10**6])
def test_words_that_are_held_find_what_was_written_by_others_since(open_store, monkeypatch, most_changed, most_held):
    monkeypatch.setattr(word_cache, "MAX_CHANGED", most_changed)
    monkeypatch.setattr(word_cache, "MAX_CACHED", most_held)
    draw, reader, writer = random.Random(most_changed), open_store(), open_store()
    for number in range(60):
        change(draw.choice([reader, writer, writer]), draw, number)
        query = text(draw)
        reader.store.ledger.words._frequencies = {}  # counts are held about right, words exactly
        assert found(reader, query) == found(open_store(), query)


@of_files
def test_words_of_a_ledger_that_was_put_back_are_read_again(open_store, tmp_path):
    opened = open_store()
    opened.add(*(f"r{i}" for i in range(12)))
    path = opened.store.ledger.database.path
    opened.edit("r1", "flight")
    assert len(found(opened, "flight").ids) == 1
    copy = tmp_path / "copy.sqlite"
    opened.store.ledger.database.copy_to(copy)
    opened.edit("r2", "flight refund")
    assert len(found(opened, "flight").ids) == 2
    opened.store.close()
    shutil.copy(copy, path)
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    opened.edit("r3", "refund")
    assert found(opened, "flight").ids == ["r1"]
    assert found(opened, "refund").ids == ["r3"]


@of_files
def test_words_of_a_table_that_was_built_again_are_read_again(open_store):
    opened = open_store()
    opened.add(*(f"r{i}" for i in range(12)))
    opened.edit("r1", "flight")
    with opened.store.ledger.database.write() as connection:
        connection.execute("DELETE FROM words_1_data WHERE id > 10")
        connection.execute("INSERT INTO words_1 (words_1) VALUES ('delete-all')")
        connection.execute("INSERT INTO words_1 (rowid, document, search_text) VALUES (1, 'refund', '')")
    other = open_store()
    assert len(found(other, "flight").ids) == 0
    with opened.store.ledger.database.write() as connection:
        rebuild_word_table(connection, THINGS)
    assert found(other, "flight").ids == ["r1"]


@pytest.mark.parametrize("kind", ["add", "edit", "delete"])
def test_an_older_snapshot_finds_what_it_found_before_others_searched_a_later_one(open_store, kind):
    opened = open_store()
    opened.add(*(f"r{i}" for i in range(12)))
    opened.edit("r1", "flight refund")
    changes = {
        "add": lambda: opened.add("later flight"),
        "edit": lambda: opened.edit("r2", "flight"),
        "delete": lambda: opened.delete("r1"),
    }

    def search_later() -> object:
        changes[kind]()
        return found(opened, "flight r3")

    with opened.store.ledger.reading(), ThreadPoolExecutor(1) as other:
        before = found(opened, "flight r3")
        later = other.submit(search_later).result()
        assert later != before
        assert found(opened, "flight r3") == before
    assert found(opened, "flight r3") == later == found(open_store(), "flight r3")
