"""Experiences: their filters, orders, columns and editable fields."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from atlas.core.types import OUTCOMES
from atlas.views.kinds.columns import CREATED_AT, RELEVANCE, Column, Tables
from atlas.views.kinds.fields import ChoiceField, Field
from atlas.views.kinds.filters import TAGS, Choices, Day, Number, Pairs, Switch
from atlas.views.kinds.kind import BY_TIME, Kind, Order
from atlas.views.kinds.metadata import scope_pair_filter, scope_pairs

OUTCOME = Column(
    "outcomes",
    "Outcome",
    104,
    "outcomes",
    help_text="How it ended. Below it, how the other listed attempts at the task ended, newest last; many are counted",
)
TASK = Column("task", "Task", 460, "task", order_key="title")
AGENT = Column(
    "agents", "Agent", 68, is_optional=True, empty="–",
    help_text="Who made the attempt. +1 is one other agent at the same task",
)  # fmt: skip
DOMAIN = Column(
    "domain", "Domain", 112, is_optional=True, least_share=1 / 3, empty="in no domain",
    help_text="In mixed rows, attempts at the same task are in different ones",
)  # fmt: skip
DAY = replace(CREATED_AT, form="day", width=88)
STEPS = Column("n_steps", "Steps", 40, "number", order_key="n_steps")
MEMORY = Column(
    "memory", "Memory", 68, is_optional=True,
    help_text="Whether the attempt was given records of this memory or used some, and in how many attempts at the task",
)  # fmt: skip
TOOK = Column("took", "Took", 52, is_optional=True)
ENDING = Column(
    "ending", "Result", 330, is_optional=True, empty="–",
    help_text="The feedback on it, its error, its answer or its last output: of the attempt that opens with the row",
)  # fmt: skip

ATTEMPT = "attempt"
"""Noun for an experience where its task is named too."""

QUEUED = (OUTCOME, TASK, ENDING, DOMAIN, CREATED_AT)
"""On Curate."""

EXPERIENCE = Kind(
    noun="experience",
    page="experiences",
    about="Attempts at tasks: what the agent did, and what came of it.",
    question="What was the task?",
    contents="Every attempt of your agents is listed here, with its steps and its outcome.",
    records=attrgetter("experience"),
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
        Pairs(
            name="namespaces",
            label="User, project or session",
            key="$and",
            offered=scope_pairs,
            reading=scope_pair_filter,
            needs_options=True,
            help_text="Choose one, or type name=value, such as project=shop",
        ),
        Day(name="since", label="From", key="created_at", noun="date"),
        Day(name="until", label="Until", key="created_at", noun="date", is_last=True),
        Number(name="steps", label="More steps than", key="n_steps", noun="step count", operator="$gt", least=0),
        Switch(name="pinned", label="Pinned only", key="marks.pinned"),
    ),
    tables=Tables(
        listed=(OUTCOME, TASK, ENDING, DAY, MEMORY, STEPS, TOOK, AGENT, DOMAIN),
        found=(OUTCOME, RELEVANCE, TASK, ENDING),
        beside=(OUTCOME, DAY, RELEVANCE, TASK),
        similar=(OUTCOME, RELEVANCE, TASK),
    ),
    fields=(
        Field(name="task", label="Task", height=140),
        ChoiceField(name="outcome", label="Outcome", values=OUTCOMES),
        Field(name="feedback", label="Feedback", height=140),
    ),
)
