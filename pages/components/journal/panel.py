"""One entry of the journal in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.journal.entry import EntryDetail, entry_detail
from atlas.views.journal.list import similar_entries
from atlas.views.journal.promotion import PromoteRequest
from atlas.views.journal.proposals import EntryDeleteRequest
from atlas.views.shared.kinds import JOURNAL
from pages.components.journal.editing import FORM
from pages.components.journal.links import draw_links
from pages.components.journal.promotion import draw_becoming, draw_ends
from pages.components.lists.edit_forms import draw_form
from pages.components.lists.editing import draw_mark_acts, draw_note, draw_tags
from pages.components.lists.facts import draw_facts
from pages.components.lists.panel import draw_gone, draw_similar, panel_bar
from pages.components.lists.record_table import experience_table
from pages.components.shared.plans import draw_deleting, draw_proposing
from pages.components.shared.purging import draw_purging
from pages.components.shared.texts import draw_code

AROUND = ("generation", "entry_type", "content", "created_at")
PROMOTING = "Make it a memory that agents are reminded of. You see it first."
SIMILAR = ("generation", "entry_type", "relevance", "content")


def entry_panel(memory: MemorySystem, entry_id: str) -> None:
    """An entry: what it says, what it is worth, where it stands; and what can be changed of it."""
    detail = entry_detail(memory, entry_id)
    with panel_bar(JOURNAL):
        if detail is not None:
            draw_mark_acts(memory, detail.id, detail.marks, JOURNAL)
            draw_proposing(memory, "Promote …", PromoteRequest(id=detail.id), key="entry_promote",
                           icon=":material/upgrade:", help_text=detail.why_not_promoted or PROMOTING,
                           is_possible=not detail.why_not_promoted, draw_extra=draw_becoming)  # fmt: skip
            draw_deleting(memory, EntryDeleteRequest(ids=(detail.id,)), key="entry_delete",
                          help_text="You see first what links to it.")  # fmt: skip
            draw_purging(memory, JOURNAL, [detail.id], key="entry_purge")
    if detail is None:
        draw_gone(JOURNAL, "journal")
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
            draw_similar(memory, JOURNAL, detail.id, similar_entries(memory, detail.id), SIMILAR)
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


def _draw_worth(detail: EntryDetail) -> None:
    for sentence in detail.worth:
        st.text(sentence)
    st.caption("Metadata")
    if detail.metadata is None:
        st.caption("none")
    else:
        draw_code(detail.metadata, key=f"entry_metadata_{detail.id}")
