"""One entry of the journal in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal import similar_entries
from atlas.views.journal_entry import EntryDetail, entry_detail
from atlas.views.journal_promoting import PromoteRequest
from atlas.views.journal_proposals import EntryDeleteRequest
from atlas.views.kinds import JOURNAL
from pages.components.edit_forms import draw_form
from pages.components.editing import READ_ONLY, draw_mark_acts, draw_note, draw_tags
from pages.components.facts import draw_facts
from pages.components.journal_editing import FORM
from pages.components.journal_linking import draw_links
from pages.components.journal_promoting import draw_ends
from pages.components.plans import propose
from pages.components.tables import close_opened, experience_table
from pages.components.texts import draw_code

AROUND = ("generation", "entry_type", "content", "created_at")
SIMILAR = ("generation", "entry_type", "relevance", "content")


def entry_panel(memory: MemorySystem, entry_id: str) -> None:
    """An entry: what it says, what it is worth, where it stands; and what can be changed of it."""
    detail = entry_detail(memory, entry_id)
    with st.container(horizontal=True, key="entry_bar"):
        st.button("Close", key="entry_close", icon=":material/close:", on_click=close_opened)
        if detail is not None:
            draw_mark_acts(memory, detail.id, detail.marks, JOURNAL)
            is_off = memory.storage.read_only
            why_not = READ_ONLY if is_off else detail.why_not_promoted
            st.button("Promote …", key="entry_promote", icon=":material/upgrade:", disabled=bool(why_not),
                      on_click=propose, args=(memory, PromoteRequest(id=detail.id)),
                      help=why_not or "Make it a memory that agents are reminded of. You see it first.")  # fmt: skip
            st.button("Delete …", key="entry_delete", icon=":material/delete:", disabled=is_off, on_click=propose,
                      args=(memory, EntryDeleteRequest(ids=(detail.id,))),
                      help=READ_ONLY if is_off else "You see first what links to it.")  # fmt: skip
    if detail is None:
        st.warning("This entry is not in the journal. It may have been deleted since.", icon=":material/search_off:")
        return
    draw_code(detail.content, key=f"entry_content_{detail.id}")
    draw_facts(detail.facts, key=f"entry_{detail.id}")
    draw_ends(detail.became, "Became this")
    draw_tags(memory, detail.id, detail.marks.tags, JOURNAL)
    _draw_tabs(memory, detail)


def _draw_tabs(memory: MemorySystem, detail: EntryDetail) -> None:
    around, links, similar, worth, noted, edited = st.tabs(
        ["Before and after", "Links", "Similar", "Worth", "Note", "Edit"], key="entry_tabs", on_change="rerun"
    )
    with around:
        _draw_around(detail, key=f"{detail.id}_{memory.revision()}")
    with links:
        if links.open:
            draw_links(memory, detail.id)
    with similar:
        if similar.open:  # what is near takes seconds to find the first time
            _draw_similar(memory, detail)
    with worth:
        _draw_worth(detail)
    with noted:
        draw_note(memory, detail.id, detail.marks.note, JOURNAL)
    with edited:
        draw_form(memory, FORM, detail.id, detail.editable)


def _draw_around(detail: EntryDetail, *, key: str) -> None:
    for caption, rows, name in (("Just before it", detail.before, "before"), ("Just after it", detail.after, "after")):
        if rows:
            st.caption(caption)
            experience_table(rows, columns=AROUND, key=f"entry_{name}_{key}", kind=JOURNAL)
        else:
            st.caption(f"{caption}: nothing.")


def _draw_similar(memory: MemorySystem, detail: EntryDetail) -> None:
    rows = similar_entries(memory, detail.id)
    if not rows:
        st.caption("There is no other entry yet.")
        return
    st.caption("The nearest in meaning; click one to open it.")
    experience_table(rows, columns=SIMILAR, key=f"entry_similar_{detail.id}_{memory.revision()}", kind=JOURNAL)


def _draw_worth(detail: EntryDetail) -> None:
    for sentence in detail.worth:
        st.text(sentence)
    st.caption("Metadata")
    if detail.metadata is None:
        st.caption("none")
    else:
        draw_code(detail.metadata, key=f"entry_metadata_{detail.id}")
