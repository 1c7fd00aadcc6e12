"""Examples of a concept: calls with their results, grids in colour, and a button that runs them."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem, Settings
from atlas.views.concepts.concept import ConceptDetail, Example
from atlas.views.concepts.examples import RanExample, ran_examples, verdict
from pages.components.concepts.grids import draw_arrow, draw_grid
from pages.components.shared.texts import draw_code
from pages.components.shared.undo_toast import announcing_problems

IN_SANDBOX = "In a sandbox without network access, with a limit on time and memory."

_RAN = "examples_ran"


def draw_example(example: Example, *, key: str) -> None:
    """Draw a call and its result, as a Python session has them unless there are grids."""
    if not example.has_grids:
        draw_code(example.session, key=f"{key}_session")
        return
    draw_code(example.call, key=f"{key}_call")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        for grid in example.inputs:
            draw_grid(grid)
        draw_arrow()
        if example.output:
            draw_grid(example.output)
    if not example.output:
        draw_code(example.result, key=f"{key}_result")


def draw_run(memory: MemorySystem, detail: ConceptDetail) -> tuple[RanExample, ...]:
    """Draw the button that runs a concept's examples, and return their results if they were run."""
    if not detail.can_run:
        return ()
    where = "In this process: only what is installed here is run." if detail.is_primitive else IN_SANDBOX
    st.button("Run its examples", key=f"concept_run_{detail.id}", icon=":material/play_arrow:", on_click=_run,
              args=(memory, detail), help=where)  # fmt: skip
    of, ran = st.session_state.get(_RAN, (None, ()))
    if of != (detail.id, detail.editable):
        return ()
    st.caption(verdict(ran))
    return tuple(ran)


def draw_ran(ran: RanExample, *, key: str) -> None:
    """Draw the outcome of running an example, with the result if it differs."""
    if ran.has_passed:
        st.badge("As expected", icon=":material/check:", color="green")
        return
    st.badge("Another result", icon=":material/close:", color="orange")
    if ran.output:
        draw_grid(ran.output)
    else:
        draw_code(ran.actual, key=key)


def _run(memory: MemorySystem, detail: ConceptDetail) -> None:
    path = Settings.from_environment().program_path
    with announcing_problems(), st.spinner("Running the examples …"):
        st.session_state[_RAN] = ((detail.id, detail.editable), ran_examples(memory, detail.id, path))
