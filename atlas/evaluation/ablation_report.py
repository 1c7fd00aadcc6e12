"""The report of an ablation as text for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from atlas.core.statistics import Estimate
from atlas.evaluation.ablation import Ablation, AblationRow
from atlas.evaluation.report import Grid, format_estimate, to_lines, to_markdown

NO_VALUE = "–"


def as_json(ablation: Ablation) -> str:
    """Return the report as JSON."""
    return json.dumps(asdict(ablation), ensure_ascii=False, indent=1)


def as_text(ablation: Ablation) -> str:
    """Return the report as aligned columns."""
    return "\n".join([_head(ablation), "", *to_lines(_grid(ablation)), "", *notes(ablation)])


def as_markdown(ablation: Ablation) -> str:
    """Return the report as a Markdown table."""
    return "\n".join(
        [_head(ablation), "", *to_markdown(_grid(ablation)), "", *(f"- {note}" for note in notes(ablation))]
    )


def notes(ablation: Ablation) -> list[str]:
    """Return sentences on how to read the figures, and on their limits."""
    lines = [
        f"hit@k: share of the {ablation.n_repeated:,} attempts at a repeated task for which one of a memory's first k "
        f"hits is from that task; chance is the same for a random order of all records of each memory, so it is "
        f"higher for several memories. {_verbatim_note(ablation)}",
        "agreement: share of the retrieved experiences' outcomes that equal the attempt's own, with that of all "
        "earlier attempts as baseline; strategies come from successes only, so they are not counted",
        f"tokens: of the block for a prompt, of at most {ablation.budget_tokens:,}, counted by {ablation.counted_with}",
        "no agent used the hits: this measures retrieval, not its effect",
    ]
    if not ablation.is_timed:
        lines.append("some attempts have no time, so they were replayed in the order of the input")
    if any("concepts" in row.memories and not row.n_held["concepts"] for row in ablation.rows):
        lines.append("a replay has no concepts, as they are found by compressing many programs together")
    return lines


def _verbatim_note(ablation: Ablation) -> str:
    return f"{ablation.n_verbatim:,} of them have the same text as an earlier attempt, which makes retrieval easy"


def _head(ablation: Ablation) -> str:
    rate = "outcomes unknown" if ablation.success_rate is None else f"{ablation.success_rate:.0%} of them successes"
    return (
        f"{ablation.n_attempts:,} attempts at {ablation.n_tasks:,} tasks, {rate}, each asked for before it is stored; "
        f"embedding model {ablation.model}; a–b are 95% intervals over tasks (seed {ablation.seed})"
    )


def _grid(ablation: Ablation) -> Grid:
    hits = ["hit@1", "chance", f"hit@{ablation.k}", "chance"]
    return [["", *hits, "agreement", "all earlier", "tokens", "shown", "held"], *map(_row, ablation.rows)]


def _row(row: AblationRow) -> list[str]:
    return [
        row.name,
        _estimate_cell(row.hit_1),
        _share_cell(row.chance_1) if row.hit_1 else NO_VALUE,
        _estimate_cell(row.hit_k),
        _share_cell(row.chance_k) if row.hit_k else NO_VALUE,
        f"{_estimate_cell(row.agreement)} (n = {row.n_foretold:,})" if row.agreement else NO_VALUE,
        NO_VALUE if row.base_agreement is None else _share_cell(row.base_agreement),
        _tokens_cell(row.tokens),
        f"{row.n_shown:,}",
        ", ".join(f"{count:,} {name}" for name, count in row.n_held.items()) or "nothing",
    ]


def _estimate_cell(estimate: Estimate | None) -> str:
    return format_estimate(estimate) if estimate else NO_VALUE


def _share_cell(value: float) -> str:
    return format_estimate(Estimate(mean=value, interval=None))


def _tokens_cell(estimate: Estimate) -> str:
    interval = estimate.interval
    return f"{estimate.mean:,.0f}" + (f" {interval.low:,.0f}–{interval.high:,.0f}" if interval else "")
