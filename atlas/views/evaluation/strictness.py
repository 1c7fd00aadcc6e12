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

BESIDE = 0.06
"""Distance of a value from its curve, as a share of the chart's height."""

TOP = 1.07
"""Height of the highest label."""

MARGIN = 0.25
"""Strictness at either end of the chart beside which there is no room for values."""

QUERY_CHARACTERS = 100

AXIS = "Strictness"
HOW_SURE = "Strictness is how sure search must be before it answers."
ABOUT = f"{HOW_SURE} At 0 it hides nothing. 1 is the level that ATLAS measured on this store."

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
    """A query that is answered otherwise, as a line of a table."""

    query: str
    """Untrusted text, as the best hit is."""

    best: str
    relevance: float
    before: str
    after: str


def measured_curves(evaluation: OwnEvaluation | None) -> Curves:
    """Return how a measured store answers by strictness, empty if that was not measured."""
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
    """Return the costs of the level of experiences by strictness, empty before it was set."""
    steps = [round(step * STEP, 2) for step in range(round(MOST / STEP) + 1)]
    costs = {strictness: memory.experience.level_costs(strictness) for strictness in steps}
    known = {strictness: each for strictness, each in costs.items() if each is not None}
    if not known:
        return {}
    return {
        NOTHING_FOUND: {strictness: each.own_hidden for strictness, each in known.items()},
        OFF_TOPIC_ANSWERED: {strictness: each.foreign_shown for strictness, each in known.items()},
    }


def curves_chart(curves: Curves, before: float, after: float) -> Chart:
    """Return the curves, a dotted line at the present strictness and a full one at another, each with its values."""
    end = max(MOST, before, after)
    above: Chart = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    labels, lines = [{**above, "x": before, "text": f"now: {before:g}"}], [_line(before, "dot")]
    labels += _values(curves, before, end, is_left=True)
    if after != before:
        labels.append({**above, "x": after, "text": f"{after:g}"})
        labels += _values(curves, after, end, is_left=False)
        lines.append(_line(after, "solid"))
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


def _values(curves: Curves, at: float, end: float, *, is_left: bool) -> list[Chart]:
    """Return the value of each curve at a strictness, below it on the left of the line or above it on the right.

    The curves fall, so there is room on these sides.

    Args:
        end: Strictness at the end of the chart.
    """
    is_left = at > MARGIN and (is_left or at > end - MARGIN)
    shares = {name: shares[min(shares, key=lambda each: abs(each - at))] for name, shares in curves.items()}
    heights = _heights_below(shares) if is_left else _heights_above(shares)
    side: Chart = {"xanchor": "right", "xshift": -4} if is_left else {"xanchor": "left", "xshift": 4}
    return [
        {**side, "x": at, "y": heights[name], "yanchor": "middle", "showarrow": False,
         "text": _marked(name, percent(share))}
        for name, share in shares.items()
    ]  # fmt: skip


def _end_labels(curves: Curves) -> list[Chart]:
    """Return the name of each curve at its end."""
    ends = {name: list(shares.values())[-1] for name, shares in curves.items() if shares}
    return [
        {"x": 1.0, "xref": "paper", "xanchor": "left", "xshift": 8, "y": height, "yanchor": "middle",
         "text": _marked(name, name), "showarrow": False}
        for name, height in _apart(ends).items()
    ]  # fmt: skip


def _marked(name: str, text: str) -> str:
    """Return a text behind a square in the colour of a measure. The text has that of the theme, which is legible."""
    return f'<span style="color: {COLOURS[name]}">■</span> {text}'


def _heights_below(shares: Mapping[str, float]) -> dict[str, float]:
    return _apart({name: share - BESIDE for name, share in shares.items()})


def _heights_above(shares: Mapping[str, float]) -> dict[str, float]:
    upside_down = _apart({name: TOP - share - BESIDE for name, share in shares.items()})
    return {name: TOP - height for name, height in upside_down.items()}


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """Return a height from 0 for each label, moved down where it would cover a higher label."""
    moved, highest = dict[str, float](), TOP
    for index, (name, height) in enumerate(sorted(heights.items(), key=lambda item: -item[1])):
        lowest = LABEL_GAP * (len(heights) - 1 - index)  # leaves room for the labels below it
        moved[name] = min(max(height, lowest), highest)
        highest = moved[name] - LABEL_GAP
    return moved


def plan_sentence(plan: StrictnessPlan) -> str:
    """Return the change, and how many queries of the store it answers otherwise."""
    if plan.after == plan.before:
        return f"Strictness is {_named(plan.before)}."
    losing = sum(not query.n_after for query in plan.changed)
    gaining = sum(not query.n_before for query in plan.changed)
    others = len(plan.changed) - losing - gaining
    asked = counted(plan.n_queries, "query")
    change = f"Strictness {_named(plan.before)} → {_named(plan.after)}"
    return (
        f"{change}. Of {asked} of this store, {losing} would find nothing any more, {gaining} would find something "
        f"again, {others} would find more or less."
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
    """Return the level of each memory, and its costs on both sides."""
    return tuple(f"{name.capitalize()}: {level_text(each)}" for name, each in costs.items())


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
            before=_hits(query.n_before),
            after=_hits(query.n_after),
        )
        for query in changed
    ]


def change_sentence(plan: StrictnessPlan) -> str:
    """Return a description of the change, for the bar with Undo."""
    return f"Changed the strictness of all searches from {_named(plan.before)} to {_named(plan.after)}"


def _hits(n: int) -> str:
    return counted(n, "hit") if n else "nothing"


def _named(strictness: float) -> str:
    return f"{strictness:g} (as measured)" if strictness == DEFAULT_STRICTNESS else f"{strictness:g}"


def _line(strictness: float, dash: str) -> Chart:
    across = {"xref": "x", "yref": "paper", "x0": strictness, "x1": strictness, "y0": 0, "y1": 1}
    return {"type": "line", **across, "line": {"color": GREY, "dash": dash, "width": 1}}
