"""How often the right record is in a context block, beside a block that is filled by rank until it is full."""

from __future__ import annotations

from atlas.core.hits import Hit
from atlas.core.types import Experience, Outcome, Task
from atlas.evaluation.blocks import evaluate_blocks, ids_until_full
from atlas.evaluation.measures import JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.memory.context.block import TokenCounter
from tests.support.records import START

BY_WORDS = TokenCounter(count=lambda text: len(text.split()), name="words")
LONG = "the fare of this booking is final and nobody pays it back " * 60
TEXTS = {"long": LONG, "short": "a matter of luggage"}


def hit(record_id: str, relevance: float) -> Hit[Experience]:
    item = Experience(
        id=f"stored-{record_id}",
        trajectory_id=record_id,
        task=Task("t", "", TEXTS[record_id]),
        trajectory_summary=TEXTS[record_id],
        outcome=Outcome(True),
        embedding_text=TEXTS[record_id],
        created_at=START,
    )
    return Hit(item=item, similarity=0.5, meaning=relevance, words=0.5, relevance=relevance, signals={}, outcomes={})


HITS = [hit("long", 0.9), hit("short", 0.4)]


def hits_for(text, excluded, depth):
    return [each for each in HITS if each.item.trajectory_id not in excluded][:depth]


def measured(*queries):
    task = RetrievalTask(name="lookups", about="", queries=queries)
    return evaluate_blocks(task, TEXTS, hits_for, "trajectory_id", BY_WORDS, half="both", seed=0)


def query(right, **fields):
    return JudgedQuery(text=right, grades={right: SAME}, group=right, **fields)


def test_a_block_has_the_right_record_behind_one_that_fills_a_block_by_rank():
    at_500, at_1000, at_2000 = measured(query("short"))
    assert (at_500.budget_tokens, at_500.in_block.mean, at_500.until_full.mean) == (500, 1, 0)
    assert (at_500.difference.mean, at_1000.difference.mean) == (1, 0)
    assert ids_until_full(HITS, BY_WORDS, 200) == []
    assert ids_until_full(HITS, BY_WORDS, 2_000) == ["stored-long", "stored-short"]
    assert at_1000.in_full.mean == at_2000.in_full.mean == 1


def test_a_gist_counts_as_in_the_block_but_not_as_in_full(monkeypatch):
    monkeypatch.setattr("atlas.evaluation.blocks.BUDGETS", (200,))
    (result,) = measured(query("long"), query("short"))
    assert (result.n_queries, result.in_block.mean, result.in_full.mean) == (2, 1.0, 0.5)
    assert (result.until_full.mean, result.difference.mean) == (0.0, 1.0)


def test_queries_without_a_right_record_are_not_measured():
    assert measured(query("long", excluded=frozenset({"long"}))) == ()
