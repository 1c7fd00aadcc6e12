"""The cells of a table of memories, as the browser draws them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from atlas.memory.journal.links import CRASH
from atlas.views.kinds.columns import WIDE, Column, Columns
from atlas.views.kinds.journal_words import type_word
from atlas.views.kinds.kind import Kind
from atlas.views.kinds.titles import task_title
from atlas.views.lists.queries import Row
from atlas.views.shared.rates import Record
from atlas.views.shared.wording import time_text

MAX_CHARACTERS = 400
"""The part of a text that is sent for a cell. The browser cuts it to the width of its column."""

GOOD, FAIR, POOR = "●●● good", "●●○ fair", "●○○ poor"
"""Marks of a figure, best first."""

TONES = {type_word(CRASH): "var(--red)", GOOD: "var(--green)", FAIR: "var(--amber)", POOR: "var(--red)"}
"""Colours of badges in the browser, by their texts. Others are grey."""

_PICTOGRAPHS = re.compile("[\U0001f000-\U0001faff\ufe0f\u200d]+")
"""Signs that carry no words, and that a machine without a font for them draws as boxes."""

TITLES = ("text", "task", "heading")
"""Forms of the column that opens a record, the first of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The name of a record with its origin, in several lines. All texts are untrusted."""

    title: str
    parameters: str = ""
    """`(items, size)` behind the title of a function, or empty."""

    lead: str = ""
    """Its purpose, or empty."""

    story: str = ""
    """Its situation, or empty."""

    advice: str = ""
    """Its suggestion, or empty."""

    status: str = ""
    """Why it is out of use, or empty."""

    origin: str = ""
    marks: str = ""
    relevance: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Meter:
    """A share as a bar, with its text."""

    share: float | None
    """In [0, 1], or None if it is not known."""

    text: str
    weak: bool = False
    """True if it is drawn in red."""

    colour: str = ""
    """Its colour in CSS, or empty for that of the theme."""

    tick: float | None = None
    """A share to compare it with, in [0, 1], which is marked on the bar, or None for none."""

    tick_text: str = ""
    """Text under the pointer at that mark, or empty for the average."""


def table_as_json(kind: Kind, columns: Columns, rows: Sequence[Row], order: str = "") -> dict[str, Any]:
    """Return a table for the browser, without the optional columns that are empty.

    Args:
        order: The label of the current order, or empty if the table cannot be sorted.
    """
    shown = [column for column in columns if _is_shown(column, rows)]
    title = next((column for column in shown if column.form in TITLES), shown[0])
    return {
        "label": kind.page.capitalize(),
        "columns": [_column_as_json(column, kind, order, opens=column is title) for column in shown],
        "rows": [
            {
                "id": row.id,
                "label": _label(row, title),
                "why": row.why,
                "state": row.state,
                "group": row.group,
                "facts": row.facts,
                "history": getattr(row, "history", ""),
                "hints": row.hints,
                "marks": row.marks,
                **{column.name: _cell(row, column) for column in shown},
                **_titled(row, title),
            }
            for row in rows
        ],
        "order": order,
        "tall": title.form == "heading",
    }


def _is_shown(column: Column, rows: Sequence[Row]) -> bool:
    n_filled = sum(getattr(row, column.name, None) not in (None, "", ()) for row in rows)
    return not column.is_optional or n_filled > column.least_share * len(rows)


def _column_as_json(column: Column, kind: Kind, order: str, *, opens: bool) -> dict[str, Any]:
    return {
        "name": column.name,
        "title": column.title,
        "form": column.form,
        "width": column.width,
        "grows": column.width >= WIDE,
        "help": column.help_text,
        "empty": column.empty,
        "empty_means": column.empty_means,
        "opens": opens,
        "tones": TONES if column.form == "badge" else {},
        "orders": _orders(column, kind) if order else [],
    }


def _orders(column: Column, kind: Kind) -> list[dict[str, Any]]:
    """Return the orders of a list that sort it by a column."""
    return [
        {"label": label, "descending": order.is_descending}
        for label, order in kind.orders.items()
        if column.order_key and order.key == column.order_key and order.worth is None
    ]


def _label(row: Row, title: Column) -> str:
    value = getattr(row, title.name)
    return value.title if isinstance(value, Heading) else " ".join(str(value)[:MAX_CHARACTERS].split())


def _titled(row: Row, title: Column) -> dict[str, Any]:
    """Return the two lines of the task that opens a row, without pictographs, or nothing if it is no task."""
    if title.form != "task":
        return {}
    text = str(getattr(row, title.name) or "")[:MAX_CHARACTERS]
    shown = _PICTOGRAPHS.sub(" ", text)
    titled = task_title(shown if shown.strip() else text)
    below = _on_one_line(str(getattr(row, title.below))) if title.below else ""
    return {"titled": {"title": titled.title, "rest": below[:MAX_CHARACTERS] or titled.rest}}


def _cell(row: Row, column: Column) -> Any:
    value = getattr(row, column.name, None)
    match column.form:
        case "text" | "task":
            return _on_one_line(str(value or ""))[:MAX_CHARACTERS]
        case "number":
            return f"{value:,}" if value is not None else ""
        case "decimal":
            return f"{value:.2f}"
        case "time" | "day":
            return time_text(value) if isinstance(value, datetime) else ""
    return asdict(value) if isinstance(value, Heading | Record | Meter) else value


def _on_one_line(text: str) -> str:
    """Return a text with single spaces, and without pictographs unless it has nothing else."""
    return " ".join(_PICTOGRAPHS.sub(" ", text).split()) or " ".join(text.split())
