"""Forgetting: the size of each tier, and a plan that moves, summarises and deletes entries to reach a cap."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem, Settings
from atlas.views.journal.forgetting import (
    KEEP_RECENT,
    CompactPlan,
    LiveCompaction,
    RetentionPolicy,
    made_caption,
    matches_policy,
    why_outdated,
    writers,
)
from atlas.views.journal.proposals import CompactRequest, compact_headline, tier_sizes
from atlas.views.kinds.journal_words import state_word, type_word
from atlas.views.shared.state import StoreState
from pages.components.journal.summaries import draw_kept, draw_summaries
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.jobs import ask_model, draw_job, live_result
from pages.components.shared.plans import propose
from pages.components.shared.snapshot import store_state

MEANINGS = {
    "hot": "in prompts",
    "warm": "in prompts, with less weight",
    "cold": "found, but not in prompts",
    "archived": "found only when asked for",
}

MAXIMUM = (
    "Entries beyond it are deleted, those of least worth first. Tasks, summaries, and entries that are tagged, "
    "noted or linked to go last. The latest, pinned entries and directives never go."
)


def draw_forgetting(memory: MemorySystem) -> None:
    """Draw the tiers, the settings of a compaction, and the latest plan."""
    sizes = tier_sizes(memory)
    if not any(sizes.values()):
        st.info("There are no entries to archive.", icon=":material/check:")
        return
    for column, (tier, n) in zip(st.columns(len(sizes)), sizes.items(), strict=True):
        column.metric(
            state_word(tier).capitalize(), f"{n:,}", MEANINGS[tier], delta_color="off", delta_arrow="off", border=True
        )
    st.text(
        "This keeps prompts short. Entries of little worth move on to the next state, and summaries take their place. "
        "Nothing is deleted unless you set a maximum. You see a preview first, and can undo it."
    )
    st.caption(
        "Worth is importance × recency × use × links. A summary is of old entries of one type and period, and names "
        "them. Pinned entries, directives and tasks stay."
    )
    policy = _ask_policy(memory)
    if not draw_job(memory, LiveCompaction, "Planning", key="journal"):
        _draw_run(memory, policy)
    plan = live_result(memory, LiveCompaction).current()
    if plan is not None:
        _draw_plan(memory, plan, matches_policy(plan, policy))


def _ask_policy(memory: MemorySystem) -> RetentionPolicy:
    """Draw the settings of protected entries and of the cap, and return them."""
    types = list(memory.journal.values("entry_type"))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        keep_recent = st.number_input("Keep the latest entries, whatever their worth", 0, None, KEEP_RECENT, 50,
                                      key="journal_keep_recent", width=300)  # fmt: skip
        chosen = st.multiselect("Of these types keep the latest as well", types, format_func=type_word,
                                key="journal_keep_types", placeholder="None", width=300)  # fmt: skip
        max_entries = st.number_input("Maximum number of entries", 1, None, None, 100, key="journal_max_entries",
                                      width=300, placeholder="No maximum", help=MAXIMUM)  # fmt: skip
    return RetentionPolicy(
        keep_recent=int(keep_recent),
        keep_types=_ask_numbers(types, chosen),
        max_entries=None if max_entries is None else int(max_entries),
    )


def _ask_numbers(types: list[str], chosen: list[str]) -> dict[str, int]:
    """Draw a box for each chosen type, and return the numbers of its latest entries that are protected."""
    keep_types = {}
    with st.container(horizontal=True):
        for name in chosen:
            number = types.index(name)
            with st.container(width=160, gap=None):
                st.text(type_word(name))
                keep_types[name] = int(st.number_input("How many", 0, None, 50, 10, key=f"journal_keep_{number}"))
    return keep_types


def _draw_run(memory: MemorySystem, policy: RetentionPolicy) -> None:
    live, settings = live_result(memory, LiveCompaction), Settings.from_environment()
    is_first = live.current() is None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with_model = ask_model(
            "Summaries are written by",
            writers(settings),
            key="journal_writer",
            help="The model is shown the entries that would be summarised, "
            f"and may use {settings.llm_budget_tokens:,} tokens for a plan.",
        )
        st.button(
            "Plan" if is_first else "Plan again",
            key="journal_compact",
            icon=":material/inventory_2:",
            type="primary" if is_first else "secondary",
            on_click=live.submit,
            args=(policy,),
            kwargs={"with_model": with_model},
            help="Runs in the background. Nothing is changed until you apply the plan.",
        )


def _draw_plan(memory: MemorySystem, plan: CompactPlan, is_asked: bool) -> None:
    """Draw the plan's effect in one line, whether it is still valid, and the button that shows it in full."""
    st.markdown(f"**{compact_headline(plan)}**")
    st.text(made_caption(plan))
    if plan.cap_problem:
        st.warning(plan.cap_problem, icon=":material/vertical_align_top:")
    if plan.is_empty:
        draw_kept(plan)
        return
    outdated = _why_outdated(store_state(memory), plan.made_at, _memory=memory, _plan=plan)
    if outdated:
        st.warning(outdated, icon=":material/history:")
    elif not is_asked:
        st.warning(
            "The settings have been changed since this was planned. Plan again to use them.", icon=":material/history:"
        )
    disabled = memory.storage.read_only
    tooltip = "Which entries would go or move and why, with every summary. It can be undone."
    st.button("Preview …", key="journal_preview", type="primary", icon=":material/visibility:",
              disabled=bool(outdated), on_click=propose, args=(memory, CompactRequest(plan=plan)),
              kwargs={"draw_extra": draw_summaries, "is_repeatable": False},
              help=READ_ONLY if disabled else tooltip)  # fmt: skip


@st.cache_data(max_entries=16, show_spinner=False)
def _why_outdated(state: StoreState, made_at: str, *, _memory: MemorySystem, _plan: CompactPlan) -> str:
    return why_outdated(_memory, _plan)
