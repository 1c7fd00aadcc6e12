"""What was measured on a store is kept beside it and read back as it was; damage to it is no error."""

from __future__ import annotations

import pytest

from atlas.evaluation.job import EvaluationFile
from atlas.evaluation.leave_one_out import Attempt, leave_one_out, outcome_agreement
from atlas.evaluation.measures import evaluate
from atlas.evaluation.report import OwnEvaluation, Report, as_json, as_text, from_json
from tests.support.retrievers import ScriptedRetriever


def attempts(n_tasks):
    return [
        Attempt(id=f"{task}{trial}", task_id=f"task {task}", text=f"text of {task}{trial}", success=trial == "a")
        for task in range(n_tasks)
        for trial in "ab"
    ]


def report(n_tasks=6):
    own = attempts(n_tasks)
    answers = {attempt.text: [other.id for other in own if other.task_id == attempt.task_id] for attempt in own}
    rows = [ScriptedRetriever("BM25", {}), ScriptedRetriever("fused", answers, baselines=("BM25",))]
    texts = {attempt.id: attempt.text for attempt in own}
    task = evaluate(leave_one_out(own, half="both", seed=0), texts, rows, half="both", seed=0)
    outcomes = outcome_agreement(own, rows, half="both", seed=0)
    return Report(
        model="scripted",
        half="both",
        seed=0,
        retrievers={row.name: row.about for row in rows},
        tasks=(task,),
        outcomes=outcomes,
    )


def evaluation(**changes):
    given = {"measured_at": "2026-03-01T09:30:00+00:00", "revision": 7, "ledger_id": "one", "in_use": "検索"}
    return OwnEvaluation(report=report(), profiles={"検索": {"words": 1.0}}, **{**given, **changes})


@pytest.mark.parametrize("n_tasks", [2, 6])
def test_a_report_is_read_back_as_it_was(n_tasks):
    """With intervals, and without them where tasks are few."""
    written = report(n_tasks)
    read = from_json(as_json(written))
    assert as_text(read) == as_text(written)
    assert read == written


def test_a_report_without_outcomes_is_read_back_too():
    written = Report(model="m", half="both", seed=0, retrievers={}, tasks=())
    assert from_json(as_json(written)) == written


def test_what_was_measured_is_kept_in_one_file(tmp_path):
    file = EvaluationFile(tmp_path / "cache", "atlas_experiences")
    assert file.load() is None
    file.save(evaluation())
    file.save(evaluation(revision=8))
    assert file.load() == evaluation(revision=8)
    assert [path.name for path in file.path.parent.iterdir()] == ["atlas_experiences.evaluation.npz"]


@pytest.mark.parametrize("damage", [lambda content: content[:200], lambda content: b"x" * 500, lambda content: b""])
def test_a_damaged_file_is_as_none(tmp_path, damage):
    file = EvaluationFile(tmp_path, "atlas_experiences")
    file.save(evaluation())
    file.path.write_bytes(damage(file.path.read_bytes()))
    assert file.load() is None


def test_a_report_of_another_form_is_as_none(tmp_path, monkeypatch):
    file = EvaluationFile(tmp_path, "atlas_experiences")
    monkeypatch.setattr("atlas.evaluation.job.as_json", lambda report: '{"tasks": [], "outcomes": {"rows": [{}]}}')
    file.save(evaluation())
    assert file.load() is None
