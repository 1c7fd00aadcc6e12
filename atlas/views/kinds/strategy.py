"""Strategies: their filters, orders, columns and editable fields."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, cast

from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.views.kinds.columns import LAST_USED, RECORD, RELEVANCE, Column, Tables
from atlas.views.kinds.fields import Field
from atlas.views.kinds.filters import TAGS, Choices, OneOf
from atlas.views.kinds.kind import BY_TIME, SUREST_FIRST, Kind, Order
from atlas.views.kinds.uses import EVERY, USE_STATES, in_use_state

HIGHEST, MOST_TRIED_FIRST = "Highest rate first", "Most used first"
"""Orders by uses. The most reliable has the highest lower end of the 95% interval."""

READ, RETIRED = "Read by agents", "Retired"
STATES = (EVERY, READ, RETIRED, *USE_STATES[1:])

HEADING = Column("heading", "Strategy", 300, "heading")

TITLE = Column("title", "Strategy", 300)
SUCCEEDED = Column(
    "succeeded",
    "Succeeded",
    90,
    help_text="Uses that succeeded. A use is an attempt that an agent made with the strategy",
)


def _in_state(bank: ChromaStrategyBank, state: str) -> Any:
    """Return a filter on the ids of retired strategies, of active ones, or of those whose uses went in one way."""
    if state in USE_STATES:
        return in_use_state(bank, state, bank.retired())
    retired = bank.retired()
    return {"$in": [strategy_id for strategy_id in bank.ids() if (strategy_id in retired) == (state == RETIRED)]}


STRATEGY = Kind(
    noun="strategy",
    page="strategies",
    about="What to do in which situation, and how often it worked.",
    nothing="There are no strategies yet.",
    contents="Strategies are written from successful attempts, which you can import.",
    home="bank",
    records=attrgetter("strategies"),
    when_pinned="Outcomes alone never retire pinned strategies.",
    left_out=lambda memory: memory.strategies.retired(),
    unretire=lambda strategies, ids: cast(ChromaStrategyBank, strategies).unretire(ids),
    shows_uses=True,
    filters=(
        OneOf(name="state", label="Show", key="id", values=STATES, chosen=_in_state, is_foremost=True, width=240),
        Choices(name="written_by", label="Written by", key="derived_by", width=130),
        Choices(name="domain", label="Domain", key="domain", width=130),
        Choices(name="tag", label="Tag", key=TAGS, width=130),
    ),
    orders={
        **SUREST_FIRST,
        HIGHEST: Order("created_at", True, worth=lambda n_succeeded, n: (n_succeeded / n, n)),
        MOST_TRIED_FIRST: Order("created_at", True, worth=lambda n_succeeded, n: (n, n_succeeded)),
        **BY_TIME,
        "Title, A to Z": Order("title"),
    },
    question="What is the task?",
    similar_caption="The nearest situations; click one to open it.",
    tables=Tables(
        listed=(HEADING, RECORD, LAST_USED),
        found=(HEADING, RECORD, LAST_USED),
        beside=(HEADING, RECORD),
        similar=(TITLE, RELEVANCE, SUCCEEDED),
    ),
    fields=(
        Field(name="title", label="Title. If it is empty, the first line of the situation is used"),
        Field(name="situation", label="When to apply it", height=100),
        Field(name="suggestion", label="What to do", height=200),
        Field(name="parameters", label="Parameters, one per line: name (type): what it is", height=90),
        Field(name="rationale", label="Why it should work", height=80),
    ),
)
