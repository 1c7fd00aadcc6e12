"""Forgetting: how large each tier is, what would move and be summarised, and doing it; nothing is ever deleted."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal_proposals import CompactRequest, tier_sizes
from pages.components.editing import READ_ONLY
from pages.components.plans import propose

MEANINGS = {
    "hot": "goes into prompts",
    "warm": "goes into prompts, worth less",
    "cold": "found by searches only",
    "archived": "found only when asked for",
}


def draw_forgetting(memory: MemorySystem) -> None:
    """The tiers, and what is to be kept when the journal is compacted."""
    sizes = tier_sizes(memory)
    for column, (tier, n) in zip(st.columns(len(sizes)), sizes.items(), strict=True):
        column.metric(tier.capitalize(), f"{n:,}", MEANINGS[tier], delta_color="off", delta_arrow="off", border=True)
    st.subheader("Compact", anchor=False)
    st.text(
        "An entry is worth its importance × recency × use × links; what is worth little moves to a farther tier. Old "
        "entries of one type and period are summarised, and the summary names them. Pinned entries and directives stay."
    )
    is_off = memory.storage.read_only
    keep_recent = st.number_input("Keep the latest entries, whatever they are worth", 0, None, 200, 50,
                                  key="journal_keep_recent", disabled=is_off, width=340)  # fmt: skip
    keep_types = _ask_types(memory)
    request = CompactRequest(keep_recent=int(keep_recent), keep_types=keep_types)
    st.button("Preview …", key="journal_compact", type="primary", icon=":material/inventory_2:", disabled=is_off,
              on_click=_preview, args=(memory, request),
              help=READ_ONLY if is_off else "You see first who would move where, and what would be written.",
              )  # fmt: skip


def _ask_types(memory: MemorySystem) -> dict[str, int]:
    """Of which types so many of the latest stay as well."""
    held = list(memory.journal.values("entry_type"))
    chosen = st.multiselect("Of these types keep the latest as well", held, key="journal_keep_types",
                            placeholder="None", width=500, disabled=memory.storage.read_only)  # fmt: skip
    kept = {}
    with st.container(horizontal=True):
        for name in chosen:
            number = held.index(name)
            with st.container(width=160, gap=None):
                st.text(name)
                kept[name] = int(st.number_input("How many", 0, None, 50, 10, key=f"journal_keep_{number}"))
    return kept


def _preview(memory: MemorySystem, request: CompactRequest) -> None:
    with st.spinner("Weighing every entry, and drafting the summaries; of many this takes a minute …", show_time=True):
        propose(memory, request)
