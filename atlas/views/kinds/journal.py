"""Entries of the journal: their filters, orders, columns and editable fields."""

from __future__ import annotations

from operator import attrgetter

from atlas.core.journal_codec import TIERS
from atlas.views.kinds.columns import CREATED_AT, MARKS, RELEVANCE, WHY, Column, Tables
from atlas.views.kinds.fields import ChoiceField, Field, NumberField
from atlas.views.kinds.filters import TAGS, Choices, Number, Pairs
from atlas.views.kinds.kind import BY_TIME, Kind, Order
from atlas.views.kinds.metadata import pair_filter, shared_pairs

ENTRY_TYPE = Column("entry_type", "Type", 115)
GENERATION = Column("generation", "Generation", 85, "number", "Generation of the agent")
CONTENT = Column("content", "What it says", 420)
IMPORTANCE = Column("importance", "Importance", 85, "decimal", "From 0 to 1")
TIER = Column("tier", "Heat", 70, help_text="Hot entries come into contexts first, cold ones last")
N_LINKS = Column("n_links", "Links", 50, "number", "Links to other entries")

AROUND = (GENERATION, ENTRY_TYPE, CONTENT, CREATED_AT)
"""Entries just before another one, or just after it."""

JOURNAL = Kind(
    noun="entry",
    page="journal",
    about="The log that agents keep: observations, crashes, fixes and reflections, linked to each other.",
    nothing="The journal is empty.",
    would_stand="Notes that agents write about their work are listed here.",
    home="journal",
    is_exported=False,
    records=attrgetter("journal"),
    when_pinned="Pinned entries are never pruned.",
    filters=(
        Choices(name="types", label="Type", key="entry_type", is_foremost=True),
        Number(name="since", label="From generation", key="generation", operator="$gte", width=120),
        Number(name="until", label="To generation", key="generation", operator="$lte", width=120),
        Choices(name="tiers", label="Heat", key="tier", order=TIERS),
        Choices(name="tags", label="Tag", key=TAGS),
        Pairs(
            name="meta",
            label="Metadata",
            key="$and",
            offered=shared_pairs,
            reading=pair_filter,
            width=180,
            help_text="Choose one, or type key=value",
        ),
    ),
    orders={
        **BY_TIME,
        "Latest generation first": Order("generation", is_descending=True),
        "Most important first": Order("importance", is_descending=True),
    },
    question="What happened?",
    can_search_words=True,
    tables=Tables(
        listed=(GENERATION, ENTRY_TYPE, CONTENT, IMPORTANCE, TIER, N_LINKS, MARKS, CREATED_AT),
        found=(GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT, WHY, TIER, MARKS),
        beside=(GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT, MARKS),
        similar=(GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT),
    ),
    fields=(
        Field(name="content", label="What it says", height=180),
        NumberField(name="generation", label="Generation", width=130),
        NumberField(name="importance", label="Importance", least=0.0, most=1.0, step=0.05, width=130),
        ChoiceField(name="tier", label="Heat", values=TIERS, width=130),
        Field(name="metadata", label="Metadata, as JSON", height=120),
    ),
)
