"""A trial's report on the page: its tables, and the tasks won and lost with both traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step
from atlas.evaluation.report import Grid
from atlas.evaluation.trial.figures import ArmComparison as ArmComparison
from atlas.evaluation.trial.figures import TrialReport as TrialReport
from atlas.evaluation.trial.figures import differing_runs
from atlas.evaluation.trial.journal import FinishedCell
from atlas.evaluation.trial.report import NOTES as NOTES
from atlas.evaluation.trial.report import arms_grid, comparisons_grid, read_report
from atlas.evaluation.trial.report import failure_lines as failure_lines
from atlas.evaluation.trial.report import head as head
from atlas.views.shared.wording import counted, outcome_with_sign, shortened
from atlas.views.trace.conversation import Reading, conversation_as_json
from atlas.views.trace.terminal import readable

TRIAL_COMMAND = "atlas trial my-trial --tasks tasks.jsonl --json report.json -- python my_agent.py"

LABEL_CHARACTERS = 200
"""Maximum number of characters of a task's description in the list of tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingTask:
    """A task that went better with one of two arms."""

    position: int
    """Among the trial's tasks."""

    label: str
    """Untrusted."""


def trial_of(content: bytes) -> TrialReport:
    """Return the report that a file contains.

    Raises:
        InvalidInput: It contains no report of a trial.
    """
    try:
        return read_report(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInput("expected a trial's report as JSON in UTF-8, but the file has other bytes") from error


def arm_rows(report: TrialReport) -> list[dict[str, str]]:
    """Return the rows of the table of arms, by the names of its columns."""
    return _rows(arms_grid(report))


def comparison_rows(report: TrialReport) -> list[dict[str, str]]:
    """Return the rows of the table of comparisons, by the names of its columns."""
    return _rows(comparisons_grid(report))


def _rows(grid: Grid) -> list[dict[str, str]]:
    heads, *rows = grid
    return [dict(zip(heads, row, strict=True)) for row in rows]


def differing_tasks(report: TrialReport, comparison: ArmComparison) -> list[DifferingTask]:
    """Return the tasks won, then the tasks lost."""
    tasks = report.design["tasks"]
    return [
        DifferingTask(
            position=task, label=readable(f"{went}: {shortened(tasks[task]['description'], LABEL_CHARACTERS)}")
        )
        for went, positions in (("won", comparison.won), ("lost", comparison.lost))
        for task in positions
    ]


def traces_as_json(report: TrialReport, comparison: ArmComparison, task: int, reading: Reading) -> dict[str, Any]:
    """Return both runs of a task as conversations for the browser."""
    runs = differing_runs(report, comparison, task)
    return {"traces": [_run_as_json(run, reading) for run in runs], "parting": None, "finds": False}


def _run_as_json(run: FinishedCell, reading: Reading) -> dict[str, Any]:
    result = run.result
    solution = (Step(action=result.solution),) if result.solution else ()
    shown = counted(sum(map(len, run.shown.values())), "record")
    return {
        "heading": readable(f"{run.cell.arm} · {shown} shown, {run.block_tokens:,} tokens"),
        "outcome": outcome_with_sign(Outcome(result.success).label),
        "ending": readable(result.error),
        **conversation_as_json(result.trajectory_steps or solution, reading),
    }
