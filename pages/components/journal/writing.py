"""The form for a new entry of the journal."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem, counting_secrets
from atlas.views.journal.entry import metadata_in
from atlas.views.kinds.journal_words import ROUND, type_word
from atlas.views.shared.wording import with_replaced
from pages.components.lists.editing import READ_ONLY
from pages.components.shared.undo_toast import announce, announcing_problems, set_problem

NEW = ("journal_new_content", "journal_new_metadata", "journal_new_importance")
"""The boxes of a new entry that are emptied once it is written."""


def draw_write(memory: MemorySystem) -> None:
    """Draw boxes for a new entry, which passes the same gates as those of agents."""
    disabled = memory.storage.read_only
    types = [kind.name for kind in memory.journal.types]
    with st.expander("Write an entry", icon=":material/edit_note:", key="journal_write"):
        with st.container(horizontal=True):
            st.selectbox("Type", types, format_func=type_word, key="journal_new_type", disabled=disabled, width=190)
            st.number_input("Round", value=_latest_generation(memory), key="journal_new_generation",
                            disabled=disabled, width=130, help=ROUND)  # fmt: skip
            st.number_input("Importance", 0.0, 1.0, None, 0.05, key="journal_new_importance", disabled=disabled,
                            placeholder="by type and text", width=170)  # fmt: skip
        st.text_area("What it says", key="journal_new_content", height=100, disabled=disabled)
        st.text_input(
            "Metadata, as JSON", key="journal_new_metadata", placeholder='{"file": "a.py"}', disabled=disabled
        )
        st.button("Write the entry", key="journal_new_write", type="primary", disabled=disabled, on_click=_write,
                  args=(memory,), help=READ_ONLY if disabled else "It can be undone.")  # fmt: skip


def _write(memory: MemorySystem) -> None:
    fields = st.session_state
    with announcing_problems():
        scoped = memory.journal.as_operation("store", "written by hand")
        with counting_secrets() as found:
            written = scoped.add(
                fields["journal_new_type"],
                fields["journal_new_content"],
                generation=fields["journal_new_generation"],
                importance=fields["journal_new_importance"],
                metadata=metadata_in(fields["journal_new_metadata"]),
            )
        if written is None:
            [refused] = memory.journal.rejected(1).latest
            set_problem(f"A gate refused it: {refused.refusal.reason}. You can accept it under Links and archiving.")
            return
        announce(str(scoped.operation_id), with_replaced("Wrote 1 entry", found))
        for key in NEW:
            fields.pop(key, None)


def _latest_generation(memory: MemorySystem) -> int:
    latest = memory.journal.browse(order_by="generation", limit=1)
    return latest[0]["metadata"]["generation"] if latest else 0
