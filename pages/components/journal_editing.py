"""What a person writes into the journal: a new entry, and what of one is changed when it is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import streamlit as st

from atlas import MemorySystem, NotFound
from atlas.views.journal_entry import TIERS, EditableEntry, EntryDetail, metadata_in
from pages.components.acts import announce, announce_problem, announcing_problems, say_problem
from pages.components.editing import READ_ONLY
from pages.components.forms import Begun, act, begin, draw_conflict, forget, form_key

FORM = "entry_edit"

NEW = ("journal_new_content", "journal_new_metadata", "journal_new_importance")
"""The boxes of a new entry that begin anew once it is written."""


def draw_edit(memory: MemorySystem, detail: EntryDetail) -> None:
    """Boxes for what can be changed, which is kept when it is saved."""
    is_off, stored = memory.storage.read_only, detail.editable
    is_typed: Callable[[Begun], bool] = lambda begun: _typed(begun) not in (begun.stored, stored)  # noqa: E731
    begun = begin(FORM, detail.id, stored, is_typed=is_typed)
    is_conflict, was, key = begun.stored != stored, begun.stored, form_key(FORM, begun)
    with st.container():  # a place of its own, so that the boxes below stay the same ones
        if is_conflict:
            draw_conflict(FORM, detail.id, stored.differing(was), "This entry was changed elsewhere")
    st.text_area("What it says", was.content, key=f"{key}_content", height=180, disabled=is_off)
    with st.container(horizontal=True):
        st.number_input("Generation", value=was.generation, key=f"{key}_generation", disabled=is_off, width=130)
        st.number_input("Importance", 0.0, 1.0, was.importance, 0.05, key=f"{key}_importance", disabled=is_off,
                        width=130)  # fmt: skip
        st.selectbox("Tier", TIERS, TIERS.index(was.tier), key=f"{key}_tier", disabled=is_off, width=130)
    st.text_area("Metadata, as JSON", was.metadata, key=f"{key}_metadata", height=120, disabled=is_off)
    st.button("Save mine over it" if is_conflict else "Save", key="entry_edit_save", disabled=is_off,
              help=READ_ONLY if is_off else "It can be undone.", on_click=_save,
              args=(memory, begun, stored))  # fmt: skip


def draw_write(memory: MemorySystem) -> None:
    """Boxes for a new entry, which goes through the gates as those of agents do."""
    is_off, types = memory.storage.read_only, [known.name for known in memory.journal.types]
    with st.expander("Write an entry", icon=":material/edit_note:", key="journal_write"):
        with st.container(horizontal=True):
            st.selectbox("Type", types, key="journal_new_type", disabled=is_off, width=190)
            st.number_input("Generation", value=_latest_generation(memory), key="journal_new_generation",
                            disabled=is_off, width=130)  # fmt: skip
            st.number_input("Importance", 0.0, 1.0, None, 0.05, key="journal_new_importance", disabled=is_off,
                            placeholder="by type and text", width=170)  # fmt: skip
        st.text_area("What it says", key="journal_new_content", height=100, disabled=is_off)
        st.text_input("Metadata, as JSON", key="journal_new_metadata", placeholder='{"file": "a.py"}', disabled=is_off)
        st.button("Write it", key="journal_new_write", type="primary", disabled=is_off, on_click=_write,
                  args=(memory,), help=READ_ONLY if is_off else "It can be undone.")  # fmt: skip


def _write(memory: MemorySystem) -> None:
    given = st.session_state
    with announcing_problems():
        scoped = memory.journal.within("store", "written by hand")
        written = scoped.add(
            given["journal_new_type"],
            given["journal_new_content"],
            generation=given["journal_new_generation"],
            importance=given["journal_new_importance"],
            metadata=metadata_in(given["journal_new_metadata"]),
        )
        if written is None:
            [refused] = memory.journal.rejected(1).latest
            say_problem(f"A gate kept it out: {refused.refusal.reason}. Under Refused it can be let in.")
            return
        announce(str(scoped.operation_id), "Wrote 1 entry")
        for key in NEW:
            given.pop(key, None)


def _latest_generation(memory: MemorySystem) -> int:
    latest = memory.journal.browse(order_by="generation", limit=1)
    return latest[0]["metadata"]["generation"] if latest else 0


def _save(memory: MemorySystem, begun: Begun, seen: EditableEntry) -> None:
    """Save what was typed, unless the entry says something else than the person has seen."""
    entry = memory.journal.get(begun.key)
    if entry is None:
        announce_problem(NotFound("this entry is not in the journal any more; it was deleted elsewhere"))
        return
    with announcing_problems():
        changes = _typed(begun).changes(begun.stored)
        if EditableEntry.of(entry) != seen or not changes:
            return
        scoped = memory.journal.within("edit")
        if act(lambda: scoped.edit(begun.key, **changes), scoped, "Saved the entry"):
            forget(FORM)


def _typed(begun: Begun) -> EditableEntry:
    key, names = form_key(FORM, begun), [field.name for field in fields(EditableEntry)]
    return EditableEntry(**{name: st.session_state.get(f"{key}_{name}", getattr(begun.stored, name)) for name in names})
