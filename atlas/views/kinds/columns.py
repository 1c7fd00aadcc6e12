"""Columns of tables of memories. One row describes a column: what it shows, its heading, and its width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Form = Literal["text", "number", "decimal", "share", "time", "picture", "outcomes"]
"""How a value is drawn. A share is a bar from 0 to 1, a picture the address of one. Outcomes are coloured labels."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of memories."""

    name: str
    """The field of a row that it shows."""

    title: str
    width: int
    """In pixels."""

    form: Form = "text"
    help_text: str | None = None
    is_optional: bool = False
    """True if it is left out of tables in which it is empty everywhere."""


Columns = Sequence[Column]
"""The columns of a table, in their order."""

RELEVANCE = Column("relevance", "Relevance", 95, "share", "Relevance to the search, from 0 to 1", is_optional=True)
WHY = Column("why", "Why it is here", 420, is_optional=True)
MARKS = Column("marks", "Marks", 130, is_optional=True)
SOURCE = Column("source", "Source", 120, is_optional=True)
HOW = Column("how", "How", 95)
CREATED_AT = Column("created_at", "When (UTC)", 125, "time")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The columns of the tables of one kind of memory."""

    listed: Columns = ()
    found: Columns = ()
    """For a list that a question found."""

    beside: Columns = ()
    """If a record is open beside the list, so that there is less room."""

    similar: Columns = ()
    """For the records nearest to one."""


NO_TABLES = Tables()
