"""Conversations: their list, their turns, and the turns that an agent is reminded of now."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.conversations import MORE, TurnView, conversation_view, found_turns
from pages.components.lists.empty import draw_empty
from pages.components.lists.listing import SEARCHING
from pages.components.shared.texts import draw_prose

ALL = "All conversations"


def draw_conversations(memory: MemorySystem) -> None:
    """Draw one conversation, or the hits of a query in all of them."""
    names = memory.conversations.names()
    if not names:
        draw_empty(memory, "Conversations of people with agents stand here.", title="There are no conversations yet.")
        st.caption("An agent keeps a turn with memory.conversations.add(user_text, response, conversation=…).")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Conversation", list(names), key="journal_conversation", width=300,
                              format_func=lambda name: f"{name[:60]} ({names[name]:,})")  # fmt: skip
        text = st.text_input("Search", key="journal_said", type="search", placeholder="What was said?", width=260)
        is_everywhere = st.toggle("In all conversations", key="journal_everywhere", disabled=len(names) == 1)
    if text and text.strip():
        _draw_found(memory, text, None if is_everywhere else chosen)
    else:
        _draw_turns(memory, chosen)


def _draw_found(memory: MemorySystem, text: str, name: str | None) -> None:
    with st.spinner(SEARCHING):
        found = found_turns(memory, text, name)
    st.caption(f"{len(found):,} relevant, best first" if found else "No relevant turn was found.")
    for turn in found:
        _draw_turn(turn, with_name=name is None)


def _draw_turns(memory: MemorySystem, name: str) -> None:
    key = f"journal_turns_{name}"
    conversation = conversation_view(memory, name, st.session_state.get(key, MORE))
    st.caption(conversation.window)
    if conversation.n_earlier:
        st.button(f"Show earlier turns ({conversation.n_earlier:,})", key="journal_earlier",
                  icon=":material/expand_less:", on_click=_show_more, args=(key,))  # fmt: skip
    for turn in conversation.turns:
        _draw_turn(turn)


def _draw_turn(turn: TurnView, *, with_name: bool = False) -> None:
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(turn.time)
            if turn.is_live:
                st.badge("reminded of now", icon=":material/visibility:", color="green")
            if with_name:
                st.text(turn.conversation)
        for speaker, text in (("person", turn.user_text), ("agent", turn.response)):
            if text is not None:
                st.caption(speaker)
                draw_prose(text, key=f"journal_turn_{turn.id}_{speaker}")
        if turn.reason:
            st.caption(turn.reason)


def _show_more(key: str) -> None:
    st.session_state[key] = st.session_state.get(key, MORE) + MORE
