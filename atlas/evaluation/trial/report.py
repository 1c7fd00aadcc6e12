"""The report of a trial as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from atlas.core.errors import InvalidInput
from atlas.core.schema import decode
from atlas.core.statistics import Interval
from atlas.core.types import Task
from atlas.evaluation.report import Grid, to_lines, to_markdown
from atlas.evaluation.trial.figures import ArmComparison, ArmFigures, PairFigure, RateFigure, TrialReport, build_report
from atlas.evaluation.trial.journal import FinishedCell

NO_VALUE = "–"

NOTES = (
    "Success rates have 95% intervals by task. Seen tasks are those of which the memory had an attempt before.",
    "Each comparison is over tasks: difference in points, its 95% bootstrap interval, tasks won and lost, and how "
    "often chance alone splits them at least as unevenly (exact sign test; McNemar's where no task was repeated).",
    "Figures hold for this command, these tasks and this store. With many comparisons, one in twenty is below 0.05 by "
    "chance alone.",
)


def as_json(report: TrialReport) -> str:
    """Return the report as JSON, in the form that `read_report` parses."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """The part of a trial's design that a report shows."""

    command: tuple[str, ...]
    arms: tuple[str, ...]
    tasks: tuple[Task, ...]
    seed: int
    store_hash: str
    code_hash: str
    embedding_model: str
    atlas: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _SavedReport:
    design: _Design
    n_cells: int
    stopped_by: str
    cells: tuple[FinishedCell, ...]


def read_report(text: str) -> TrialReport:
    """Parse a report that `as_json` returned. Its figures are computed again from its runs.

    Raises:
        InvalidInput: The text is not a valid report.
    """
    try:
        encoded = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"expected a trial's report, as `atlas trial --json` writes it, got a text that is not JSON ({error})"
        raise InvalidInput(message) from error
    saved = decode(_SavedReport, encoded, "trial's report")
    design = saved.design
    _check_consistency(saved)
    return build_report(
        encoded["design"], list(dict.fromkeys(design.arms)), design.tasks, saved.cells, saved.n_cells, saved.stopped_by
    )


def _check_consistency(saved: _SavedReport) -> None:
    """Raise `InvalidInput` unless the runs of a report agree with its design."""
    design = saved.design
    if not design.command:
        raise InvalidInput("expected a command in a trial's report, got none")
    if not design.tasks:
        raise InvalidInput("expected tasks in a trial's report, got none")
    for run in saved.cells:
        if run.cell.arm not in design.arms or not 0 <= run.cell.task < len(design.tasks):
            raise InvalidInput(f"expected runs of the report's own tasks and arms, got {run.cell.key!r:.80}")
    if len({run.cell.key for run in saved.cells}) < len(saved.cells):
        raise InvalidInput("expected each run once in a trial's report, got a run twice")
    if len(saved.cells) > saved.n_cells:
        raise InvalidInput(f"expected at most {saved.n_cells} runs in a trial's report, got {len(saved.cells)}")
    if any(min(run.result.tokens, run.result.cost, run.result.seconds, run.block_tokens) < 0 for run in saved.cells):
        raise InvalidInput("expected amounts of 0 or more in a trial's report, got a negative one")


def as_text(report: TrialReport) -> str:
    """Return the report as aligned columns."""
    tables = [to_lines(arms_grid(report)), to_lines(comparisons_grid(report))]
    return "\n".join([head(report), *failure_lines(report), "", *tables[0], "", *tables[1], "", *NOTES])


def as_markdown(report: TrialReport) -> str:
    """Return the report as Markdown tables."""
    tables = [to_markdown(arms_grid(report)), to_markdown(comparisons_grid(report))]
    notes = [f"- {note}" for note in NOTES]
    return "\n".join([head(report), *failure_lines(report), "", *tables[0], "", *tables[1], "", *notes])


def failure_lines(report: TrialReport) -> list[str]:
    """Return the lines of a warning if every run ended with an error, else none."""
    if not report.cells or not all(cell.result.error for cell in report.cells):
        return []
    first = report.cells[0]
    return [
        f"Every run ended with an error, so the figures say nothing about memory. The first: {first.result.error}. "
        f"Its output is in the trial's directory, in runs/{first.cell.directory}/output.txt and output.txt.errors."
    ]


def head(report: TrialReport) -> str:
    """Return a line with the size and the settings of the trial, and the hashes that identify its inputs."""
    design = report.design
    ending = f"; ended by its limit of {report.stopped_by}" if report.stopped_by else ""
    return (
        f"{report.n_done:,} of {report.n_cells:,} runs of {design['command'][0]} at {len(design['tasks']):,} tasks"
        f"{ending}; seed {design['seed']}, store {design['store_hash'][:12]}, code {design['code_hash'][:12]}, "
        f"embedding model {design['embedding_model'] or 'none'}, ATLAS {design['atlas']}"
    )


def arms_grid(report: TrialReport) -> Grid:
    """Return the table of the arms' figures, with its heading first."""
    heads = [
        "arm",
        "runs",
        "succeeded",
        "seen tasks",
        "new tasks",
        "errors",
        "block tokens",
        "tokens",
        "cost",
        "seconds",
    ]
    return [heads, *map(_arm_row, report.arms)]


def comparisons_grid(report: TrialReport) -> Grid:
    """Return the table of the arms' differences, with its heading first."""
    heads = ["comparison", "tasks", "difference", "won", "lost", "chance", "seen tasks", "new tasks"]
    return [heads, *map(_comparison_row, report.comparisons)]


def _arm_row(arm: ArmFigures) -> list[str]:
    return [
        arm.name,
        f"{arm.every.n:,}",
        *map(_rate_cell, (arm.every, arm.seen, arm.new)),
        f"{arm.n_errors:,}",
        f"{arm.block_tokens:,.0f}",
        f"{arm.tokens:,.0f}",
        f"{arm.cost:.4f}",
        f"{arm.seconds:.1f}",
    ]


def _comparison_row(comparison: ArmComparison) -> list[str]:
    pair = comparison.every
    name = f"{comparison.first} − {comparison.second}"
    if pair is None:
        return [name, "0", *[NO_VALUE] * 6]
    counts = [f"{pair.n_won:,}", f"{pair.n_lost:,}", f"{pair.chance:.3f}"]
    return [
        name,
        f"{pair.n_tasks:,}",
        _pair_cell(pair),
        *counts,
        _pair_cell(comparison.seen),
        _pair_cell(comparison.new),
    ]


def _rate_cell(rate: RateFigure) -> str:
    if rate.share is None or rate.interval is None:
        return NO_VALUE
    return f"{rate.share:.0%} {_format_interval(rate.interval, '.0f')} of {rate.n:,}"


def _pair_cell(pair: PairFigure | None) -> str:
    if pair is None:
        return NO_VALUE
    return f"{100 * pair.difference:+.0f}" + (f" {_format_interval(pair.interval, '+.0f')}" if pair.interval else "")


def _format_interval(interval: Interval, number_format: str) -> str:
    return f"[{100 * interval.low:{number_format}}, {100 * interval.high:{number_format}}]"
