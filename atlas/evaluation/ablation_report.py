"""The report of an ablation as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from atlas.core.statistics import Estimate
from atlas.evaluation.ablation import Ablation, AblationRow
from atlas.evaluation.report import Grid, aligned, cell, table

NONE = "–"


def as_json(ablation: Ablation) -> str:
    """Return the report as JSON."""
    return json.dumps(asdict(ablation), ensure_ascii=False, indent=1)


def as_text(ablation: Ablation) -> str:
    """Return the report as aligned columns."""
    return "\n".join([_head(ablation), "", *aligned(_grid(ablation)), "", *notes(ablation)])


def as_markdown(ablation: Ablation) -> str:
    """Return the report as a table."""
    return "\n".join([_head(ablation), "", *table(_grid(ablation)), "", *(f"- {note}" for note in notes(ablation))])


def notes(ablation: Ablation) -> list[str]:
    """Return notes on how to read the figures, and on their limits."""
    lines = [
        f"hit@k: of the {ablation.n_repeated:,} attempts at a task that was tried before, those for which one of a "
        "memory's first k hits comes from that task; chance beside it is what random orders of all that each memory "
        f"held would find, so that several memories have more of it. {_verbatim(ablation)}",
        "agreement: share of the retrieved experiences' outcomes that are as the attempt then ended, beside that of "
        "all earlier attempts; strategies come from successes alone, and foretell nothing",
        f"tokens: of the block for a prompt, of at most {ablation.budget_tokens:,}, counted by {ablation.counted_with}",
        "nobody acted on what was found: this is what an agent would have been shown, not what it would have done",
    ]
    if not ablation.is_timed:
        lines.append("not every attempt says when it was made, so they were replayed in the order in which they stand")
    if any("concepts" in row.memories and not row.n_held["concepts"] for row in ablation.rows):
        lines.append("concepts are found by compressing many programs at once, which a replay does not do: it has none")
    return lines


def _verbatim(ablation: Ablation) -> str:
    return f"{ablation.n_verbatim:,} of them tell their task word for word as before, which makes it easy to find"


def _head(ablation: Ablation) -> str:
    rate = "outcomes unknown" if ablation.success_rate is None else f"{ablation.success_rate:.0%} of them successes"
    return (
        f"{ablation.n_attempts:,} attempts at {ablation.n_tasks:,} tasks, {rate}, each asked for before it is stored; "
        f"embedding model {ablation.model}; a–b are 95 % intervals over tasks (seed {ablation.seed})"
    )


def _grid(ablation: Ablation) -> Grid:
    hits = ["hit@1", "chance", f"hit@{ablation.k}", "chance"]
    return [["", *hits, "agreement", "all earlier", "tokens", "shown", "held"], *map(_row, ablation.rows)]


def _row(row: AblationRow) -> list[str]:
    return [
        row.name,
        _cell(row.hit_1),
        _share(row.chance_1) if row.hit_1 else NONE,
        _cell(row.hit_k),
        _share(row.chance_k) if row.hit_k else NONE,
        f"{_cell(row.agreement)} (n = {row.n_foretold:,})" if row.agreement else NONE,
        NONE if row.base_agreement is None else _share(row.base_agreement),
        _tokens(row.tokens),
        f"{row.n_shown:,}",
        ", ".join(f"{n:,} {name}" for name, n in row.n_held.items()) or "nothing",
    ]


def _cell(estimate: Estimate | None) -> str:
    return cell(estimate) if estimate else NONE


def _share(value: float) -> str:
    return cell(Estimate(mean=value, interval=None))


def _tokens(estimate: Estimate) -> str:
    interval = estimate.interval
    return f"{estimate.mean:,.0f}" + (f" {interval.low:,.0f}–{interval.high:,.0f}" if interval else "")
