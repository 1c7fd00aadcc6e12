"""Strictness of searches: the costs on both sides, and the queries whose answers change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atlas.core.ranking.level import LevelCosts
from atlas.evaluation.report import OwnEvaluation
from atlas.memory.base.strictness import ChangedQuery
from atlas.memory.base.strictness import StrictnessPlan as StrictnessPlan
from atlas.memory.base.strictness import StrictnessQuery as StrictnessQuery
from atlas.memory.base.strictness import strictness_plan as strictness_plan
from atlas.memory.base.strictness import strictness_queries as strictness_queries
from atlas.memory.system import MemorySystem
from atlas.storage.marks.strictness import DEFAULT_STRICTNESS as DEFAULT_STRICTNESS
from atlas.views.charts.palette import GREY, PALETTE, PERCENT_AXIS, Chart
from atlas.views.settings.store import level_text
from atlas.views.shared.wording import counted, percent, shortened

MOST, STEP = 3.0, 0.1
"""The end of the slider and of the chart, and how finely the slider moves."""

HEIGHT_PIXELS = 264
"""Height of the chart."""

LEFT_PIXELS, RIGHT_PIXELS = 44, 220
"""Room at its sides for the axis and for the names of the curves. The slider below begins and ends with the axis."""

LABEL_GAP = 0.1
"""Least distance of two labels, as a share of the chart's height."""

LABEL_DISTANCE = 0.06
"""Distance of a value from its curve, as a share of the chart's height."""

TOP = 1.07
"""Height of the highest label."""

MARGIN = 0.25
"""Strictness at either end of the chart beside which there is no room for values."""

QUERY_CHARACTERS = 100

AXIS = "Strictness"
HOW_SURE = "Strictness is how sure search must be before it answers."
ABOUT = f"{HOW_SURE} At 0 it hides nothing. 1 is the level that ATLAS measured on this store."

PROVISIONAL = "The curves are provisional, of a few records, until search is measured."
UNMEASURED = "Its curves are drawn once there are enough records to measure them."

OWN_RIGHT, JUDGED_RIGHT = "Own attempts: first hit right", "Judged queries: first hit right"
OFF_TOPIC_ANSWERED, NOTHING_FOUND = "Off-topic questions: answered", "Own attempts: nothing found"
"""Names of the measures, which stand at the ends of their curves too."""

COLOURS = {OWN_RIGHT: PALETTE[0], JUDGED_RIGHT: PALETTE[2], OFF_TOPIC_ANSWERED: PALETTE[1], NOTHING_FOUND: PALETTE[3]}
"""Colour of each measure, the same in tables and charts."""

Curves = Mapping[str, Mapping[float, float]]
"""Shares in [0, 1] by strictness, by the name of their curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A query whose hits change with the strictness, as a row of a table."""

    query: str
    """Untrusted text, as the best hit is."""

    best: str
    relevance: float
    before: str
    after: str


def measured_curves(evaluation: OwnEvaluation | None) -> Curves:
    """Return the measured curves of a store, empty if they were not measured."""
    steps = evaluation.report.strictness if evaluation is not None else ()
    if not steps:
        return {}
    judged = {step.strictness: step.judged_right.mean for step in steps if step.judged_right is not None}
    return {
        OWN_RIGHT: {step.strictness: step.first_right.mean for step in steps},
        **({JUDGED_RIGHT: judged} if judged else {}),
        OFF_TOPIC_ANSWERED: {step.strictness: step.foreign_answered.mean for step in steps},
    }


def calibrated_curves(memory: MemorySystem) -> Curves:
    """Return the costs of the relevance threshold of experiences by strictness, empty before it was set."""
    steps = [round(step * STEP, 2) for step in range(round(MOST / STEP) + 1)]
    costs = {strictness: memory.experience.level_costs(strictness) for strictness in steps}
    measured = {strictness: costs_at for strictness, costs_at in costs.items() if costs_at is not None}
    if not measured:
        return {}
    return {
        NOTHING_FOUND: {strictness: costs_at.own_hidden for strictness, costs_at in measured.items()},
        OFF_TOPIC_ANSWERED: {strictness: costs_at.foreign_shown for strictness, costs_at in measured.items()},
    }


def strictness_caption(measured: Curves, calibrated: Curves) -> str:
    """Return what strictness is, and whether its curves are provisional or missing, as they are not measured."""
    return HOW_SURE if measured else f"{HOW_SURE} {PROVISIONAL if calibrated else UNMEASURED}"


def curves_chart(curves: Curves, before: float, after: float) -> Chart:
    """Return a chart of the curves, with a dotted line at the present strictness and a solid one at a new one."""
    end = max(MOST, before, after)
    top_label: Chart = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    labels, lines = [{**top_label, "x": before, "text": f"now: {before:g}"}], [_vertical_line(before, "dot")]
    labels += _value_labels(curves, before, end, is_left=True)
    if after != before:
        labels.append({**top_label, "x": after, "text": f"{after:g}"})
        labels += _value_labels(curves, after, end, is_left=False)
        lines.append(_vertical_line(after, "solid"))
    return {
        "data": [
            {
                "type": "scatter", "mode": "lines", "name": name,
                "x": list(shares), "y": list(shares.values()),
                "text": [percent(share) for share in shares.values()],
                "line": {"color": COLOURS[name], "dash": "dash" if name == JUDGED_RIGHT else "solid"},
                "hovertemplate": "%{text}",
            }
            for name, shares in curves.items()
        ],
        "layout": {
            "height": HEIGHT_PIXELS, "margin": {"l": LEFT_PIXELS, "r": RIGHT_PIXELS, "t": 20, "b": 44},
            "hovermode": "x unified",
            "dragmode": False, "showlegend": False,
            "xaxis": {"range": [0, end], "fixedrange": True, "zeroline": False, "title": {"text": AXIS, "standoff": 8}},
            "yaxis": {"range": [0, TOP + 0.02], **PERCENT_AXIS},
            "shapes": lines,
            "annotations": [*labels, *_end_labels(curves)],
        },
    }  # fmt: skip


def _value_labels(curves: Curves, strictness: float, end: float, *, is_left: bool) -> list[Chart]:
    """Return a label with the value of each curve at a strictness.

    Labels on the left are below the curves, and those on the right above: the curves fall, so there is room.

    Args:
        end: Strictness at the end of the chart.
    """
    is_left = strictness > MARGIN and (is_left or strictness > end - MARGIN)
    shares = {
        name: shares[min(shares, key=lambda measured: abs(measured - strictness))] for name, shares in curves.items()
    }
    heights = _heights_below(shares) if is_left else _heights_above(shares)
    anchor: Chart = {"xanchor": "right", "xshift": -4} if is_left else {"xanchor": "left", "xshift": 4}
    return [
        {**anchor, "x": strictness, "y": heights[name], "yanchor": "middle", "showarrow": False,
         "text": _with_colour_square(name, percent(share))}
        for name, share in shares.items()
    ]  # fmt: skip


def _end_labels(curves: Curves) -> list[Chart]:
    """Return the name of each curve at its end."""
    ends = {name: list(shares.values())[-1] for name, shares in curves.items() if shares}
    return [
        {"x": 1.0, "xref": "paper", "xanchor": "left", "xshift": 8, "y": height, "yanchor": "middle",
         "text": _with_colour_square(name, name), "showarrow": False}
        for name, height in _without_overlap(ends).items()
    ]  # fmt: skip


def _with_colour_square(name: str, text: str) -> str:
    """Return a text after a square in the colour of a measure. The text keeps the legible colour of the theme."""
    return f'<span style="color: {COLOURS[name]}">■</span> {text}'


def _heights_below(shares: Mapping[str, float]) -> dict[str, float]:
    return _without_overlap({name: share - LABEL_DISTANCE for name, share in shares.items()})


def _heights_above(shares: Mapping[str, float]) -> dict[str, float]:
    depths = _without_overlap({name: TOP - share - LABEL_DISTANCE for name, share in shares.items()})
    return {name: TOP - height for name, height in depths.items()}


def _without_overlap(heights: Mapping[str, float]) -> dict[str, float]:
    """Return the heights of labels, each from 0 and moved down where it would cover a higher label."""
    placed, highest = dict[str, float](), TOP
    for index, (name, height) in enumerate(sorted(heights.items(), key=lambda item: -item[1])):
        lowest = LABEL_GAP * (len(heights) - 1 - index)  # leaves room for the labels below it
        placed[name] = min(max(height, lowest), highest)
        highest = placed[name] - LABEL_GAP
    return placed


def plan_sentence(plan: StrictnessPlan) -> str:
    """Return the change, and how many queries would find nothing, something again, or another number of hits."""
    if plan.after == plan.before:
        return f"Strictness is {_strictness_text(plan.before)}."
    n_losing = sum(not query.n_after for query in plan.changed)
    n_gaining = sum(not query.n_before for query in plan.changed)
    n_others = len(plan.changed) - n_losing - n_gaining
    queries = counted(plan.n_queries, "query")
    change = f"Strictness {_strictness_text(plan.before)} → {_strictness_text(plan.after)}"
    return (
        f"{change}. Of {queries} of this store, {n_losing} would find nothing any more, {n_gaining} would find "
        f"something again, {n_others} would find more or less."
    )


def loss_sentences(plan: StrictnessPlan) -> tuple[str, str]:
    """Return how many tasks would lose their best record, and how many right attempts hits would lose."""
    sentence = plan.loss_sentence
    return (
        f"{sentence[0].upper()}{sentence[1:]}{':' if plan.lost else '.'}",
        f"Right attempts lost from hits: {plan.n_lost_from_hits:,} of {plan.n_in_hits:,}. Attempts in the query's "
        "own words do not count.",
    )


def cost_lines(costs: Mapping[str, LevelCosts]) -> tuple[str, ...]:
    """Return a line for each memory, with its level and the costs of that level."""
    return tuple(f"{name.capitalize()}: {level_text(level_costs)}" for name, level_costs in costs.items())


def change_line(query: ChangedQuery) -> str:
    """Return a query with the numbers of its hits before and after. It has untrusted text."""
    return f"{query.n_before} → {query.n_after} hits: {shortened(query.query, QUERY_CHARACTERS)}"


def change_rows(changed: Sequence[ChangedQuery]) -> list[ChangeRow]:
    """Return the lines of a table of changed queries."""
    return [
        ChangeRow(
            query=shortened(query.query, QUERY_CHARACTERS),
            best=shortened(query.best, QUERY_CHARACTERS),
            relevance=round(query.relevance, 2),
            before=_hits_text(query.n_before),
            after=_hits_text(query.n_after),
        )
        for query in changed
    ]


def change_sentence(plan: StrictnessPlan) -> str:
    """Return a description of the change, for the bar with Undo."""
    return (
        f"Changed the strictness of all searches from {_strictness_text(plan.before)} to {_strictness_text(plan.after)}"
    )


def _hits_text(n_hits: int) -> str:
    return counted(n_hits, "hit") if n_hits else "nothing"


def _strictness_text(strictness: float) -> str:
    return f"{strictness:g} (as measured)" if strictness == DEFAULT_STRICTNESS else f"{strictness:g}"


def _vertical_line(strictness: float, dash: str) -> Chart:
    vertical = {"xref": "x", "yref": "paper", "x0": strictness, "x1": strictness, "y0": 0, "y1": 1}
    return {"type": "line", **vertical, "line": {"color": GREY, "dash": dash, "width": 1}}
