"""Planning what a journal may forget as a job: what it keeps in its file, and what another process makes of that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import LLMUnavailable, PlanOutdated
from atlas.jobs.artefact import CACHE
from atlas.jobs.compaction import CompactionJob, plan_now
from atlas.jobs.compaction_file import CompactionFile
from atlas.jobs.job import decode_job, encode_job
from atlas.llm.budget import TokenUsage
from atlas.memory.journal import COLLECTION
from atlas.testing import FixedClock, HashEmbedder, ScriptedLLM
from tests.support.processes.jobs import kill_when_opening
from tests.support.records import entry


@pytest.fixture
def clock() -> FixedClock:
    """So far after the entries of `tests.support.records` that none is worth its tier."""
    clock = FixedClock()
    clock.advance(timedelta(days=400))
    return clock


@pytest.fixture
def memory(tmp_path, clock) -> Iterator[atlas.MemorySystem]:
    """Thirty old observations."""
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=clock) as opened:
        opened.journal.add_entries([entry(n, entry_type="observation", importance=0.3) for n in range(30)])
        yield opened


@pytest.fixture
def file(tmp_path) -> CompactionFile:
    return CompactionFile(tmp_path / CACHE, COLLECTION)


def test_a_plan_is_kept_as_it_was_made_and_touches_nothing(memory, file):
    revision = memory.revision()
    plan = plan_now(memory, 5, {"observation": 8})
    assert (plan.keep_recent, plan.keep_types, len(plan.moves)) == (5, {"observation": 8}, 22)
    assert plan.made_at
    assert plan.spent == ""
    file.save(plan)
    assert file.load() == plan
    assert memory.revision() == revision


def test_a_plan_with_a_cap_is_kept_with_what_it_deletes_and_applied_by_another_opening(memory, file, tmp_path, clock):
    plan = plan_now(memory, 5, max_entries=8)
    assert len(plan.evictions) == 23
    file.save(plan)
    assert file.load() == plan
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=clock) as other:
        operation_id = other.journal.apply_compact(file.load())
    assert memory.journal.count() == 8
    memory.undo(operation_id)
    assert memory.journal.values("tier") == {"hot": 30}


def test_a_plan_that_is_kept_from_before_there_was_a_cap_counts_as_absent(memory, file):
    plan = plan_now(memory, 5)
    header = CompactionFile._header(file, plan)
    file._header = lambda made: {name: value for name, value in header.items() if name != "evictions"}
    file.save(plan)
    assert file.load() is None


def test_a_plan_that_was_kept_is_applied_by_another_opening_and_undone(memory, file, tmp_path, clock):
    file.save(plan_now(memory, 5))
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(), clock=clock) as other:
        operation_id = other.journal.apply_compact(file.load())
    assert memory.journal.values("tier") == {"hot": 6, "cold": 25}
    memory.undo(operation_id)
    assert memory.journal.values("tier") == {"hot": 30}


@pytest.mark.parametrize("change", ["edit", "delete", "pin", "move"])
def test_a_plan_does_not_outlive_a_change_of_what_it_touches(memory, file, change):
    file.save(plan_now(memory, 5))
    plan = file.load()
    memory.journal.check_compact(plan)
    touched = plan.changed_ids[0]
    if change == "edit":
        memory.journal.edit(touched, importance=1.0)
    elif change == "delete":
        memory.journal.delete([touched])
    elif change == "pin":
        memory.journal.change_marks([touched], pinned=True)
    else:
        memory.journal.edit(touched, tier="warm")
    for act in (memory.journal.check_compact, memory.journal.apply_compact):
        with pytest.raises(PlanOutdated, match="nothing was done"):
            act(plan)


def test_what_it_does_not_touch_may_change(memory, file):
    file.save(plan_now(memory, 5))
    latest = memory.journal.recent(1)[0].id
    memory.journal.edit(latest, importance=1.0)
    memory.journal.add_entries([entry(99)])
    assert memory.journal.apply_compact(file.load())


def test_what_is_done_and_what_it_costs_is_said_on_the_way(memory):
    said: list[tuple[int, int, str]] = []
    plan_now(memory, 0, on_progress=lambda *told: said.append(told))
    assert said == [(0, 0, "weighing every entry"), (1, 1, "summaries written: 1 of 1")]
    point = {"text": "Pages of reports were read.", "entries": ["1"]}
    memory.journal.llm = ScriptedLLM([{"points": [point]}])
    memory.journal.llm.spent = TokenUsage(n_calls=1, input_tokens=900, output_tokens=100, cost_usd=0.002)
    plan = plan_now(memory, 0, on_progress=lambda *told: said.append(told))
    assert said[2:] == [
        (0, 0, "weighing every entry"),
        (1, 1, "summaries written: 1 of 1 (1 call, 1,000 tokens, $0.0020)"),
    ]
    assert plan.spent == "1 call, 1,000 tokens, $0.0020"
    assert [draft.written_by for draft in plan.summaries] == ["scripted"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_total": "many"},
        {"kept": {"because": 1.5}},
        {"moves": {"id": ["a"]}},
        {"moves": [{"id": "a"}]},
        {"summaries": [{}]},
        {"moment": {"ledger_id": "", "change": "b"}},
        {"surprise": 1},
    ],
)
def test_a_file_of_something_else_counts_as_absent(memory, file, wrong):
    plan = plan_now(memory, 5)
    file._header = lambda made: {**CompactionFile._header(file, made), **wrong}
    file.save(plan)
    assert file.load() is None


def test_a_move_to_no_tier_counts_as_absent(memory, file):
    plan = plan_now(memory, 5)
    file.save(replace(plan, moves=(replace(plan.moves[0], to_tier="attic"),)))
    assert file.load() is None


def test_a_job_travels_to_another_process_as_it_is(tmp_path):
    job = CompactionJob(
        store=str(tmp_path), output="there", keep_recent=7, keep_types={"task": 3}, max_entries=9, with_model=True
    )
    assert decode_job(json.loads(json.dumps(encode_job(job)))) == job


def test_a_worker_that_is_killed_leaves_journal_and_plan_as_they_were(memory, file, tmp_path):
    plan = plan_now(memory, 5)
    file.save(plan)
    revision = memory.revision()
    kill_when_opening(CompactionJob(store=str(tmp_path), output=str(tmp_path / CACHE)))
    assert memory.revision() == revision
    assert file.load() == plan


def test_a_job_that_is_to_ask_a_model_says_what_is_missing(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    job = CompactionJob(store=str(tmp_path), output=str(tmp_path), with_model=True)
    with pytest.raises(LLMUnavailable, match="set ANTHROPIC_API_KEY"):
        job.run(lambda done, total, message: None)
