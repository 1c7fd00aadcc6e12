"""The report of a trial as one HTML file that needs no network, with both traces of each task won or lost."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import ArmComparison, TrialReport, differing_runs
from atlas.evaluation.trial.journal import RunTrace
from atlas.evaluation.trial.report import NOTES, arms_grid, comparisons_grid, failure_lines, head
from atlas.views.shared.browser import asset

Traces = Callable[[Cell], RunTrace]

MAX_TASKS = 20
"""Tasks won, and tasks lost, of a comparison whose traces are shown."""


def trial_page(report: TrialReport, trace: Traces) -> str:
    """Return the text of an HTML file. Untrusted text is escaped, and it has no scripts.

    Args:
        trace: Function that returns the trace of a run.
    """
    parts = [
        "<h1>Does memory help? A trial</h1>",
        f'<p class="grey">{html.escape(head(report))}</p>',
        f"<p>Command: <code>{html.escape(' '.join(report.design['command']))}</code></p>",
        *(f"<p><strong>{html.escape(line)}</strong></p>" for line in failure_lines(report)),
        "<h2>Arms</h2>",
        _table(arms_grid(report)),
        "<h2>Comparisons on the same tasks</h2>",
        _table(comparisons_grid(report)),
        *(f'<p class="grey">{html.escape(note)}</p>' for note in NOTES),
        *(_traces(report, comparison, trace) for comparison in report.comparisons),
    ]
    page = asset("ask_page.html").replace("What an agent's memory says", "Does memory help? A trial")
    return page.replace("%BODY%", "\n".join(filter(None, parts)))


def _table(grid: Sequence[Sequence[str]]) -> str:
    heads, *rows = grid
    cells = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f'<table border="1" cellpadding="4"><tr>{_cells("th", heads)}</tr>{cells}</table>'


def _cells(kind: str, texts: Iterable[str]) -> str:
    return "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in texts)


def _traces(report: TrialReport, comparison: ArmComparison, trace: Traces) -> str:
    tasks = [("won", comparison.won), ("lost", comparison.lost)]
    shown = [_task(report, comparison, task, went, trace) for went, every in tasks for task in every[:MAX_TASKS]]
    if not shown:
        return ""
    return f"<h2>{html.escape(f'{comparison.first} − {comparison.second}')}: tasks won and lost</h2>{''.join(shown)}"


def _task(report: TrialReport, comparison: ArmComparison, task: int, went: str, trace: Traces) -> str:
    description = report.design["tasks"][task]["description"]
    sides = "".join(
        f"<section><h3>{html.escape(run.cell.arm)}</h3>{_trace(trace(run.cell))}</section>"
        for run in differing_runs(report, comparison, task)
    )
    return (
        f"<details><summary>{went}: {html.escape(description[:200])}</summary>"
        f'<div class="sides">{sides}</div></details>'
    )


def _trace(trace: RunTrace) -> str:
    texts = [("Block", trace.block), ("Output", trace.output)]
    if trace.errors:
        texts.append(("Errors", trace.errors))
    return "".join(f'<p class="grey">{name}</p><pre>{html.escape(text or "(empty)")}</pre>' for name, text in texts)
