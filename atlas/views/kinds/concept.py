"""Concepts: their filters, orders, columns and editable fields."""

from __future__ import annotations

from operator import attrgetter

from atlas.views.kinds.columns import HOW, LAST_USED, RECORD, RELEVANCE, Column, Tables
from atlas.views.kinds.fields import Field
from atlas.views.kinds.filters import TAGS, Choices, OneOf
from atlas.views.kinds.kind import BY_TIME, SUREST_FIRST, Kind, Order
from atlas.views.kinds.uses import USE_STATES, in_use_state

MOST_USED_FIRST = "Most used first"

NAME = Column("name", "Concept", 280, "task", below="description")
HEADING = Column("heading", "Concept", 280, "heading", order_key="title")

_SOURCES = {"primitive": "ready-made"}


def source_word(source: str) -> str:
    """Return the word for the source of a concept: `ready-made` for `primitive`."""
    return _SOURCES.get(source, source)


RELATED = (NAME, HOW)
"""Fields shown for the concepts related to a concept."""

CONCEPT = Kind(
    noun="concept",
    page="concepts",
    about="Functions that agents can reuse, and how often they worked.",
    nothing="There are no concepts yet.",
    contents="Functions that your agents can reuse are listed here.",
    home="library",
    records=attrgetter("concepts"),
    when_pinned="Pinned concepts are never pruned.",
    shows_uses=True,
    filters=(
        OneOf(
            name="state", label="Show", key="id", values=USE_STATES, chosen=in_use_state, is_foremost=True, width=240
        ),
        Choices(name="source", label="Source", key="source", word=source_word, width=130),
        Choices(name="language", label="Language", key="language", width=130),
        Choices(name="tag", label="Tag", key=TAGS, width=130),
    ),
    orders={
        **SUREST_FIRST,
        **BY_TIME,
        "Name, A to Z": Order("title"),
        MOST_USED_FIRST: Order("created_at", worth=lambda n_succeeded, n: (n,)),
    },
    question="What should it do?",
    tables=Tables(
        listed=(HEADING, RECORD, LAST_USED),
        found=(HEADING, RECORD, LAST_USED),
        beside=(HEADING, RECORD),
        similar=(NAME, RELEVANCE),
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
