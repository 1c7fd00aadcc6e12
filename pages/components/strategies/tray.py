"""The tray of strategies: retiring, merging and deleting them."""

from __future__ import annotations

from functools import partial

from atlas import MemorySystem
from atlas.views.lists.selection import Chosen, chosen_used
from atlas.views.shared.kinds import STRATEGY
from atlas.views.shared.state import uses_seen
from atlas.views.strategies.proposals import StrategyDeleteRequest, StrategyMergeRequest
from pages.components.shared.plans import draw_deleting, draw_merging
from pages.components.shared.tray import Tray
from pages.components.strategies.retirement import draw_retire, is_all_retired


def _draw_acts(memory: MemorySystem, now: Chosen) -> None:
    draw_retire(memory, now.ids, key="tray_retire", is_retired=is_all_retired(memory, now.ids))
    draw_merging(memory, StrategyMergeRequest(ids=now.ids), now.ids,
                 "Merges them into the most tried one. You see a preview first.")  # fmt: skip
    draw_deleting(memory, StrategyDeleteRequest(ids=now.ids), key="tray_delete", is_possible=bool(now.ids),
                  help_text="You first see what would be removed.")  # fmt: skip


TRAY = Tray(
    kind=STRATEGY,
    chosen=partial(chosen_used, kind=STRATEGY),
    draw_acts=_draw_acts,
    can_bury=False,  # strategies are retired instead
    state=partial(uses_seen, kind=STRATEGY),
)
