"""The report of a trial as one HTML file that needs no network, with both traces of each task won or lost."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import ArmComparison, TrialReport
from atlas.evaluation.trial.report import NOTES, arms_grid, comparisons_grid, head
from atlas.views.shared.browser import asset

TRACE_CHARACTERS = 8_000
"""Of the end of each output that is shown."""

MOST_TASKS = 20
"""Tasks won, and tasks lost, of a comparison whose traces are shown."""


def trial_page(report: TrialReport, directory: Path) -> str:
    """Return the text of an HTML file. Untrusted text is escaped, and it has no scripts.

    Args:
        directory: The trial's, which has the outputs of all runs.
    """
    parts = [
        "<h1>Does memory help? A trial</h1>",
        f'<p class="grey">{html.escape(head(report))}</p>',
        f"<p>Command: <code>{html.escape(' '.join(report.design['command']))}</code></p>",
        "<h2>Arms</h2>",
        _table(arms_grid(report)),
        "<h2>Comparisons on the same tasks</h2>",
        _table(comparisons_grid(report)),
        *(f'<p class="grey">{html.escape(note)}</p>' for note in NOTES),
        *(_traces(report, comparison, directory) for comparison in report.comparisons),
    ]
    page = asset("ask_page.html").replace("What an agent's memory says", "Does memory help? A trial")
    return page.replace("%BODY%", "\n".join(filter(None, parts)))


def _table(grid: Sequence[Sequence[str]]) -> str:
    heads, *rows = grid
    cells = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f'<table border="1" cellpadding="4"><tr>{_cells("th", heads)}</tr>{cells}</table>'


def _cells(kind: str, texts: Iterable[str]) -> str:
    return "".join(f"<{kind}>{html.escape(text)}</{kind}>" for text in texts)


def _traces(report: TrialReport, comparison: ArmComparison, directory: Path) -> str:
    tasks = [("won", comparison.won), ("lost", comparison.lost)]
    shown = [_task(report, comparison, task, went, directory) for went, every in tasks for task in every[:MOST_TASKS]]
    if not shown:
        return ""
    return f"<h2>{html.escape(f'{comparison.first} − {comparison.second}')}: tasks won and lost</h2>{''.join(shown)}"


def _task(report: TrialReport, comparison: ArmComparison, task: int, went: str, directory: Path) -> str:
    description = report.design["tasks"][task]["description"]
    differing = _differing_repeat(report, comparison, task)
    sides = "".join(
        f"<section><h3>{html.escape(arm)}</h3>{_run(directory, Cell(task=task, repeat=differing, arm=arm))}</section>"
        for arm in (comparison.first, comparison.second)
    )
    return (
        f"<details><summary>{went}: {html.escape(description[:200])}</summary>"
        f'<div class="sides">{sides}</div></details>'
    )


def _differing_repeat(report: TrialReport, comparison: ArmComparison, task: int) -> int:
    """Return the first repeat of a task in which one of two arms succeeded."""
    went = {(cell.cell.repeat, cell.cell.arm): cell.result.success for cell in report.cells if cell.cell.task == task}
    repeats = sorted({repeat for repeat, _ in went})
    return next(
        repeat for repeat in repeats if went.get((repeat, comparison.first)) != went.get((repeat, comparison.second))
    )


def _run(directory: Path, cell: Cell) -> str:
    """Return the block and the output of a run."""
    texts = [("Block", "block.txt"), ("Output", "output.txt")]
    return "".join(
        f'<p class="grey">{name}</p><pre>{html.escape(_end_of(directory / "runs" / cell.directory / file))}</pre>'
        for name, file in texts
    )


def _end_of(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return text[-TRACE_CHARACTERS:] or "(empty)"
