"""One concept in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.concept import ConceptDetail
from atlas.views.concepts.lineage import Lineage
from atlas.views.kinds.concept import CONCEPT, RELATED
from atlas.views.lists.facts import Head, facts_of
from atlas.views.shared.texts import Headline
from pages.components.concepts.examples import draw_example, draw_ran, draw_run
from pages.components.lists.facts import draw_bar_line, draw_fact_table
from pages.components.lists.panel import Panel, draw_sources
from pages.components.lists.record_table import experience_table
from pages.components.lists.uses import draw_uses
from pages.components.shared.texts import draw_code, draw_prose

HOW_TO_TEST = "No tests yet. Its examples run as tests: add one under Edit, as a call behind >>> and its result below."


def _head(detail: ConceptDetail) -> Head:
    return Head(
        headline=Headline(title=f"{detail.name.whole}{detail.parameters}", rest=detail.purpose.whole),
        facts=(*detail.facts, *facts_of({"Calls the tools": ", ".join(detail.tools)})),
    )


def _draw_story(memory: MemorySystem, detail: ConceptDetail) -> None:
    with st.container(gap="xsmall", key="opened_story"):
        st.markdown(f"**{detail.verdict}**")
        if detail.used is not None:
            draw_bar_line("used", detail.used)


def _draw_code(memory: MemorySystem, detail: ConceptDetail, is_open: bool) -> None:
    if detail.steps is not None:
        draw_code(detail.steps, key=f"concept_steps_{detail.id}")
    draw_code(detail.code, key=f"concept_code_{detail.id}")


def _draw_about(memory: MemorySystem, detail: ConceptDetail, is_open: bool) -> None:
    if detail.description is not None:
        draw_prose(detail.description, key=f"concept_description_{detail.id}")
    if detail.guidance is not None:
        st.caption("When to use it")
        draw_prose(detail.guidance, key=f"concept_guidance_{detail.id}")
    if detail.signature is not None:
        st.caption("Signature")
        draw_code(detail.signature, key=f"concept_signature_{detail.id}")
    draw_fact_table(detail.background, "From the source")


def _draw_uses(memory: MemorySystem, detail: ConceptDetail, is_open: bool) -> None:
    if detail.uses:
        draw_uses(memory, detail.uses, key=f"concept_uses_{detail.id}")
    _draw_lineage(detail.lineage, key=detail.id, revision=memory.revision())
    if detail.found_in:
        st.caption("Found in these experiences")
        draw_sources(((use.id if use.title else "", use.title) for use in detail.found_in), detail.n_more_found_in)


def _draw_examples(memory: MemorySystem, detail: ConceptDetail, is_open: bool) -> None:
    if not detail.examples:
        st.caption(HOW_TO_TEST)
        return
    ran = draw_run(memory, detail)
    if detail.proof:
        st.badge(detail.proof, icon=":material/verified:", color="green")
    for number, example in enumerate(detail.examples):
        with st.container(border=example.has_grids, gap="xsmall"):
            draw_example(example, key=f"concept_example_{detail.id}_{number}")
            if number < len(ran):
                draw_ran(ran[number], key=f"concept_ran_{detail.id}_{number}")
    if detail.n_more_examples:
        st.caption(f"and {detail.n_more_examples:,} more")


def _draw_lineage(lineage: Lineage, *, key: str, revision: int) -> None:
    if lineage.n_missing:
        st.warning(f"{lineage.n_missing:,} of the concepts that it needs are not in the library any more.",
                   icon=":material/link_off:")  # fmt: skip
    if not lineage.relations:
        st.caption(lineage.caption)
        return
    st.graphviz_chart(lineage.dot)
    if lineage.caption:
        st.caption(lineage.caption)
    experience_table(lineage.relations, columns=RELATED, key=f"concept_uses_{key}_{revision}",
                     kind=CONCEPT)  # fmt: skip


def _lacks(detail: ConceptDetail, tab: str) -> bool:
    """Return whether a tab has nothing to show. Without tests, theirs says how to add one, if it is a function."""
    about = (detail.description, detail.guidance, detail.signature, detail.background)
    lacking = {"Tests": not detail.examples and detail.steps is not None, "About": not any(about)}
    return lacking.get(tab, False)


PANEL = Panel(
    head=_head,
    draw_story=_draw_story,
    tabs={"Code": _draw_code, "Tests": _draw_examples, "Uses": _draw_uses, "About": _draw_about},
    lacks=_lacks,
)
