"""Concepts: their filters, orders, columns and editable fields."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from atlas.views.kinds.columns import HOW, RECORD, RELEVANCE, Column, Tables
from atlas.views.kinds.fields import Field
from atlas.views.kinds.filters import TAGS, Choices
from atlas.views.kinds.kind import BY_TIME, SUREST_FIRST, Kind, Order

MAX_USED = "Most used first"

NAME = Column("name", "Name", 150)
DESCRIPTION = Column("description", "What it does", 345)
DESCRIPTION_BESIDE = replace(DESCRIPTION, width=255)
HEADING = Column("heading", "Concept", 280, "heading", order_key="title")
CODE = Column("code", "Code", 540, "code")

_SOURCES = {"primitive": "ready-made"}


def source_word(source: str) -> str:
    """Return the word for the source of a concept: `ready-made` for `primitive`."""
    return _SOURCES.get(source, source)


RELATED = (NAME, HOW, DESCRIPTION_BESIDE)
"""Fields shown for the concepts related to a concept."""

CONCEPT = Kind(
    noun="concept",
    page="concepts",
    about="Reusable code: found in programs that succeeded, composed of other concepts, or written by people.",
    nothing="There are no concepts yet.",
    would_stand="Functions that your agents can reuse are listed here.",
    home="library",
    records=attrgetter("concepts"),
    when_pinned="Pinned concepts are never pruned.",
    shows_uses=True,
    filters=(
        Choices(name="source", label="Source", key="source", word=source_word),
        Choices(name="language", label="Language", key="language"),
        Choices(name="tag", label="Tag", key=TAGS),
    ),
    orders={
        **SUREST_FIRST,
        **BY_TIME,
        "Name, A to Z": Order("title"),
        MAX_USED: Order("created_at", worth=lambda n_succeeded, n: (n,)),
    },
    question="What should it do?",
    tables=Tables(
        listed=(HEADING, CODE, RECORD),
        found=(HEADING, CODE, RECORD),
        beside=(HEADING, RECORD),
        similar=(NAME, RELEVANCE, DESCRIPTION_BESIDE),
    ),
    fields=(
        Field(name="name", label="Name"),
        Field(name="description", label="What it does", height=100),
        Field(name="signature", label="Signature"),
        Field(name="guidance", label="When to use it", height=80),
        Field(name="code", label="Code", height=300),
        Field(name="examples", label="Examples, as a Python session: >>> and a call, below it the result", height=160),
    ),
)
