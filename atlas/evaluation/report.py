"""The report of an evaluation as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from atlas.core.schema import decode
from atlas.core.statistics import Estimate, Interval
from atlas.evaluation.blocks import BlockResult
from atlas.evaluation.foreign import ForeignResult, StrictnessStep
from atlas.evaluation.judged import MissedQueries
from atlas.evaluation.leave_one_out import OutcomeAgreement
from atlas.evaluation.measures import TaskResult
from atlas.evaluation.metrics import METRICS
from atlas.evaluation.split import SPLIT_SEED, Half

HALVES: Mapping[Half, str] = {
    "dev": "development half: what is tuned may be tuned on these tasks",
    "test": "test half: nothing was tuned on these tasks",
    "both": "both halves together",
}

FOREIGN_WITH_HITS = "foreign with hits"
FOREIGN = (
    "Queries about what a store does not hold, so that the right answer is nothing: those of other sources, nonsense "
    "that people wrote, or queries on many subjects that ATLAS ships. How many were given a hit all the same?"
)

BLOCKS = (
    "Share of the queries whose right record is in the context block that an agent gets, in full or as its gist, "
    "beside a block that is filled by rank with full texts until one does not fit."
)

Grid = list[list[str]]
"""Rows of cells, with the heading first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of an evaluation, with the settings that it depends on."""

    model: str
    """The embedding model."""

    half: Half
    seed: int
    """Seed of the intervals and of sampling."""

    retrievers: Mapping[str, str]
    """Description of each row's ranking and tuning, keyed by name."""

    tasks: tuple[TaskResult, ...]
    outcomes: OutcomeAgreement | None = None
    foreign: tuple[ForeignResult, ...] = ()
    blocks: tuple[BlockResult, ...] = ()
    strictness: tuple[StrictnessStep, ...] = ()
    """The figures at each strictness, in ascending order. Empty if the report is not of a store's own attempts."""

    missed: MissedQueries | None = None
    """The judged queries that an agent's search gets wrong. None for corpora, and in reports of older versions."""

    split_seed: int = SPLIT_SEED


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEvaluation:
    """The result of evaluating a store on its own records, and the revision of the store at that time."""

    report: Report
    measured_at: str
    """Time in ISO 8601, in UTC."""

    revision: int
    """Revision of the whole store."""

    ledger_id: str
    profiles: Mapping[str, Mapping[str, float]]
    """Weights of each valid profile, keyed by name."""

    in_use: str
    """Name of the active profile."""

    judged: str = ""
    """The state of the judgements, from `Judgements.state`."""


def as_json(report: Report) -> str:
    """Return the report as JSON."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=1)


def from_json(text: str) -> Report:
    """Return the report that `as_json` wrote.

    Raises:
        ValueError: The text is not JSON, or not a report of this version.
    """
    return decode(Report, json.loads(text), "report")


def as_text(report: Report) -> str:
    """Return the report as aligned columns."""
    parts = [_head(report)]
    for task in report.tasks:
        parts += ["", _title(task), f"  {task.about}", f"  {_describe_size(task)}", *to_lines(_task_grid(task))]
    if report.outcomes:
        parts += ["", "outcomes", f"  {_describe_outcomes(report.outcomes)}", *to_lines(_outcome_grid(report.outcomes))]
    if report.foreign:
        parts += ["", "foreign queries", f"  {FOREIGN}", *to_lines(_foreign_grid(report.foreign))]
    if report.blocks:
        parts += ["", "context blocks", f"  {BLOCKS}", *to_lines(_block_grid(report.blocks))]
    return "\n".join([*parts, "", *(f"{name}: {about}" for name, about in report.retrievers.items())])


def as_markdown(report: Report) -> str:
    """Return the report as headings and tables."""
    parts = [_head(report)]
    for task in report.tasks:
        parts += [
            "",
            f"### {_title(task)}",
            "",
            f"{task.about} {_describe_size(task)}",
            "",
            *to_markdown(_task_grid(task)),
        ]
    if report.outcomes:
        grid = _outcome_grid(report.outcomes)
        parts += ["", "### outcomes", "", _describe_outcomes(report.outcomes), "", *to_markdown(grid)]
    if report.foreign:
        parts += ["", "### foreign queries", "", FOREIGN, "", *to_markdown(_foreign_grid(report.foreign))]
    if report.blocks:
        parts += ["", "### context blocks", "", BLOCKS, "", *to_markdown(_block_grid(report.blocks))]
    return "\n".join([*parts, "", *(f"- {name}: {about}" for name, about in report.retrievers.items())])


def _head(report: Report) -> str:
    return (
        f"{HALVES[report.half]} (split by task, seed {report.split_seed}); embedding model {report.model}; "
        f"a–b and a…b are 95% intervals over tasks (seed {report.seed})"
    )


def _title(task: TaskResult) -> str:
    return (
        f"{task.name}: {_counted(task.n_queries, 'query', 'queries')} about {_counted(task.n_groups, 'task', 'tasks')}"
    )


def _describe_size(task: TaskResult) -> str:
    """Return a sentence on the records and queries of a task."""
    parts = [f"{task.n_records:,} records"]
    if task.rows:
        parts.append(f"{task.word_overlap:.0%} of a query's words are in the nearest relevant description")
        parts.append(f"{task.share_verbatim:.0%} of the queries are one word for word")
    else:
        parts.append("no query to ask")
    if task.n_unanswerable:
        parts.append(f"{task.n_unanswerable} more queries, to which nothing stored is relevant, are left out")
    return f"{'; '.join(parts)}."


def _describe_outcomes(outcomes: OutcomeAgreement) -> str:
    return (
        f"Do attempts end as those that are found for their tasks did? {outcomes.n_attempts:,} attempts at "
        f"{_counted(outcomes.n_groups, 'task', 'tasks')}, {outcomes.base_rate:.0%} of them successes."
    )


def _task_grid(task: TaskResult) -> Grid:
    if not task.rows:
        return []
    grid = [["", *METRICS], ["chance", *(_format_decimal(task.chance[name]) for name in METRICS)]]
    for row in task.rows:
        grid.append([row.name, *_metric_cells(row.estimates)])
        grid += [
            [f"… − {name}", *_metric_cells(differences, signed=True)] for name, differences in row.differences.items()
        ]
    return grid


def _outcome_grid(outcomes: OutcomeAgreement) -> Grid:
    grid = [["", "accuracy", "Brier score", "guessed"]]
    grid.append(["base rate", _format_decimal(outcomes.base_accuracy), _format_decimal(outcomes.base_brier), ""])
    for row in outcomes.rows:
        grid.append(
            [
                row.name,
                format_estimate(row.accuracy),
                format_estimate(row.brier),
                str(row.n_guessed) if row.n_guessed else "",
            ]
        )
        for name, differences in row.differences.items():
            grid.append(
                [
                    f"… − {name}",
                    format_estimate(differences.accuracy, signed=True),
                    format_estimate(differences.brier, signed=True),
                ]
            )
    return grid


def _foreign_grid(results: Sequence[ForeignResult]) -> Grid:
    names = list(results[0].told_something)
    return [
        ["asked in", "queries of", "queries", *(f"{FOREIGN_WITH_HITS}, {name}" for name in names)],
        *(
            [
                result.asked_in,
                result.source,
                f"{result.n_queries:,}",
                *(format_estimate(result.told_something[name]) for name in names),
            ]
            for result in results
        ),
    ]


def _block_grid(results: Sequence[BlockResult]) -> Grid:
    heading = ["", "tokens", "queries", "in the block", "in it in full", "by rank until full", "difference"]
    return [
        heading,
        *(
            [
                result.task,
                f"{result.budget_tokens:,}",
                f"{result.n_queries:,}",
                *map(format_estimate, (result.in_block, result.in_full, result.until_full)),
                format_estimate(result.difference, signed=True),
            ]
            for result in results
        ),
    ]


def _metric_cells(by_metric: Mapping[str, Estimate], *, signed: bool = False) -> list[str]:
    return [format_estimate(by_metric[name], signed=signed) for name in METRICS]


def format_estimate(estimate: Estimate, *, signed: bool = False) -> str:
    """Return an estimate with its interval, if it has one: `.705 .61–.80`, or with signs `+.005 −.02…+.03`."""
    mean, interval = _format_decimal(estimate.mean, signed=signed), estimate.interval
    return f"{mean} {_format_interval(interval, signed)}" if interval else mean


def _format_interval(interval: Interval, signed: bool) -> str:
    low, high = _format_decimal(interval.low, 2, signed=signed), _format_decimal(interval.high, 2, signed=signed)
    return f"{low}…{high}" if signed else f"{low}–{high}"


def _format_decimal(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """Return a number without leading zero: `.705` or `1.000`, or with a sign `+.005` or `−.120`."""
    text = f"{abs(value):.{digits}f}"
    shortened = text.removeprefix("0")
    if not signed:
        return shortened
    is_negative = value < 0 and float(text) != 0
    return f"−{shortened}" if is_negative else f"+{shortened}"


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"


def to_lines(grid: Grid) -> list[str]:
    """Return the rows of a grid as lines for a terminal, in aligned columns."""
    widths = [max(map(len, column)) for column in zip_longest(*grid, fillvalue="")]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=False)] for row in grid]
    return ["  " + "  ".join(row).rstrip() for row in padded]


def to_markdown(grid: Grid) -> list[str]:
    """Return the rows of a grid as the lines of a Markdown table."""
    if not grid:
        return []
    rows = [row + [""] * (len(grid[0]) - len(row)) for row in grid]
    return [_markdown_row(rows[0]), _markdown_row(["---"] * len(rows[0])), *map(_markdown_row, rows[1:])]


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
