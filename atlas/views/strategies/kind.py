"""The views of strategies."""

from __future__ import annotations

from functools import partial

from atlas.core.types import Strategy
from atlas.memory.strategies.memory import EDITABLE
from atlas.memory.system import MemorySystem
from atlas.views.kinds.strategy import STRATEGY
from atlas.views.lists.findings import count_with_uses
from atlas.views.lists.hits import CardText
from atlas.views.lists.kind_views import KindViews, deleting, merging
from atlas.views.shared.removals import DeleteRequest, MergeRequest
from atlas.views.strategies.list import strategy_rows, tried_line
from atlas.views.strategies.proposals import delete_view, merge_view
from atlas.views.strategies.strategy import EditableStrategy, strategy_detail


def _card(memory: MemorySystem, strategy: Strategy, text: str) -> CardText:
    rate = memory.strategies.rates([strategy.id]).get(strategy.id)
    return CardText(
        title=strategy.title,
        outcome=tried_line(rate) if rate else "",
        sources={"When": strategy.situation, "Do": strategy.suggestion, "Because": strategy.rationale},
        parameters=tuple(parameter["name"] for parameter in strategy.parameters),
        lead="Do",
    )


STRATEGIES = KindViews(
    kind=STRATEGY,
    rows=strategy_rows,
    count=lambda memory, query: count_with_uses(memory, STRATEGY, query),
    card=_card,
    detail=strategy_detail,
    editable=EditableStrategy.of,
    versioned=[*EDITABLE],
    acts=(
        merging(
            partial(MergeRequest, STRATEGY, merge_view), "Merges them into the most used one. You see a preview first."
        ),
        deleting(partial(DeleteRequest, STRATEGY, delete_view), "You first see what would be deleted."),
    ),
)
