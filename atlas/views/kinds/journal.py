"""Entries of the journal: their filters, orders, columns and editable fields."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

from atlas.core.journal_codec import TIERS
from atlas.memory.journal.links import CRASH
from atlas.memory.journal.memory import Journal
from atlas.views.kinds.columns import RELEVANCE, Column, Tables
from atlas.views.kinds.fields import ChoiceField, Field, NumberField
from atlas.views.kinds.filters import TAGS, Choices, Day, Number, OneOf, Pairs
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.kinds.kind import BY_TIME, Kind, Order
from atlas.views.kinds.metadata import pair_filter, shared_pairs

STATE = (
    "Active entries go into prompts, fading ones with less weight. Searches find the others too, archived ones if asked"
)

ENTRY_TYPE = Column("entry_type", "Type", 100, "badge")
CONTENT = Column("content", "Entry", 430)
CONTENT_BESIDE = replace(CONTENT, width=340)
WRITER = Column("writer", "Written by", 88, is_optional=True)
DAY = Column("created_at", "Day (UTC)", 92, "day", order_key="created_at")

NOT_FIXED, FIXED = "Crashes without a fix", "Crashes with a fix"
FIXES = ("All", NOT_FIXED, FIXED)
HAS_FIX = {"fixed_by": {"$gte": ""}}
"""Filter of the crashes with a fix."""

AROUND = (DAY, ENTRY_TYPE, CONTENT_BESIDE)
"""Fields shown for the entries just before and after an entry."""


def fix_condition(journal: Journal, state: str) -> Any:
    """Return a filter on the ids of crashes: those with a fix for the state `FIXED`, and otherwise those without."""
    fixed = journal.ids({"entry_type": CRASH, **HAS_FIX})
    if state == FIXED:
        return {"$in": fixed}
    with_fix = {*fixed}
    return {"$in": [crash_id for crash_id in journal.ids({"entry_type": CRASH}) if crash_id not in with_fix]}


JOURNAL = Kind(
    noun="entry",
    page="journal",
    about="The log that agents keep of their work: what they did, what crashed, and what fixed it.",
    nothing="The journal is empty.",
    contents="Notes that agents write about their work are listed here.",
    home="journal",
    is_exported=False,
    records=attrgetter("journal"),
    when_pinned="Pinned entries are never pruned.",
    filters=(
        Choices(name="types", label="Type", key="entry_type", is_foremost=True, word=type_word),
        OneOf(name="fixes", label="Show", key="id", values=FIXES, chosen=fix_condition, is_foremost=True, width=245),
        Day(name="first_day", label="From day", key="created_at", width=130),
        Day(name="last_day", label="Until day", key="created_at", is_last=True, width=130),
        Number(name="since", label="From round", key="generation", operator="$gte", width=120),
        Number(name="until", label="To round", key="generation", operator="$lte", width=120),
        Choices(name="tiers", label="State", key="tier", order=TIERS, word=state_word, help_text=STATE),
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
        "Latest round first": Order("generation", is_descending=True),
        "Most important first": Order("importance", is_descending=True),
    },
    question="What happened?",
    can_search_words=True,
    tables=Tables(
        listed=(DAY, ENTRY_TYPE, CONTENT, WRITER),
        found=(DAY, ENTRY_TYPE, RELEVANCE, CONTENT, WRITER),
        beside=(DAY, ENTRY_TYPE, RELEVANCE, CONTENT_BESIDE),
        similar=(DAY, ENTRY_TYPE, RELEVANCE, CONTENT_BESIDE),
    ),
    fields=(
        Field(name="content", label="What it says", height=180),
        NumberField(name="generation", label="Round", width=130),
        NumberField(name="importance", label="Importance", least=0.0, most=1.0, step=0.05, width=130),
        ChoiceField(name="tier", label="State", values=TIERS, word=state_word, width=130),
        Field(name="metadata", label="Metadata, as JSON", height=120),
    ),
)
