"""The kinds of memories that a page can be about: one value each, which all that draws them reads."""

from __future__ import annotations

from typing import Any

from atlas.core.journal_codec import TIERS
from atlas.memory.base.success_rates import lower_bound
from atlas.memory.journal import REFUSED_COLLECTION
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystem
from atlas.views.kinds.filters import TAGS, Choices, Day, Number, OneOf, Pairs, Switch
from atlas.views.kinds.kind import BY_TIME, Order
from atlas.views.kinds.kind import Kind as Kind
from atlas.views.kinds.metadata import pair_filter, shared_pairs
from atlas.views.shared.wording import OUTCOMES

MOST_USED = "Most used first"
SUREST, HIGHEST, MOST_TRIED = "Most reliable first", "Highest rate first", "Most tries first"
"""Orders by uses. The most reliable has the highest lower end of the 95 % interval."""

ALL, READ, RETIRED = "All", "Read by agents", "Retired"
STATES = (ALL, READ, RETIRED)


def _in_state(bank: ChromaStrategyBank, state: str) -> Any:
    """Return the condition on the ids of strategies that are retired, or of those that are not."""
    retired = bank.retired()
    return {"$in": [one for one in bank.ids() if (one in retired) == (state == RETIRED)]}


EXPERIENCE = Kind(
    noun="experience",
    page="experiences",
    records=lambda memory: memory.experience,
    when_pinned="Pinned experiences are never pruned.",
    orders={
        **BY_TIME,
        "Most steps first": Order("n_steps", is_descending=True),
        "Fewest steps first": Order("n_steps"),
        "Task, A to Z": Order("title"),
        "Source, A to Z": Order("source"),
    },
    is_scoped=True,
    can_search_words=True,
    filters=(
        Choices(name="outcomes", label="Outcome", key="outcome", noun="outcome", values=OUTCOMES, is_foremost=True),
        Choices(name="tags", label="Tag", key=TAGS, noun="tag"),
        Choices(name="sources", label="Source", key="source", noun="source"),
        Choices(name="agents", label="Agent", key="agent_id", noun="agent"),
        Day(name="since", label="From", key="created_at", noun="date"),
        Day(name="until", label="Until", key="created_at", noun="date", is_last=True),
        Number(name="steps", label="More steps than", key="n_steps", noun="step count", operator="$gt", least=0),
        Switch(name="pinned", label="Pinned only", key="marks.pinned"),
    ),
)
CONCEPT = Kind(
    noun="concept",
    page="concepts",
    records=lambda memory: memory.concepts,
    when_pinned="Pinned concepts are never pruned.",
    filters=(
        Choices(name="source", label="Source", key="source"),
        Choices(name="language", label="Language", key="language"),
        Choices(name="tag", label="Tag", key=TAGS),
    ),
    orders={
        **BY_TIME,
        "Name, A to Z": Order("title"),
        MOST_USED: Order("created_at", worth=lambda n_succeeded, n: (n,)),
    },
    question="What should it do?",
)
STRATEGY = Kind(
    noun="strategy",
    page="strategies",
    records=lambda memory: memory.strategies,
    when_pinned="Outcomes alone never retire pinned strategies.",
    filters=(
        OneOf(name="state", label="Show", key="id", values=STATES, chosen=_in_state, width=130),
        Choices(name="written_by", label="Written by", key="derived_by", width=130),
        Choices(name="domain", label="Domain", key="domain", width=130),
        Choices(name="tag", label="Tag", key=TAGS, width=130),
    ),
    orders={
        SUREST: Order("created_at", True, worth=lambda n_succeeded, n: (lower_bound(n_succeeded, n),)),
        HIGHEST: Order("created_at", True, worth=lambda n_succeeded, n: (n_succeeded / n, n)),
        MOST_TRIED: Order("created_at", True, worth=lambda n_succeeded, n: (n, n_succeeded)),
        **BY_TIME,
        "Title, A to Z": Order("title"),
    },
    order_help="Most reliable first sorts by the lower end of the 95 % interval. "
    "Strategies that were not tried come last",
    question="What is the task?",
)
JOURNAL = Kind(
    noun="entry",
    page="journal",
    records=lambda memory: memory.journal,
    when_pinned="Pinned entries are never pruned.",
    filters=(
        Choices(name="types", label="Type", key="entry_type"),
        Number(name="since", label="From generation", key="generation", operator="$gte", width=120),
        Number(name="until", label="To generation", key="generation", operator="$lte", width=120),
        Choices(name="tiers", label="Tier", key="tier", order=TIERS),
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
)
KINDS = (EXPERIENCE, CONCEPT, STRATEGY, JOURNAL)
"""The kinds that have a page."""


def kind_of(memory: MemorySystem, collection: str) -> Kind:
    """Return the kind that keeps its records in a collection, or experiences if no page knows it."""
    if collection == REFUSED_COLLECTION:
        return JOURNAL
    return next((kind for kind in KINDS if kind.records(memory).collection_name == collection), EXPERIENCE)


def kind_on(page: str) -> Kind:
    """Return the kind that a page is about, or experiences if it is about none alone."""
    return next((kind for kind in KINDS if kind.page == page), EXPERIENCE)
