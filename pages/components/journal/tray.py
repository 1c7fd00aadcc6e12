"""The tray of journal entries: deleting them."""

from __future__ import annotations

from functools import partial

from atlas import MemorySystem
from atlas.views.journal.proposals import EntryDeleteRequest
from atlas.views.lists.selection import Chosen, chosen_used
from atlas.views.shared.kinds import JOURNAL
from atlas.views.shared.state import uses_seen
from pages.components.shared.plans import draw_deleting
from pages.components.shared.tray import Tray


def _draw_acts(memory: MemorySystem, now: Chosen) -> None:
    draw_deleting(memory, EntryDeleteRequest(ids=now.ids), key="tray_delete", is_possible=bool(now.ids),
                  help_text="You first see what links to them.")  # fmt: skip


TRAY = Tray(
    kind=JOURNAL,
    chosen=partial(chosen_used, kind=JOURNAL),
    draw_acts=_draw_acts,
    state=partial(uses_seen, kind=JOURNAL),
)
