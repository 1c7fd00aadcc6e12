"""Keyword search over a store: what finds what, and `candidates` against ranking every record by hand."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.core.hits import Candidates
from atlas.core.operations import Marks
from atlas.storage.maintenance.doctor import examine
from atlas.storage.sql.words import keyword_search as words
from atlas.storage.text.analyzer import expand_for_index, query_terms
from tests.support.storage.engines import every_engine, of_files
from tests.support.storage.ledgers import THINGS, Opened, vector_of

engine = every_engine

VOCABULARY = "cancel flight refund certificate passenger parse index query retry timeout cache login chart".split()  # noqa: SIM905

APART = " 数 "
"""Keeps two words from being asked for side by side."""


@pytest.fixture
def opened(open_store: Callable[..., Opened]) -> Opened:
    return open_store()


def add(opened: Opened, texts: dict[str, str], **metadata: Any) -> None:
    """Add records with these documents, by id."""
    things = opened.store.collection(THINGS)
    vectors = [vector_of(record_id) for record_id in texts]
    things.add(list(texts), vectors, [dict(metadata) for _ in texts], list(texts.values()))


def found(opened: Opened, text: str, k: int = 10, **options: Any) -> list[str]:
    return opened.store.collection(THINGS).search_text(text, k, **options).ids


def candidates(opened: Opened, *args: Any, **options: Any) -> Candidates:
    return opened.store.collection(THINGS).candidates(*args, **options)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("call getUserById now", "get_user_by_id"),
        ("call get_user_by_id now", "getUserById"),
        ("call getUserById now", "user"),
        ("an HTTPServerError", "server error"),
        ("an HTTPServerError", "httpservererror"),
        ("run SWE-agent", "sweagent"),
        ("run sweagent", "SWE-agent"),
        ("send an email", "e-mail"),
        ("two reservations were cancelled", "cancelling reservation"),
        ("数据库连接失败", "数据库"),
        ("数据库连接失败", "数"),
        ("数据库连接失败", "败"),
        ("数据库连接失败", "连接"),
        ("Python3の使い方", "使い"),
        ("데이터베이스", "베이"),
        ("a rare \U00030001\U00030002 sign", "\U00030002"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("café", "CAFE"),
        ("ünïted", "United"),
        ("before\0after", "after"),
        ('say "cancel" twice', '"cancel'),
        ("word " * 50_000 + "needle", "needle"),
        ("x" * 200_000, "x" * 20_000 + "y"),
    ],
)
def test_either_spelling_finds_the_other(opened, text, query):
    add(opened, {"other": "nothing of the kind", "it": text, "third": "weather"})
    if len(query) < 10_000:
        assert found(opened, query) == ["it"]
    else:
        assert found(opened, query) == []


@pytest.mark.parametrize(
    "text", ['"', 'a" OR "b', "NEAR(a b)", "* ^ + - ( ) { } :", "document:x", "\0", "\ud800", "-" * 10_000]
)
def test_whatever_a_person_types_is_literal(opened, text):
    add(opened, {"it": "cancel the flight"})
    assert found(opened, text) == []
    assert found(opened, f"{text} cancel") == ["it"]


def test_a_megabyte_of_text_may_be_searched_for(opened):
    add(opened, {"it": "cancel the flight"})
    assert found(opened, "cancel " + "other words, getUserById 数据库 " * 40_000) == ["it"]


def test_words_follow_edits_deletions_undo_and_restore(opened):
    add(opened, {"a": "getUserById", "b": "数据库"})
    edit = opened.edit("a", "cancelled")
    assert found(opened, "user") == []
    assert found(opened, "cancel") == ["a"]
    deletion = opened.delete("b")
    assert found(opened, "数") == []
    opened.store.undo(deletion)
    opened.store.undo(edit)
    assert found(opened, "数") == ["b"]
    assert found(opened, "get_user_by_id") == ["a"]
    opened.delete("a")
    opened.store.collection(THINGS).restore(["a"])
    assert found(opened, "user") == ["a"]
    assert [finding.problem for finding in examine(opened.store) if finding.check == "keyword search"] == [""]


def test_each_collection_has_its_own_words(opened):
    add(opened, {str(i): "cancel the flight" for i in range(3)})
    add(opened, {"it": "a refund", "other": "weather", "third": "sun"})
    before = candidates(opened, None, "refund", 5)
    journal = opened.store.collection("atlas_journal's")
    journal.add([f"j{i}" for i in range(50)], [vector_of("x")] * 50, [{}] * 50, ["refund"] * 50)
    assert candidates(opened, None, "refund", 5) == before
    assert len(journal.search_text("refund", 100).ids) == 50
    assert opened.store.collection("empty").search_text("refund", 5).ids == []
    assert opened.store.collection("empty").candidates(None, "refund", 5).word_information == 0


@of_files
def test_the_store_keeps_no_second_copy_of_a_text(opened):
    text = "unmistakable " * 2_000
    add(opened, {"it": text})
    with opened.store.ledger.database.read() as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert "words_1" in tables
        assert "words_1_content" not in tables
        assert connection.execute("SELECT sum(length(block)) FROM words_1_data").fetchone()[0] < len(text) / 2


def test_buried_records_are_left_out_unless_asked_for(opened):
    add(opened, {"a": "cancel the flight", "b": "cancel the flight", "c": "weather"})
    opened.mark(a=Marks(buried=True))
    assert found(opened, "flight") == ["a", "b"]
    assert found(opened, "flight", with_buried=False) == ["b"]
    assert candidates(opened, vector_of("a"), "flight", 1).ids == ["a"]
    assert set(candidates(opened, vector_of("a"), "flight", 5, with_buried=False).ids) == {"b", "c"}


def test_words_side_by_side_tell_more_than_the_same_words_apart(opened):
    apart = {f"r{i}": "flight to cancel" for i in range(5)}
    add(opened, {"apart": "the flight was late, so cancel", "beside": "late, so the cancel flight was"} | apart)
    add(opened, {f"other{i}": "weather" for i in range(20)})
    assert found(opened, "cancel flight")[0] == "beside"


@pytest.mark.parametrize(("word", "parts"), [("解析器", "解析 析器"), ("データ", "デー ータ")])
def test_a_chinese_or_japanese_word_tells_more_than_its_characters_apart(opened, word, parts):
    add(opened, {"apart": parts, "beside": f"{word}很慢"})
    add(opened, {f"other{i}": "weather" for i in range(20)})
    assert found(opened, word) == ["beside", "apart"]


def test_the_last_word_that_is_typed_may_be_a_beginning_after_whole_words(opened):
    add(opened, {"beginning": "a heartbeat was lost", "whole": "the heart of it", "neither": "a fast beat"})
    add(opened, {f"other{i}": "weather" for i in range(9)})
    assert found(opened, "heart", as_typed=True) == ["whole", "beginning"]
    assert found(opened, "lost heartb", as_typed=True) == ["beginning"]
    assert found(opened, "heart") == ["whole"]
    assert found(opened, "h", as_typed=True) == []
    assert found(opened, "hear it", as_typed=True) == ["whole"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"json parser"', {"beside"}),
        ('"JSON_parser" slow', {"beside"}),
        ('"json" "parser"', {"beside", "apart"}),
        ('"解析器"', {"cjk"}),
        ('"析"', {"cjk"}),
        ('"慢速 json"', {"cjk"}),
        ('"器 json"', set()),
        ('"parser json', {"beside", "apart", "cjk"}),
        ('"" json " "', {"beside", "apart", "cjk"}),
        ('"json NEAR parser" OR "x*', set()),
    ],
)
def test_what_stands_between_quotation_marks_is_found_word_for_word(opened, query, expected):
    add(opened, {"beside": "a slow JSON parser", "apart": "a parser of slow JSON", "cjk": "解析器很慢速 JSON 数"})
    add(opened, {f"other{i}": "weather" for i in range(9)})
    assert set(found(opened, query, as_typed=True)) == expected
    assert set(found(opened, query, as_typed=True, where={"n": 1})) == set()


# Both channels at once


class Kept:
    """What a store should hold, and both values of each record computed without it."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}
        self.vectors: dict[str, np.ndarray] = {}
        self.metadatas: dict[str, dict[str, Any]] = {}
        self.buried: set[str] = set()

    def similarity(self, record_id: str, vector: np.ndarray) -> float:
        return float((np.atleast_2d(self.vectors[record_id]) @ vector).max())

    def words(self, query: str) -> dict[str, float]:
        """BM25 as FTS5's documentation has it: k1 1.2, b 0.75, a field's weight multiplies its words.

        A word that names nothing counts by half.
        """
        held = {i: [tokens(text) for text in texts] for i, texts in self.texts.items()}
        lengths = {i: sum(map(len, fields)) for i, fields in held.items()}
        counts = {i: [words_and_pairs(field) for field in fields] for i, fields in held.items()}
        mean = sum(lengths.values()) / len(lengths)
        values = dict.fromkeys(self.texts, 0.0)
        for term in {term.text for term in query_terms(query)}:
            often = {i: fields[0][term] + 0.5 * fields[1][term] for i, fields in counts.items()}
            share = 0.5 if {*term.split()} <= {"with", "a", "by"} else 1.0
            for i, n in often.items():
                values[i] += share * weight(often) * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * lengths[i] / mean))
        return values


def tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", expand_for_index(text).lower())


def words_and_pairs(held: list[str]) -> Counter[str]:
    """How often each word occurs, and each two words side by side."""
    return Counter(held) + Counter(map(" ".join, pairwise(held)))


def weight(often: dict[str, int]) -> float:
    n_holding = sum(n > 0 for n in often.values())
    return max(1e-6, math.log((len(often) - n_holding + 0.5) / (n_holding + 0.5)))


def at_random(opened: Opened, draw: random.Random, n_records: int) -> Kept:
    """Fill a store, then edit, delete and bury some of it."""
    kept, things = Kept(), opened.store.collection(THINGS)

    def text(n_most: int) -> str:
        return " ".join(draw.choices(VOCABULARY, weights=range(len(VOCABULARY), 0, -1), k=draw.randint(0, n_most)))

    def put(write: Any, ids: list[str]) -> None:
        for i in ids:
            kept.texts[i] = (text(12) + " getUserById" * (draw.random() < 0.1), text(30))
            kept.vectors[i] = np.stack([vector_of(f"{i}{draw.random()}") for _ in range(draw.randint(1, 3))])
            kept.metadatas[i] = {"n": draw.randrange(10), "even": draw.random() < 0.5}
        metadatas = [kept.metadatas[i] | {"search_text": kept.texts[i][1]} for i in ids]
        write(ids, [kept.vectors[i] for i in ids], metadatas, [kept.texts[i][0] for i in ids])

    put(things.add, [f"r{i}" for i in range(n_records)])
    put(things.update, draw.sample(sorted(kept.texts), n_records // 5))
    opened.store.catch_up()
    put(things.update, draw.sample(sorted(kept.texts), n_records // 10))
    for i in draw.sample(sorted(kept.texts), n_records // 5):
        opened.delete(i)
        del kept.texts[i]
    kept.buried = set(draw.sample(sorted(kept.texts), n_records // 10))
    opened.mark(**{i: Marks(buried=True) for i in kept.buried})
    return kept


def best(values: dict[str, float], n: int) -> float:
    """The n-th highest value; what is higher than that must be found."""
    return sorted(values.values(), reverse=True)[:n][-1] if values else 0.0


FILTERS: list[tuple[dict[str, Any] | None, Callable[[dict[str, Any]], bool]]] = [
    (None, lambda metadata: True),
    ({"even": True}, lambda metadata: metadata["even"]),
    ({"n": {"$gte": 8}}, lambda metadata: metadata["n"] >= 8),
    ({"n": 99}, lambda metadata: False),
]


@pytest.mark.parametrize("options", [{}, {"exact_max_rows": 20, "index_lag_rows": 10**6}], ids=["exact", "index"])
@pytest.mark.parametrize("seed", range(3))
def test_candidates_are_those_of_ranking_every_record_by_hand(open_store, seed, options):
    draw = random.Random(seed)
    opened = open_store(**options)
    kept = at_random(opened, draw, 150)
    for query in ("cancelled flights with a certificate", "chart login", "get_user_by_id", "cache submarine"):
        vector = vector_of(f"{query}{seed}")
        words_by_hand = kept.words(query)
        for where, passes in FILTERS:
            for with_buried in (True, False):
                n = draw.choice([1, 5, 40])
                got = candidates(opened, vector, query, n, where, with_buried=with_buried)
                allowed = {i for i in kept.texts if passes(kept.metadatas[i]) and (with_buried or i not in kept.buried)}
                check(got, n, {i: kept.similarity(i, vector) for i in allowed}, {i: words_by_hand[i] for i in allowed})
                assert all(
                    metadata["n"] == kept.metadatas[i]["n"] for i, metadata in zip(got.ids, got.metadatas, strict=True)
                )


def check(got: Candidates, n: int, similarities: dict[str, float], by_words: dict[str, float]) -> None:
    assert len(got.ids) == len(set(got.ids)) <= 2 * n
    assert set(got.ids) <= set(similarities)
    for i, similarity, value in zip(got.ids, got.similarities, got.words, strict=True):
        assert similarity == pytest.approx(similarities[i], abs=1e-5)
        assert value == pytest.approx(by_words[i], abs=1e-4)
    assert {i for i, value in similarities.items() if value > best(similarities, n) + 1e-6} <= set(got.ids)
    telling = {i for i, value in by_words.items() if value > max(best(by_words, n), 0.0) + 1e-4}
    assert telling <= set(got.ids)
    assert len(got.ids) >= min(n, len(similarities))


def test_either_channel_may_be_left_out(opened):
    add(opened, {"a": "cancel the flight", "b": "weather", "c": "sun"})
    by_words = candidates(opened, None, "flight", 5)
    assert (by_words.ids, by_words.similarities) == (["a"], [0.0])
    assert by_words.words[0] > 0
    by_vector = candidates(opened, vector_of("b"), None, 1)
    assert (by_vector.ids, by_vector.words, by_vector.word_information) == (["b"], [0.0], 0.0)
    assert by_vector.similarities == [pytest.approx(1, abs=1e-5)]
    assert candidates(opened, None, None, 5).ids == []
    assert candidates(opened, vector_of("a"), "flight", 0).ids == []


def test_candidates_come_without_content(opened):
    metadata = {"content": "the whole", "search_text": "umbrella", "title": "T"}
    opened.store.collection(THINGS).add(["a"], [vector_of("a")], [metadata], ["text"])
    (got,) = candidates(opened, vector_of("a"), "umbrella", 5).metadatas
    assert got == {"title": "T"}


@pytest.mark.parametrize("vector", [[1.0], [0.0] * 8, "text"])
def test_a_vector_that_is_none_is_refused(opened, vector):
    add(opened, {"a": "text"})
    with pytest.raises(InvalidInput, match=r"embedding|dimensions"):
        candidates(opened, vector, "text", 5)


def test_word_information_is_what_a_record_would_near_that_holds_everything_often(opened):
    add(opened, {"all": "refund flight " * 500} | {f"r{i}": "weather" for i in range(20)})
    got = candidates(opened, None, "refund flight", 5)
    assert got.word_information == pytest.approx(2.2 * 3 * math.log((21 - 1 + 0.5) / 1.5))  # two words and their pair
    assert 0.9 < got.words[0] / got.word_information < 1


def test_what_nothing_holds_counts_as_asked_but_not_twice(opened):
    add(opened, {f"r{i}": "weather" if i else "refund" for i in range(21)})
    texts = ("refund", "submarin", "refunds", "refund submarin")
    information = {text: candidates(opened, None, text, 5).word_information for text in texts}
    assert information["submarin"] == pytest.approx(2.2 * math.log(21.5 / 0.5))
    assert information["refunds"] == pytest.approx(information["refund"])
    assert information["refund submarin"] == pytest.approx(information["refund"] + information["submarin"])


def test_of_many_words_the_rarest_are_searched_for(open_store, monkeypatch):
    opened = open_store()
    kept = at_random(opened, random.Random(7), 200)
    asked = [word for word in VOCABULARY if len(query_terms(word)) == 1]
    n_holding = {word: sum(word in tokens(" ".join(texts)) for texts in kept.texts.values()) for word in asked}
    rarest = sorted(asked, key=lambda word: n_holding[word])[:2]
    monkeypatch.setattr(words, "MIN_TERMS", 1)
    monkeypatch.setattr(words, "MAX_POSTINGS", sum(n_holding[word] for word in rarest) + 1)
    got = candidates(opened, None, APART.join(asked), 1_000)
    expected = {i: value for i, value in kept.words(APART.join(rarest)).items() if value > 0}
    assert dict(zip(got.ids, got.words, strict=True)) == pytest.approx(expected, abs=1e-4)


def test_common_words_are_searched_for_where_there_are_no_rarer_ones(open_store, monkeypatch):
    opened = open_store()
    kept = at_random(opened, random.Random(8), 100)
    monkeypatch.setattr(words, "COMMON", 3)
    got = candidates(opened, None, f"cancel{APART}flight", 1_000)
    expected = {i: value for i, value in kept.words(f"cancel{APART}flight").items() if value > 0}
    assert dict(zip(got.ids, got.words, strict=True)) == pytest.approx(expected, abs=1e-4)


def test_counts_that_are_kept_follow_what_is_written(opened):
    """A word is asked for again and again while more records come to hold it."""

    def expected(n_holding: int, n_records: int) -> float:
        return 2.2 * math.log((n_records - n_holding + 0.5) / (n_holding + 0.5))

    for i in range(0, 400, 4):
        add(opened, {f"r{i}": "refund", f"r{i + 1}": "sun", f"r{i + 2}": "sun", f"r{i + 3}": "sun"})
        n_records = i + 4
        got = candidates(opened, None, "refund", 1_000)
        assert len(got.ids) == n_records // 4
        assert got.word_information == pytest.approx(expected(n_records // 4, n_records), rel=0.02)
    opened.delete(*[f"r{i}" for i in range(0, 200, 4)])
    assert candidates(opened, None, "refund", 5).word_information == pytest.approx(expected(50, 350))


@pytest.mark.parametrize("n", [1, 12])
@pytest.mark.parametrize("text", ["parsnip", "report", 'the "weekly report"', "repo"])
@pytest.mark.parametrize("as_typed", [False, True])
def test_an_emptied_collection_finds_nothing_and_what_is_added_to_it_again(opened, n, text, as_typed):
    ids = [f"r{i}" for i in range(n)]
    add(opened, dict.fromkeys(ids, "the weekly report"))
    opened.delete(*ids)
    assert found(opened, text, as_typed=as_typed) == []
    nothing = candidates(opened, vector_of("r0"), text, 5)
    assert (nothing.ids, nothing.word_information) == ([], 0.0)
    add(opened, {"new": "a weekly report"})
    assert found(opened, "report") == ["new"]
