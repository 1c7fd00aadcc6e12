"""What a notebook shows of records, hits and plans: small tables, in which all that memories hold is text."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import atlas
from atlas.core.hits import Retrieval, hit_without_signals
from atlas.core.tables import MAX_ROWS
from atlas.core.types import Turn
from atlas.infra.clock import SystemClock
from atlas.memory.experience.pruning import PruneDecision
from atlas.memory.experience.refinement.plan import PlannedDecision, RefinePlan
from atlas.memory.strategies.writing import StrategyWritePlan
from atlas.storage.records import NO_MOMENT
from atlas.testing import HashEmbedder
from tests.support.hostile import HOSTILE, MARKER, everywhere
from tests.support.records import attempt, attempts


class Parsed(HTMLParser):
    """The tags of a table, and its rows of cells."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.rows: list[list[str]] = []
        self.caption = ""
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._inside = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self._inside in ("td", "th"):
            self.rows[-1][-1] += data.strip("\n")
        if self._inside == "caption":
            self.caption += data.strip("\n")


def parsed(shown: object) -> Parsed:
    return Parsed(shown._repr_html_())


@pytest.fixture
def memory(tmp_path):
    settings = atlas.Settings(actor="tester")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as opened:
        yield opened


def test_an_experience_shows_its_task_outcome_and_steps(memory):
    record_id = memory.experience.store(attempt("Water the garden", success=False))
    table = parsed(memory.experience.get(record_id))
    assert table.caption == "Water the garden"
    assert table.rows[:2] == [["", "experience"], ["outcome", "failed"]]


@pytest.mark.parametrize(
    ("record", "caption", "cells"),
    [
        (
            atlas.CodeConcept(name="double", description="Twice it", code="def double(x):\n    return 2 * x"),
            "double",
            ["code", "def double(x):\n    return 2 * x"],
        ),
        (atlas.Strategy(situation="a disk is full", suggestion="rotate logs"), "a disk is full", ["worked", "0 of 0"]),
        (
            atlas.JournalEntry(entry_type="reflection", content="it rained", generation=1),
            "it rained",
            ["type", "reflection"],
        ),
        (
            Turn(conversation="c", user_text="Hello?", response="Hello.", created_at=SystemClock().now()),
            "Hello?",
            ["response", "Hello."],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_records_of_every_memory_have_a_table(record, caption, cells):
    table = parsed(record)
    assert table.caption == caption
    assert cells in table.rows


def test_hits_show_their_title_outcome_relevance_and_signals(memory):
    memory.experience.store_many([attempt("Water the garden"), attempt("Paint the fence", success=False)])
    retrieval = memory.experience.retrieve("Water the garden")
    table = parsed(retrieval)
    assert table.caption.startswith(f"{len(retrieval.hits)} hit")
    assert table.rows[0] == ["hit", "outcome", "relevance", "ranked by"]
    hit = retrieval.hits[0]
    assert table.rows[1][:3] == ["Water the garden", "succeeded", f"{hit.relevance:.0%}"]
    assert all(name in table.rows[1][3] for name in hit.signals)
    assert parsed(hit).rows[1] == table.rows[1]


def test_the_answer_of_all_memories_names_the_memory_of_each_hit(memory):
    memory.experience.store(attempt("Water the garden"))
    memory.journal.add("reflection", "Water the garden in the evening", generation=1)
    result = memory.query_sync(atlas.Task("", "", "Water the garden"))
    assert {row[0] for row in parsed(result).rows[1:]} == {"experience", "journal"}


def test_a_query_without_hits_says_so(memory):
    assert parsed(memory.experience.retrieve("anything")).caption == "0 hits"


def test_a_plan_to_prune_shows_at_most_twenty_removals_with_their_reasons(memory):
    memory.experience.store_many(attempts(MAX_ROWS + 5))
    plan = memory.experience.plan_prune({"max_count": 1})
    html = plan._repr_html_()
    table = Parsed(html)
    assert table.caption == "24 of 25 records would be removed (96.0%)"
    assert len(table.rows) == 1 + MAX_ROWS
    assert table.rows[1] == [plan.removals[0].title, plan.removals[0].outcome, "removed", *plan.removals[0].reasons]
    assert f"The first {MAX_ROWS} are shown." in html
    saved = PruneDecision(id="1", title="Water it", reasons=("it is old",), saved_because="it is pinned")
    assert parsed(replace(plan, removals=(), saved=(saved,))).rows[1] == [
        "Water it",
        "",
        "kept: it is pinned",
        "it is old",
    ]


def test_plans_of_every_kind_have_a_table(memory):
    ids = memory.experience.store_many([attempt("Water the garden", task_id=f"t{n}", agent=f"a{n}") for n in range(3)])
    merge = parsed(memory.experience.plan_merge([ids]))
    assert merge.caption.startswith("2 of 3 records would be merged into others")
    assert merge.rows[1][0] == "Water the garden"
    outcomes = parsed(memory.experience.plan_outcomes(ids, False))
    assert outcomes.rows[1] == ["Water the garden", "succeeded", "failed"]
    assert parsed(memory.plan_purge(ids[:1])).rows[1][0] == "Water the garden"
    assert "summaries would be written" in parsed(memory.journal.plan_compact()).caption


def test_a_plan_to_write_strategies_shows_those_that_it_adds():
    strategy = atlas.Strategy(situation="a disk is full", suggestion="rotate logs")
    plan = StrategyWritePlan(
        added=(strategy,),
        joined=(),
        n_attempts=1,
        n_known=0,
        n_nothing=0,
        problems=(),
        ids_before=frozenset(),
        moment=NO_MOMENT,
    )
    table = parsed(plan)
    assert table.caption == "strategies: 1 would be added, 0 would get more sources"
    assert table.rows[1] == ["a disk is full", "rotate logs", "added"]


def test_a_plan_to_refine_shows_what_goes_and_why():
    decision = PlannedDecision(
        id="1",
        title="Water it",
        outcome="failed",
        action="merge",
        into="abcdef0123",
        reason="the same",
        set_number=1,
        before=1,
    )
    kept = replace(decision, action="keep")
    table = parsed(RefinePlan(decisions=(decision, kept, replace(decision, action="drop")), made_by="rules", n_total=3))
    assert table.caption == "experiences: 1 would be merged into others, 1 would be dropped"
    assert table.rows[1:] == [
        ["Water it", "failed", "merged into abcdef01", "the same"],
        ["Water it", "failed", "dropped", "the same"],
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_content_is_shown_as_text(memory, text):
    record_id = memory.experience.store(everywhere(text))
    experience = memory.experience.get(record_id)
    for shown in (
        experience,
        Retrieval(hits=[hit_without_signals(experience)], n_hidden=0, threshold=0.0),
        memory.experience.plan_prune({"max_count": 0}),
    ):
        html = shown._repr_html_()
        assert MARKER in html
        assert Parsed(html).tags <= {"table", "caption", "thead", "tr", "th", "td"}
        assert "\u202e" not in html
        assert 'class="tex2jax_ignore mathjax_ignore"' in html
        assert len(html) < 10_000


def test_nothing_is_imported_before_a_table_is_shown():
    program = "import sys, atlas; atlas.Experience; print('html' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]
