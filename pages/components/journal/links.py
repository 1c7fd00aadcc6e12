"""Links between the journal's entries: threads, adding and removing links, and suggested links."""

from __future__ import annotations

from datetime import UTC

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.links import (
    PHRASES,
    DirectLink,
    EntryLinks,
    SuggestedLink,
    ThreadLine,
    candidates,
    entry_links,
    suggested_links,
)
from atlas.views.journal.list import EntryRow
from atlas.views.shared.state import StoreState
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import day_text, shortened
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.forms import act
from pages.components.lists.listing import SEARCHING
from pages.components.lists.record_table import open_experience
from pages.components.shared.snapshot import store_state
from pages.components.shared.texts import draw_prose

LINE_CHARACTERS, CANDIDATE_CHARACTERS = 200, 120
INDENT_PIXELS, MAX_INDENTS = 22, 6

MAX_LINES, THREAD_PIXELS = 8, 480
"""Lines of a thread that are shown in full height, and the height in which a longer one scrolls."""


def draw_thread(links: EntryLinks, *, lacks_fix: bool) -> None:
    """Draw the entries that one is linked with, each indented below the one that it follows from.

    Args:
        lacks_fix: Whether it is a crash without a fix.
    """
    if links.thread:
        _draw_lines(links)
    if lacks_fix:
        st.caption("No fix is linked with it yet. **Links** can add one.")


def _draw_lines(links: EntryLinks) -> None:
    st.caption("What led to it, and what followed")
    with st.container(height=THREAD_PIXELS if len(links.thread) > MAX_LINES else "content", border=False, gap="xsmall"):
        for number, line in enumerate(links.thread):
            _draw_line(line, number)
        if links.n_hidden:
            st.caption(f"and {links.n_hidden:,} more that are linked with it")


def draw_links(memory: MemorySystem, entry_id: str) -> None:
    """Draw the boxes that remove and add links of an entry."""
    links = entry_links(memory, entry_id)
    if not links.direct:
        st.caption("It has no links to other entries.")
    if links.direct:
        with st.expander("Remove a link", icon=":material/link_off:", key="entry_unlinking"):
            for number, link in enumerate(links.direct):
                _draw_direct(memory, link, number)
    with st.expander("Link it with another entry", icon=":material/add_link:", key="entry_linking"):
        _draw_linking(memory, entry_id)


def draw_suggestions(memory: MemorySystem) -> None:
    """Draw suggested links, each with both texts, the most similar first."""
    suggested = page_suggestions(memory)
    st.caption(
        "A reflection that follows a crash may say how the crash was fixed. Accepting a suggestion links the two. "
        "A refused suggestion does not come back. The most similar texts stand first."
    )
    if not suggested:
        st.info("There are no links to suggest: no crash without a fix has a later reflection on the same problem.",
                icon=":material/check:")  # fmt: skip
        return
    for number, suggestion in enumerate(suggested):
        _draw_suggestion(memory, suggestion, number)


def page_suggestions(memory: MemorySystem) -> tuple[SuggestedLink, ...]:
    """Return suggested links, the most similar entries first, kept until the store changes."""
    return _suggested(store_state(memory), _memory=memory)


def _draw_line(line: ThreadLine, number: int) -> None:
    with st.container(horizontal=True, gap=None):
        if line.depth:
            st.space(INDENT_PIXELS * min(line.depth, MAX_INDENTS))
        with st.container(gap=None, key=f"entry_line_{'open' if line.is_open else ''}{number}"):
            with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
                if line.words:
                    st.caption("↳", width="content")
                if line.colour:
                    st.badge(line.row.entry_type, color=line.colour)  # type: ignore[arg-type]
                else:
                    st.text(line.row.entry_type, width="content")
                written = day_text(line.row.created_at.astimezone(UTC)) if line.row.created_at else ""
                st.caption(
                    " · ".join(filter(None, [line.words, written, f"round {line.row.generation:,}"])), width="content"
                )
                if line.is_open:
                    st.badge("this entry", icon=":material/arrow_back:")
                elif not line.is_repeated:
                    st.button("Open", key=f"entry_thread_{number}", type="tertiary", icon=":material/open_in_new:",
                              on_click=open_experience, args=(line.row.id,))  # fmt: skip
            if line.is_repeated:
                st.caption("It stands further above, with what followed from it.")
            elif not line.is_open:  # its text stands above the thread
                st.text(shortened(line.row.content, LINE_CHARACTERS))


def _draw_direct(memory: MemorySystem, link: DirectLink, number: int) -> None:
    disabled = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Unlink", key=f"entry_unlink_{number}", icon=":material/link_off:", disabled=disabled,
                  on_click=_unlink, args=(memory, link), help=READ_ONLY if disabled else "It can be undone.",
                  )  # fmt: skip
        st.caption(link.words)
        st.text(f"round {link.other.generation:,}: {shortened(link.other.content, CANDIDATE_CHARACTERS)}")


def _draw_linking(memory: MemorySystem, entry_id: str) -> None:
    phrase = st.selectbox("This entry is", list(PHRASES), key="entry_link_phrase", width=200) or next(iter(PHRASES))
    text = st.text_input("Which entry", key=f"entry_link_text_{entry_id}", type="search",
                         placeholder="What it says, or its id")  # fmt: skip
    if not text or not text.strip():
        return
    with st.spinner(SEARCHING):
        found = candidates(memory, entry_id, text)
    if not found:
        st.caption("Nothing found.")
    for number, row in enumerate(found):
        _draw_candidate(memory, entry_id, phrase, row, number)


def _draw_candidate(memory: MemorySystem, entry_id: str, phrase: str, row: EntryRow, number: int) -> None:
    disabled = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Link", key=f"entry_link_{number}", icon=":material/add_link:", disabled=disabled, on_click=_link,
                  args=(memory, entry_id, phrase, row.id),
                  help=READ_ONLY if disabled else "It can be undone.")  # fmt: skip
        st.text(f"round {row.generation:,}, {row.entry_type}: {shortened(row.content, CANDIDATE_CHARACTERS)}")


def _draw_suggestion(memory: MemorySystem, suggestion: SuggestedLink, number: int) -> None:
    disabled = memory.storage.read_only
    help_text = READ_ONLY if memory.storage.read_only else "It can be undone."
    with st.container(border=True):
        crash, fix = st.columns(2)
        _draw_end(crash, suggestion.source, suggestion.source_text, f"journal_crash_{number}")
        _draw_end(fix, suggestion.target, suggestion.target_text, f"journal_fix_{number}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Accept", key=f"journal_accept_{number}", icon=":material/add_link:", disabled=disabled,
                      on_click=_accept, args=(memory, suggestion), help=help_text)  # fmt: skip
            st.button("Refuse", key=f"journal_refuse_{number}", icon=":material/close:", disabled=disabled,
                      on_click=_refuse, args=(memory, suggestion), help=help_text)  # fmt: skip
            st.caption(suggestion.reason)


def _draw_end(column: st.delta_generator.DeltaGenerator, row: EntryRow, text: Text, key: str) -> None:
    with column:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link("pages/journal.py", label="Open", icon=":material/open_in_new:", query_params={"id": row.id})
            st.text(f"{row.entry_type}, round {row.generation:,}")
        draw_prose(text, key=key)


def _link(memory: MemorySystem, entry_id: str, phrase: str, other_id: str) -> None:
    link_type, is_reverse = PHRASES[phrase]
    source, target = (other_id, entry_id) if is_reverse else (entry_id, other_id)
    scoped = memory.journal.as_operation("link")
    act(lambda: scoped.link(source, target, link_type), scoped, "Linked 2 entries")


def _unlink(memory: MemorySystem, link: DirectLink) -> None:
    scoped = memory.journal.as_operation("unlink")
    act(lambda: scoped.unlink(link.source_id, link.target_id, link.type), scoped, "Removed 1 link")


def _accept(memory: MemorySystem, suggestion: SuggestedLink) -> None:
    scoped = memory.journal.as_operation("link", "accepted a suggestion")
    act(lambda: scoped.accept_link(suggestion.suggestion), scoped, "Linked a crash to what fixed it")


def _refuse(memory: MemorySystem, suggestion: SuggestedLink) -> None:
    def refuse() -> bool:
        scoped.refuse_link(suggestion.suggestion)
        return True

    scoped = memory.journal.as_operation("refuse a link")
    act(refuse, scoped, "Refused 1 suggested link")


@st.cache_data(max_entries=4, show_spinner=False)
def _suggested(state: StoreState, *, _memory: MemorySystem) -> tuple[SuggestedLink, ...]:
    return suggested_links(_memory)
