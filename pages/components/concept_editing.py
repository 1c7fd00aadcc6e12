"""What a person can change of one concept: its texts when they are saved, and the way back to an earlier version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import streamlit as st

from atlas import MemorySystem, NotFound
from atlas.views.concept import ConceptDetail, EditableConcept, VersionView, version_changes
from pages.components.acts import announce_problem, announcing_problems
from pages.components.editing import READ_ONLY
from pages.components.forms import Begun, act, begin, draw_conflict, forget, form_key
from pages.components.texts import draw_code

FORM = "concept_edit"

LABELS = {
    "name": "Name",
    "description": "What it does",
    "signature": "Signature",
    "guidance": "When to use it",
    "code": "Code",
    "examples": "Examples, as a Python session: >>> and a call, below it the result",
}
HEIGHTS = {"description": 100, "guidance": 80, "code": 300, "examples": 160}
"""In pixels; what is not here is of one line."""


def draw_edit(memory: MemorySystem, detail: ConceptDetail) -> None:
    """Boxes for the texts, which are kept when they are saved."""
    is_off, stored = memory.storage.read_only, detail.editable
    is_typed: Callable[[Begun], bool] = lambda begun: _typed(begun) not in (begun.stored, stored)  # noqa: E731
    begun = begin(FORM, detail.id, stored, is_typed=is_typed)
    is_conflict, was, key = begun.stored != stored, begun.stored, form_key(FORM, begun)
    with st.container():  # a place of its own, so that the boxes below stay the same ones
        if is_conflict:
            draw_conflict(FORM, detail.id, stored.differing(was), "This concept was changed elsewhere")
    for name, label in LABELS.items():
        if name in HEIGHTS:
            st.text_area(label, getattr(was, name), key=f"{key}_{name}", height=HEIGHTS[name], disabled=is_off)
        else:
            st.text_input(label, getattr(was, name), key=f"{key}_{name}", disabled=is_off)
    st.button("Save mine over it" if is_conflict else "Save", key="concept_edit_save", disabled=is_off,
              help=READ_ONLY if is_off else "The version that it replaces is kept.", on_click=_save,
              args=(memory, begun, stored))  # fmt: skip


def draw_versions(memory: MemorySystem, detail: ConceptDetail) -> None:
    """What it was before each edit, with the offer to make it that again."""
    if not detail.versions:
        st.caption("It was never edited. Each edit keeps here what it was before.")
    for version in detail.versions:
        with st.container(border=True):
            _draw_version(memory, detail.id, version)


def _draw_version(memory: MemorySystem, concept_id: str, version: VersionView) -> None:
    is_off = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Replaced {version.when} by")
        st.text(version.actor)
        st.button("Restore what it was before", key=f"concept_restore_{version.number}",
                  icon=":material/history:", disabled=is_off or version.is_now, on_click=_restore,
                  args=(memory, concept_id, version.number),
                  help=READ_ONLY if is_off else "It says this now." if version.is_now else "It can be undone.",
                  )  # fmt: skip
    draw_code(version.difference, key=f"concept_difference_{version.number}")


def _save(memory: MemorySystem, begun: Begun, seen: EditableConcept) -> None:
    """Save what was typed, unless the concept says something else than the person has seen."""
    concept = memory.concepts.get(begun.key)
    if concept is None:
        announce_problem(NotFound("this concept is not in the library any more; it was deleted elsewhere"))
        return
    with announcing_problems():
        changes = _typed(begun).changes(begun.stored)
        if EditableConcept.of(concept) != seen or not changes:
            return
        scoped = memory.concepts.within("edit")
        if act(lambda: scoped.edit(begun.key, **changes), scoped, "Saved the concept"):
            forget(FORM)


def _restore(memory: MemorySystem, concept_id: str, number: int) -> None:
    with announcing_problems():
        changes = version_changes(memory, concept_id, number)
        scoped = memory.concepts.within("edit", "restored an earlier version")
        if changes:
            act(lambda: scoped.edit(concept_id, **changes), scoped, "Restored an earlier version of the concept")


def _typed(begun: Begun) -> EditableConcept:
    key, names = form_key(FORM, begun), [field.name for field in fields(EditableConcept)]
    return EditableConcept(
        **{name: st.session_state.get(f"{key}_{name}", getattr(begun.stored, name)) for name in names}
    )
