"""Scoring as few records as must be gives what scoring all of them, and FTS5's own `bm25`, would."""

from __future__ import annotations

import random

import numpy as np
import pytest

from atlas.core.errors import StoreDamaged
from atlas.storage.sql.words import keyword_search as words
from atlas.storage.sql.words.word_cache import WordTable
from atlas.storage.sqlite.words import fts_tables
from atlas.storage.sqlite.words.fts_tables import read_lengths, read_postings, read_statistics, word_table
from atlas.storage.text import bm25 as scoring
from atlas.storage.text.analyzer import query_terms
from atlas.storage.text.bm25 import Postings, Scores
from tests.support.storage.ledgers import THINGS, vector_of

VOCABULARY = [f"word{number:02}" for number in range(60)] + ["café", "数据库", "getUserById"]


@pytest.fixture
def filled(open_store):
    """A store of 300 texts, some words of which are common; also with records changed and deleted since."""
    opened, draw = open_store(), random.Random(3)
    things = opened.store.collection(THINGS)

    def text(n_most: int) -> str:
        return " ".join(
            draw.choices(VOCABULARY, [1 / (i + 1) for i in range(len(VOCABULARY))], k=draw.randint(0, n_most))
        )

    ids = [f"r{i}" for i in range(300)]
    metadatas = [{"search_text": text(80), "even": i % 2 == 0} for i in range(300)]
    things.add(ids, [vector_of(i) for i in ids], metadatas, [text(30) for _ in ids])
    for i in draw.sample(ids, 60):
        opened.edit(i, text(20))
    opened.delete(*draw.sample(ids, 40))
    return opened


def by_fts(ledger, query: str) -> dict[int, float]:
    """What FTS5 says of each record, of all the terms that are searched for."""
    with ledger.database.read() as connection:
        table = word_table(connection, THINGS)
        at = WordTable(connection, table, THINGS, ledger.position(THINGS))
        counts = ledger.words._get_frequencies(at, query_terms(query))
        terms = words._select_terms(connection, table, counts, read_statistics(connection, table).n_records)
        rows = connection.execute(
            f"SELECT rowid, -bm25({table}, 1.0, 0.5) FROM {table} WHERE {table} MATCH ?",
            (fts_tables._match_any(list(terms)),),
        )
        return dict(rows.fetchall())


@pytest.mark.parametrize("most_occurrences", [0, 30, 100_000])
def test_words_that_occur_too_often_to_be_read_count_as_fts5_counts_them(filled, monkeypatch, most_occurrences):
    monkeypatch.setattr(fts_tables, "MAX_OCCURRENCES", most_occurrences)
    ledger, query = filled.store.ledger, " ".join(VOCABULARY[:8])
    found = ledger.words.find(THINGS, query, words.Scope(hidden=np.zeros(0, np.int64)), 1_000).values
    assert found == pytest.approx(by_fts(ledger, query))


@pytest.mark.parametrize("damage", ["DELETE FROM {}_docsize", "UPDATE {}_docsize SET sz = x''"])
def test_lengths_that_are_missing_are_told_as_damage(filled, damage):
    ledger = filled.store.ledger
    with ledger.database.write() as connection:
        connection.execute(damage.format(word_table(connection, THINGS)))
    with pytest.raises(StoreDamaged, match="lacks the lengths"):
        ledger.words.find(THINGS, "word01", words.Scope(hidden=np.zeros(0, np.int64)), 5)


@pytest.mark.parametrize("first_scored", [1, 40, 512])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_and_their_values_are_those_of_fts5(filled, monkeypatch, first_scored, seed):
    monkeypatch.setattr(scoring, "FIRST_SCORED", first_scored)
    draw, ledger = random.Random(seed), filled.store.ledger
    query = " ".join(draw.choices(VOCABULARY, k=draw.randint(1, 12)))
    expected = by_fts(ledger, query)
    also = [*draw.sample(range(1, 301), 20), 10**6]
    passing = np.array(sorted(draw.sample(range(1, 301), 100)), np.int64)
    none = np.zeros(0, np.int64)
    for scope, allowed in (
        (words.Scope(hidden=none), set(expected)),
        (words.Scope(hidden=passing), set(expected) - set(passing.tolist())),
        (words.Scope(passing=passing, hidden=none), set(expected) & set(passing.tolist())),
        (words.Scope(passing=passing[:20], hidden=none), set(expected) & set(passing[:20].tolist())),
    ):
        for n in (1, 5, 50):
            found = ledger.words.find(THINGS, query, scope, n, also).values
            top = sorted((expected[seq] for seq in allowed), reverse=True)[:n]
            assert list(found.values())[: len(top)] == pytest.approx(top)
            assert found == pytest.approx({seq: expected[seq] for seq in found})
            assert allowed & set(also) <= set(found) <= allowed


def test_few_records_are_scored_where_the_best_stand_out(monkeypatch):
    """A thousand records hold a common word once, ten hold it and a rare one."""
    monkeypatch.setattr(scoring, "FIRST_SCORED", 10)
    common = Postings.from_occurrences(np.arange(1, 1_001) << 32)
    rare = Postings.from_occurrences(np.arange(1, 11) << 32)
    asked: list[int] = []

    def lengths_of(seqs):
        asked.extend(seqs.tolist())
        return np.ones(len(seqs))

    best = Scores([common, rare], [0.5, 6.0], {}, lengths_of).best(5)
    assert list(best.items()) == [(seq, pytest.approx(6.5)) for seq in range(1, 6)]
    assert sorted(asked) == list(range(1, 11))


def test_what_other_terms_say_counts_for_the_bound_and_the_value():
    scores = Scores(
        [Postings.from_occurrences(np.array([3]) << 32)], [1.0], {3: 2.0, 7: 4.0}, lambda seqs: np.ones(len(seqs))
    )
    assert scores.best(10) == {7: 4.0, 3: 3.0}
    assert scores.scores_of(np.array([3, 4, 99])) == {3: 3.0}
    assert Scores([], [], {}, lambda seqs: np.ones(len(seqs))).best(10) == {}


@pytest.mark.parametrize(
    "query",
    ["refund flight", "flight refund", "refund refund", "flight flight", "refund flight refund flight", "cat refund"],
)
def test_a_phrase_has_the_records_and_scores_of_fts5(open_store, query):
    opened = open_store()
    named = {"r": "refund", "f": "flight", "c": "cat"}
    texts, search_texts = (
        [" ".join(named[letter] for letter in letters) for letters in kind]
        for kind in (["rf", "rrrf", "fr", "c", "r", "fffffrf"], ["f", "rfcrf", "rf", "crf", "", "rfr"])
    )
    metadatas = [{"search_text": text} for text in search_texts]
    ids = [f"r{i}" for i in range(6)] + [f"other{i}" for i in range(30)]
    opened.store.collection(THINGS).add(
        ids, [vector_of(i) for i in ids], metadatas + [{}] * 30, texts + ["weather"] * 30
    )
    ledger = opened.store.ledger
    found = ledger.words.find(THINGS, query, words.Scope(hidden=np.zeros(0, np.int64)), 100).values
    assert found == pytest.approx(by_fts(ledger, query))


def test_what_is_read_of_fts5_is_what_the_texts_hold(open_store):
    opened = open_store()
    metadatas = [{"search_text": "refund"}, {}, {}]
    texts = ["refund refund flight", "flight", "word " * 300]
    opened.store.collection(THINGS).add(["a", "b", "c"], [vector_of("a")] * 3, metadatas, texts)
    with opened.store.ledger.database.read() as connection:
        table = word_table(connection, THINGS)
        statistics = read_statistics(connection, table)
        refund, nowhere = read_postings(connection, table, ["refund", "submarine"]).values()
        assert read_lengths(connection, table, np.array([3, 2, 1])).tolist() == [300, 1, 4]
    assert (statistics.n_records, statistics.mean_length) == (3, pytest.approx(305 / 3))
    assert (refund.seqs.tolist(), refund.frequencies.tolist()) == ([1], [2.5])
    assert len(nowhere.seqs) == 0


def test_a_pair_with_a_common_word_is_not_looked_for(open_store, monkeypatch):
    opened = open_store()
    texts = {f"r{i}": "cancel the refund" if i < 5 else "the weather" for i in range(20)}
    ids = list(texts)
    opened.store.collection(THINGS).add(ids, [vector_of(i) for i in ids], [{}] * 20, list(texts.values()))
    scope = words.Scope(hidden=np.zeros(0, np.int64))
    asked = "cancel the refund"
    whole = opened.store.ledger.words.find(THINGS, asked, scope, 5).information
    monkeypatch.setattr(words, "COMMON", 10)
    opened.store.ledger.words._frequencies.clear()
    apart = opened.store.ledger.words.find(THINGS, asked, scope, 5).information
    weight = 2.2 * words._term_weight(words.Term("cancel"), 5, 20)
    assert (whole, apart) == (pytest.approx(4 * weight), pytest.approx(2 * weight))


@pytest.mark.parametrize(("n_records", "share"), [(19, words.FUNCTION_WEIGHT_OF_SMALL), (40, words.FUNCTION_WEIGHT)])
def test_a_function_word_and_its_stem_keep_their_share_of_the_weight(open_store, n_records, share):
    opened = open_store()
    texts = ["because", "refund"] + ["weather"] * (n_records - 2)
    ids = [f"r{i}" for i in range(n_records)]
    opened.store.collection(THINGS).add(ids, [vector_of(i) for i in ids], [{}] * n_records, texts)
    scope = words.Scope(hidden=np.zeros(0, np.int64))
    telling, naming_nothing = (
        opened.store.ledger.words.find(THINGS, asked, scope, 5).values for asked in ("refund", "because")
    )
    # "because" is held as "becaus" as well, so its record is two words long and found twice
    (one,), (other,) = telling.values(), naming_nothing.values()
    assert one > 0
    assert share < other / one < 2 * share
