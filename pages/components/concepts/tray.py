"""The tray of concepts: merging, composing and deleting them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.proposals import ConceptDeleteRequest, ConceptMergeRequest
from atlas.views.lists.selection import Chosen, chosen_used
from atlas.views.shared.kinds import CONCEPT
from atlas.views.shared.state import uses_seen
from pages.components.concepts.composition import compose, draw_composition
from pages.components.shared.plans import draw_deleting, draw_merging
from pages.components.shared.tray import Tray


def _draw_acts(memory: MemorySystem, now: Chosen) -> None:
    draw_merging(memory, ConceptMergeRequest(ids=now.ids), now.ids,
                 "Merges them into the most used one. You see a preview first.")  # fmt: skip
    st.button("Compose …", key="tray_compose", icon=":material/account_tree:", disabled=len(now.ids) < 2,
              on_click=compose, args=(memory, now.ids),
              help="Makes one function of them if each result fits the next input. You see a preview first.",
              )  # fmt: skip
    draw_deleting(memory, ConceptDeleteRequest(ids=now.ids), key="tray_delete", is_possible=bool(now.ids),
                  help_text="You first see which concepts depend on them.")  # fmt: skip


TRAY = Tray(
    kind=CONCEPT,
    chosen=partial(chosen_used, kind=CONCEPT),
    draw_acts=_draw_acts,
    draw_dialog=draw_composition,
    state=partial(uses_seen, kind=CONCEPT),
)
