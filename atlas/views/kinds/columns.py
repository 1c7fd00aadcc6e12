"""Descriptions of table columns: field, heading and width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from atlas.views.kinds.verdicts import AVERAGE_MEANS, VERDICTS_MEAN

Form = Literal[
    "text", "task", "number", "decimal", "share", "meter", "time", "day", "outcomes", "badge", "heading",
    "record", "severity", "button",
]  # fmt: skip
"""Display format of a value: a task as its title with the rest below, a share as a bar from 0 to 1, a meter as a bar
with a text that is red if weak, outcomes as coloured labels, a day as a time that shows its clock
on hover, a severity as a mark.

A heading and a record take several lines, and so does a row that has a heading.
"""

WIDE = 240
"""Least width of the columns that share what the others leave of a table."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of memories."""

    name: str
    """Field of a row."""

    title: str
    width: int
    """Width in pixels."""

    form: Form = "text"
    help_text: str | None = None
    is_optional: bool = False
    """True if it is hidden when empty in all rows."""

    least_share: float = 0.0
    """Share of the rows, in [0, 1], of which more than it must fill an optional column."""

    empty: str = ""
    """Text that an empty cell of a text shows."""

    empty_means: str = ""
    """Meaning of that text in words, or empty."""

    below: str = ""
    """Field whose text stands below a task, in place of what follows its title, or empty."""

    order_key: str = ""
    """The stored field that it sorts by, or empty if its heading does not sort."""


Columns = Sequence[Column]
"""The columns of a table, in their order."""

RELEVANCE = Column("relevance", "Relevance", 95, "share", "Relevance to the search, from 0 to 1", is_optional=True)
SOURCE = Column("source", "Source", 120, is_optional=True, order_key="source")
HOW = Column("how", "How", 95)
RECORD = Column(
    "record",
    "Uses that succeeded",
    225,
    "record",
    "The stroke is the share of its uses that succeeded. The band is the likely range, where its true rate lies with a "
    f"probability of 95%. {AVERAGE_MEANS} {VERDICTS_MEAN} The most reliable has the highest low end",
)
LAST_USED = Column("last_used", "Last used", 95, "day", is_optional=True)
CREATED_AT = Column("created_at", "When (UTC)", 135, "time", order_key="created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The columns of the tables of one kind of memory."""

    listed: Columns = ()
    found: Columns = ()
    """Columns of search results."""

    beside: Columns = ()
    """Columns of a narrow list next to an open record."""

    similar: Columns = ()
    """Columns of the nearest neighbours of a record."""


NO_TABLES = Tables()
