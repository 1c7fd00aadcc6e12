"""What a memory answers to a query: one ranking by meaning and words, and nothing if nothing is relevant."""

from __future__ import annotations

import random

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.operations import Marks
from atlas.core.settings import RankingWeights
from atlas.memory.base.ranking import explain
from atlas.storage.ledger_collection import LedgerCollection
from atlas.testing import HashEmbedder, ScriptedReranker
from tests.support.memories import attempt, memory_over

WORDS = "cancel flight refund certificate passenger parse index query retry timeout cache login chart".split()  # noqa: SIM905


def fill(memory, n: int, seed: int = 0) -> None:
    draw = random.Random(seed)
    memory.store_many(
        [
            attempt(" ".join(draw.sample(WORDS, 5)) + f" {number}", draw.choice([True, False, None]))
            for number in range(n)
        ]
    )


def test_nonsense_finds_nothing_and_says_how_much_it_hid(memory):
    fill(memory, 30)
    found = memory.retrieve("zzz qqq xxx", 4)
    assert found.hits == []
    assert found.n_hidden == 4
    assert memory.retrieve("cancel flight refund", 4).hits
    assert len(memory.retrieve("zzz qqq xxx", 4, threshold=0.0).hits) == 4


def test_a_relevant_one_is_not_hidden_behind_an_irrelevant_success(stored):
    stored.store(attempt("cancel the flight of a passenger", None))
    fill(stored, 30)
    for threshold in (0.0, 0.2, 0.4, 0.6):
        for k in (1, 3):
            hits = stored.retrieve("cancel the flight", k, threshold=threshold).hits
            every = [h for h in stored.search_hits("cancel the flight", 31) if h.relevance >= threshold]
            assert [hit.item.id for hit in hits] == [hit.item.id for hit in every[:k]]


def test_a_neighbour_is_explained_by_its_meaning_alone(stored):
    first, second = stored.store_many([attempt("cancel a flight"), attempt("cancel a flight")])
    (hit,) = stored.similar(first)
    assert (hit.item.id, hit.relevance) == (second, 1.0)
    assert "words" not in explain(hit)


def test_what_is_hidden_does_not_count_as_retrieved(stored):
    fill(stored, 10)
    stored.retrieve("zzz qqq xxx", 4)
    stored._store.write_retrievals()
    assert stored.column("usage.n_retrieved") == {}


def test_a_rare_word_finds_what_no_vector_would(stored):
    fill(stored, 60)
    wanted = stored.store(attempt("something else entirely: ERR_QUOTA_EXCEEDED"))
    embedder = Constant()
    blind = type(stored)(embedder, stored._store)
    assert blind.search_hits("err quota exceeded", 1)[0].item.id == wanted


class Constant(HashEmbedder):
    """Takes all texts for the same."""

    def encode_query(self, text):
        return self.encode("always this")


@pytest.mark.parametrize("where", [None, {"outcome": "succeeded"}, {"outcome": {"$in": ["failed", "unknown"]}}])
@pytest.mark.parametrize("query", ["cancel a flight", "refund certificate timeout", "cache"])
def test_a_filtered_search_is_the_ranking_of_everything_filtered_by_hand(stored, where, query):
    fill(stored, 200)
    everything = stored.search_hits(query, 200)
    allowed = set(stored.ids(where))
    expected = [hit.item.id for hit in everything if hit.item.id in allowed][:5]
    hits = stored.search_hits(query, 5, where=where)
    assert [hit.item.id for hit in hits] == expected
    values = {hit.item.id: hit.rank_value for hit in everything}
    assert [hit.rank_value for hit in hits] == pytest.approx([values[one] for one in expected], abs=1e-5)


def test_distinct_hits_are_different_things_however_often_one_was_tried(stored):
    stored.store_many([attempt("cancel a flight", number % 2 == 0) for number in range(50)])
    stored.store_many([attempt("cancel a certificate"), attempt("cancel a refund")])
    found = stored.retrieve("cancel a flight", 3, threshold=0.0, distinct=True)
    assert found.hits[0].item.task.description == "cancel a flight"
    assert len({hit.item.task.description for hit in found.hits}) == 3
    assert found.hits[0].outcomes == {"succeeded": 25, "failed": 25}
    assert found.hits[0].item.success is True
    assert {hit.item.task.description for hit in stored.retrieve("cancel a flight", 3).hits} == {"cancel a flight"}


def test_distinct_keeps_the_attempt_apart_that_answers_the_query_better(stored):
    for text, success in (("KeyError in parse_config", False), ("all went well", True)):
        stored.store(attempt("paint the wall", success, solution=text))
    stored.store_many([attempt(f"mend the fence number {number}") for number in range(20)])
    (hit,) = stored.retrieve("KeyError in parse_config", 1, threshold=0.0, distinct=True).hits
    assert (hit.item.solution_output, hit.outcomes) == ("KeyError in parse_config", {"failed": 1})


def test_what_is_hidden_is_counted_as_what_is_shown_is(stored):
    stored.store_many([attempt("cancel the flight of a passenger", number > 0) for number in range(4)])
    stored.store_many([attempt(f"parse the index {number}") for number in range(12)])
    found = stored.retrieve("cancel the flight of a passenger", 4, threshold=0.5, distinct=True)
    assert (len(found.hits), found.n_hidden) == (1, 3)


@pytest.mark.parametrize(
    ("query", "share"),
    [
        ("cancel the flight of a passenger", 1.0),
        ("the flight of a passenger crashed", 0.0),
        ("KeyError: 'passenger' in cancel_flight", 0.0),
        ("I was wrong to cancel the flight before the refund", 0.0),
    ],
)
def test_success_moves_no_hit_up_where_a_failure_may_be_the_answer(stored, query, share):
    stored.store_many([attempt("cancel the flight of a passenger", success) for success in (False, True)])
    hits = stored.retrieve(query, 2, threshold=0.0).hits
    moved = {hit.item.success: hit.signals["success"] for hit in hits}
    assert moved == {True: share * stored.weights.success, False: 0.0}


def test_of_attempts_that_are_alike_the_first_stands_for_all_where_a_failure_may_be_the_answer(stored):
    stored.store_many([attempt("cancel the flight of a passenger", success) for success in (False, True)])
    asked = ("cancel the flight of a passenger", "the flight of a passenger crashed")
    [plain], [crash] = (stored.retrieve(query, 2, threshold=0.0, distinct=True).hits for query in asked)
    assert (plain.item.success, crash.item.success) == (True, False)
    assert plain.outcomes == crash.outcomes == {"succeeded": 1, "failed": 1}


def test_diversity_moves_near_copies_down_and_nothing_else(memory):
    """Six attempts say one thing, one says nearly the same, and many have nothing to do with it."""
    memory.store_many([attempt("cancel the flight of a passenger" + "!" * number) for number in range(6)])
    memory.store_many([attempt("cancel the flight of a passenger today"), attempt("cancel the hotel and a taxi")])
    memory.store_many([attempt(f"parse index query retry timeout {number}") for number in range(20)])
    query = "cancel the flight of a passenger"
    alike, spread = (memory.retrieve(query, 3, threshold=0.3, diversity=x) for x in (0.0, 0.5))
    assert all(hit.item.task.description.startswith(query) for hit in alike.hits)
    assert spread.hits[0].item == alike.hits[0].item
    assert spread.hits[1].item.task.description == "cancel the flight of a passenger today"
    assert spread.hits[1].signals["diversity"] == 0
    assert all(hit.relevance >= 0.3 for hit in spread.hits)
    assert "diversity" not in alike.hits[1].signals
    assert "is similar to a hit above it" in " ".join(map(explain, spread.hits))
    values = [hit.rank_value for hit in spread.hits]
    assert values == sorted(values, reverse=True)


def test_what_is_irrelevant_stays_out_however_diverse_the_answer(stored):
    fill(stored, 60)
    for diversity in (0.1, 0.5, 0.9):
        for k in (1, 4, 60):
            plain, spread = (stored.retrieve("cancel flight refund", k, diversity=x) for x in (0.0, diversity))
            assert len(spread.hits) == len(plain.hits)
            assert spread.n_hidden == plain.n_hidden
            assert all(hit.relevance >= spread.threshold for hit in spread.hits)
    assert stored.retrieve("zzz qqq xxx", 4, diversity=0.9).hits == []


def test_distinct_and_diverse_hits_are_of_different_tasks_and_still_tell_all_outcomes(stored):
    stored.store_many([attempt("cancel a flight", number % 2 == 0) for number in range(10)])
    stored.store_many([attempt("cancel a certificate"), attempt("cancel a refund")])
    hits = stored.retrieve("cancel a flight", 3, threshold=0.0, distinct=True, diversity=0.3).hits
    assert hits[0].outcomes == {"succeeded": 5, "failed": 5}
    assert len({hit.item.task.id for hit in hits}) == 3


@pytest.mark.parametrize("diversity", [-0.1, 1.0, float("nan")])
def test_a_diversity_that_is_none_is_refused(memory, diversity):
    with pytest.raises(InvalidInput, match="expected a diversity of at least 0 and less than 1"):
        memory.retrieve("cancel", diversity=diversity)


TEXTS = ["cancel a flight", "cancel a flight today", "cancel a certificate"]


def reranked_memory(directory, scores):
    return memory_over("ledger", directory, reranker=ScriptedReranker(scores))


def test_a_reranker_adds_a_signal_that_can_change_the_order(tmp_path):
    scores = dict(zip(TEXTS, [0.0, 1.0, 0.5], strict=True))
    with reranked_memory(tmp_path, scores) as memory:
        memory.store_many([attempt(text) for text in TEXTS])
        found = memory.retrieve("cancel a flight", 3, threshold=0.0)
        assert found.problems == ()
        for hit in found.hits:
            assert hit.signals["reranker"] == pytest.approx(0.2 * scores[hit.item.task.description])
            assert hit.rank_value == pytest.approx(sum(hit.signals.values()))
        assert found.hits[0].item.task.description == "cancel a flight today"
        assert "The reranker moved it up by 0.200." in explain(found.hits[0])
        ((query, documents),) = memory._retriever.reranker.asked
        assert (query, sorted(documents)) == ("cancel a flight", sorted(TEXTS))
        assert memory.as_operation("edit")._retriever is memory._retriever


def test_a_reranker_sees_no_more_than_the_first_hits_that_are_relevant(tmp_path):
    texts = [f"cancel a flight {number}" for number in range(30)]
    with reranked_memory(tmp_path, dict.fromkeys(texts, 1.0)) as memory:
        memory.store_many([attempt(text) for text in [*texts, "parse index query"]])
        hits = memory.retrieve("cancel a flight", 30).hits
        assert ["reranker" in hit.signals for hit in hits] == [True] * 20 + [False] * 10
        assert memory.retrieve("zzz qqq xxx", 4).hits == []
        assert len(memory._retriever.reranker.asked) == 1


class Answering:
    """A reranker that answers the same to everything."""

    def __init__(self, answer):
        self.answer = answer

    async def rerank(self, query, documents):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (RuntimeError("out of memory"), "the reranker failed, and was skipped: RuntimeError: out of"),
        ([0.5], "expected 3 scores, but got 1"),
        ([0.5, None, 0.5], "the reranker failed, and was skipped: TypeError"),
        ([0.5, 1.5, 0.5], r"expected scores in [0, 1], but got 1.5"),
        ([0.5, float("nan"), 0.5], r"expected scores in [0, 1], but got nan"),
    ],
)
def test_a_reranker_that_fails_is_told_of_and_costs_nothing(tmp_path, answer, problem):
    with memory_over("ledger", tmp_path, reranker=Answering(answer)) as memory:
        memory.store_many([attempt(text) for text in TEXTS])
        found = memory.retrieve("cancel a flight", 3, threshold=0.0)
        plain = type(memory)(memory.embedder, memory._store, clock=memory._clock)
        assert found.hits == plain.retrieve("cancel a flight", 3, threshold=0.0).hits
        (told,) = found.problems
        assert problem in told


def test_pinned_and_helpful_ones_move_up_among_equals(stored):
    first, second, third = stored.store_many([attempt("cancel a flight")] * 3)
    stored.change_marks([third], pinned=True)
    stored.record_use(second, success=True)
    assert [hit.item.id for hit in stored.search_hits("cancel a flight", 3)] == [second, third, first]


def test_weights_are_a_setting(tmp_path):
    with memory_over("ledger", tmp_path, weights=RankingWeights(words=0.0)) as memory:
        fill(memory, 20)
        assert all("words" not in hit.signals for hit in memory.search_hits("cancel", 5))


def test_texts_that_are_the_same_say_nothing_of_neighbours(stored):
    stored.store_many([attempt("cancel a flight")] * 30)
    unrelated, near = stored._store.similarities(64)
    assert len(near) == 0
    assert unrelated == pytest.approx(1, abs=1e-5)
    stored.delete(stored.ids())
    assert len(stored._store.similarities(64)[0]) == 0


def test_the_passage_that_made_a_long_text_be_found_is_told(tmp_path):
    text = " ".join(f"weather{number}" for number in range(40)) + " refund the certificate of the passenger"
    with memory_over("ledger", tmp_path, embedder=HashEmbedder(64, window_words=10)) as memory:
        long, short = memory.store_many([attempt(text), attempt("cancel a flight")])
        assert memory.search_hits("refund certificate passenger", 1)[0].item.id == long
        passage = memory.passage(long, "refund certificate passenger")
        assert passage is not None
        assert "refund the certificate" in passage
        assert "weather0 " not in passage
        assert memory.passage(short, "cancel") is None
        with pytest.raises(NotFound):
            memory.passage("unknown", "cancel")


@pytest.mark.parametrize("seed", range(6))
def test_candidates_that_are_not_read_change_no_answer(stored, seed):
    draw = random.Random(seed)
    fill(stored, 150, seed)
    ids = stored.collection.ids()
    for record_id in draw.sample(ids, 20):
        stored.collection.record_use(record_id, draw.random() < 0.5)
    stored.collection.mark({i: Marks(pinned=draw.random() < 0.5, buried=draw.random() < 0.3) for i in ids[:40]})
    whole = stored.ranked_with(lambda: stored.weights, store=WholeCandidates(stored.collection))
    for _ in range(12):
        query = " ".join(draw.choices([*WORDS, "zzz"], k=draw.randint(1, 6)))
        asked = {
            "threshold": draw.choice([None, 0.0, 0.3]),
            "diversity": draw.choice([0.0, 0.0, 0.3]),
            "where": draw.choice([None, {"outcome": "succeeded"}]),
            "with_buried": draw.random() < 0.5,
            "distinct": draw.random() < 0.2,
        }
        k = draw.choice([1, 4, 10])
        assert stored.retrieve(query, k, **asked) == whole.retrieve(query, k, **asked)


class WholeCandidates(LedgerCollection):
    """A collection that reads every candidate."""

    def __init__(self, collection: LedgerCollection) -> None:
        super().__init__(collection.parts)

    def candidates(self, *args, returned=None, **options):
        return super().candidates(*args, **options)
