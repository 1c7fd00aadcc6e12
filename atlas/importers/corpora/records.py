"""Records of an evaluation corpus, reduced to their text."""

from __future__ import annotations

from atlas.core.types import Outcome, Task, Trajectory


def make_record(run: Trajectory, record_id: str, description: str) -> Trajectory:
    """Return a record of a run: a description, the run's solution and its outcome.

    Steps, feedback and context are left out, because they may contain the query itself (such as a reflection).
    """
    solution = run.metadata.get("solution", "")
    return Trajectory(
        task=Task(run.task.id, run.task.domain, description),
        steps=(),
        outcome=run.outcome,
        metadata={"solution": solution} if solution else {},
        id=record_id,
    )


def make_entry(record_id: str, task_id: str, text: str) -> Trajectory:
    """Return a record of a log entry, without an outcome."""
    return Trajectory(task=Task(task_id, "", text), steps=(), outcome=Outcome(None), id=record_id)
