"""Composition of the selected concepts: a preview in a dialog, and adding it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import AtlasError, MemorySystem
from atlas.views.concepts.composition import Composition, add_composed, compose_now
from pages.components.concepts.examples import draw_example
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.undo_toast import announce, announce_problem, announcing_problems

_COMPOSITION = "compose_composition"


def compose(memory: MemorySystem, ids: Sequence[str]) -> None:
    """Compose the concepts and show the result in a dialog. For a button's callback."""
    with announcing_problems(), st.spinner("Composing, and running the examples …"):
        st.session_state[_COMPOSITION] = compose_now(memory, ids)


def close_composition() -> None:
    """Drop the composition without adding it."""
    st.session_state.pop(_COMPOSITION, None)


def draw_composition(memory: MemorySystem) -> None:
    """Draw the composition, if there is one."""
    if _COMPOSITION in st.session_state:
        st.dialog("Compose", width="large", on_dismiss=close_composition)(_draw)(memory)


def _draw(memory: MemorySystem) -> None:
    composition: Composition | None = st.session_state.get(_COMPOSITION)
    if composition is None:  # added or dismissed
        st.rerun()
        return
    st.text(" + ".join(composition.parts))
    if composition.concept is None:
        _draw_why_not(composition)
        return
    draw_prose(composition.description, key="compose_description")
    draw_code(composition.code, key="compose_code")
    st.caption("What its examples returned" if composition.examples else "No example of it was run.")
    for number, example in enumerate(composition.examples):
        with st.container(border=True, gap="xsmall"):
            draw_example(example, key=f"compose_example_{number}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Add it", key="compose_apply", type="primary", icon=":material/check:", on_click=_apply,
                  args=(memory, composition), disabled=memory.storage.read_only)  # fmt: skip
        st.button("Cancel", key="compose_cancel", on_click=close_composition)
        st.caption("It can be undone.")


def _draw_why_not(composition: Composition) -> None:
    st.info("These concepts cannot be composed.", icon=":material/link_off:")
    st.text(composition.why_not)
    for line in composition.types:
        st.text(line)
    st.button("Close", key="compose_close", on_click=close_composition)


def _apply(memory: MemorySystem, composition: Composition) -> None:
    """Add exactly the shown composition."""
    if st.session_state.get(_COMPOSITION) is not composition:
        return
    try:
        done = add_composed(memory, composition)
    except AtlasError as error:
        announce_problem(error)
    else:
        announce(done.operation_id, done.sentence)
    close_composition()
