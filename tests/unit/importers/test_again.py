"""A second import adds no attempt that is stored, whatever was decided of it since."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas.core.codec import encode_trajectory
from atlas.core.types import Outcome
from atlas.importers import import_paths
from atlas.importers.evidence import RULES
from atlas.importers.logs import LogOptions, SuccessRule
from atlas.importers.sink import CountingSink, MemorySink
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from tests.support.records import attempt

ATTEMPT = replace(attempt("mend the report"), outcome=Outcome(None))
LANGFUSE = {
    "trace": {
        "id": "t1",
        "projectId": "p",
        "name": "run",
        "timestamp": "2026-01-02T10:00:00.000Z",
        "input": json.dumps({"messages": [{"role": "user", "content": "How far is Mars?"}]}),
        "output": "54 million km",
        "scores": [{"name": "correctness", "value": 0.8, "timestamp": "2026-01-03T00:00:00Z"}],
    },
    "observations": [
        {
            "id": "o1",
            "traceId": "t1",
            "type": "GENERATION",
            "name": "chat",
            "startTime": "2026-01-02T10:00:00.000Z",
            "endTime": "2026-01-02T10:00:01.000Z",
            "output": "54 million km",
        }
    ],
}
RULE = LogOptions(success=SuccessRule.parse("correctness>=0.5"))


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture(params=["atlas", "tau-bench", "langfuse"])
def path(request, files, tau_row) -> Path:
    """A file of a format whose attempts have ids, of one whose attempts have none, and of a log."""
    if request.param == "atlas":
        return files.lines("attempts.jsonl", [{"kind": "trajectory", "trajectory": encode_trajectory(ATTEMPT)}])
    value = [tau_row(reward=None)] if request.param == "tau-bench" else LANGFUSE
    return files.json(f"{request.param}.json", value)


def added(memory: atlas.MemorySystem, path: Path, options: LogOptions | None = None) -> int:
    """Import a file, after a preview, which has to count the same, and return the number of new attempts."""
    settings = memory.storage.settings
    preview = import_paths(CountingSink(memory), [path], settings=settings, log_options=options)
    report = import_paths(MemorySink(memory, "a test"), [path], settings=settings, log_options=options)
    assert (report.added, report.skipped) == (preview.added, preview.skipped)
    return report.added


def edit(memory: atlas.MemorySystem, record_id: str) -> None:
    memory.experience.edit(record_id, feedback="well done", agent_id="another")


def merge(memory: atlas.MemorySystem, record_id: str) -> None:
    task = memory.experience.get(record_id).task
    other = memory.experience.store(atlas.Trajectory(task, (atlas.Step(action="answer"),), Outcome(True)))
    memory.experience.merge([other, record_id])


CHANGES: dict[str, Callable[[atlas.MemorySystem, str], Any]] = {
    "nothing": lambda memory, record_id: None,
    "success": lambda memory, record_id: memory.experience.report_outcomes({record_id: True}),
    "failure": lambda memory, record_id: memory.experience.report_outcomes({record_id: False}),
    "edit": edit,
    "merge": merge,
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_decided_by_a_person_is_not_added_again(memory, path, change):
    assert added(memory, path) == 1
    [record_id] = memory.experience.ids()
    CHANGES[change](memory, record_id)
    assert added(memory, path) == added(memory, path, RULE) == 0
    assert memory.experience.count() == 1


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_later_rule_decides_is_not_added_again(memory, path, change, monkeypatch):
    with monkeypatch.context() as earlier:
        for name in [*RULES]:
            earlier.delitem(RULES, name)
        assert added(memory, path) == 1
    [record_id] = memory.experience.ids()
    assert memory.experience.get(record_id).outcome.success is None
    CHANGES[change](memory, record_id)
    assert added(memory, path, RULE) == 0


def test_an_attempt_whose_file_has_another_outcome_since_is_the_same_attempt(memory, files):
    ended = {"kind": "trajectory", "trajectory": encode_trajectory(replace(ATTEMPT, outcome=Outcome(True)))}
    begun = {"kind": "trajectory", "trajectory": encode_trajectory(ATTEMPT)}
    assert added(memory, files.lines("begun.jsonl", [begun])) == 1
    assert added(memory, files.lines("ended.jsonl", [ended])) == 0


def test_each_scope_imports_an_attempt_once(memory, path):
    for project in ("shop", "bank"):
        with acting(Actor("importer", Role.CURATOR, scope=(("scope.project", project),))):
            assert added(memory, path) == 1
            [record_id] = memory.experience.ids()
            memory.experience.report_outcomes({record_id: True})
            assert added(memory, path, RULE) == 0


def test_an_attempt_that_waits_for_review_is_imported_by_others(memory, path):
    with acting(Actor("intern", Role.WRITER, is_reviewed=True)):
        assert added(memory, path) == 1
        assert added(memory, path) == 0
    if "tau" in path.name or "attempts" in path.name:  # those of logs have ids of their own
        assert added(memory, path) == 1
