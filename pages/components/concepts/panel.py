"""One concept in full, as a panel beside the list."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.concepts.concept import ConceptDetail, concept_changes, concept_detail
from atlas.views.concepts.lineage import Lineage
from atlas.views.concepts.list import similar_concepts
from atlas.views.concepts.proposals import ConceptDeleteRequest
from atlas.views.shared.kinds import CONCEPT
from pages.components.concepts.editing import FORM
from pages.components.concepts.examples import draw_example, draw_ran, draw_run
from pages.components.lists.edit_forms import draw_form
from pages.components.lists.editing import draw_mark_acts, draw_note, draw_tags
from pages.components.lists.facts import draw_facts
from pages.components.lists.panel import draw_gone, draw_similar, draw_sources, panel_bar
from pages.components.lists.record_table import experience_table
from pages.components.shared.plans import draw_deleting
from pages.components.shared.purging import draw_purging
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.versions import draw_versions

SIMILAR = ("name", "relevance", "description")


def concept_panel(memory: MemorySystem, concept_id: str) -> None:
    """A concept: what it does, its code, and where it stands; and what can be changed of it."""
    detail = concept_detail(memory, concept_id)
    with panel_bar(CONCEPT):
        if detail is not None:
            draw_mark_acts(memory, detail.id, detail.marks, CONCEPT)
            draw_deleting(memory, ConceptDeleteRequest(ids=(detail.id,)), key="concept_delete",
                          help_text="You see first what would lack it.")  # fmt: skip
            draw_purging(memory, CONCEPT, [detail.id], key="concept_purge")
    if detail is None:
        draw_gone(CONCEPT, "library")
        return
    draw_prose(detail.name, key=f"concept_name_{detail.id}")
    draw_prose(detail.description, key=f"concept_description_{detail.id}")
    draw_facts(detail.facts, key=f"concept_{detail.id}")
    draw_tags(memory, detail.id, detail.marks.tags, CONCEPT)
    _draw_tabs(memory, detail)


def _draw_tabs(memory: MemorySystem, detail: ConceptDetail) -> None:
    code, examples, uses, similar, versions, noted, edited = st.tabs(
        ["Code", "Examples", "Uses", "Similar", "Versions", "Note", "Edit"], key="concept_tabs", on_change="rerun"
    )
    with code:
        _draw_code(detail)
    with examples:
        _draw_examples(memory, detail)
    with uses:
        _draw_lineage(detail.lineage, key=detail.id, revision=memory.revision())
        _draw_found_in(detail)
    with similar:
        if similar.open:  # what is near takes seconds to find the first time
            draw_similar(memory, CONCEPT, detail.id, similar_concepts(memory, detail.id), SIMILAR)
    with versions:
        draw_versions(memory, detail.id, detail.versions, CONCEPT, concept_changes)
    with noted:
        draw_note(memory, detail.id, detail.marks.note, CONCEPT)
    with edited:
        draw_form(memory, FORM, detail.id, detail.editable)


def _draw_code(detail: ConceptDetail) -> None:
    if detail.signature is not None:
        st.caption("Signature")
        draw_code(detail.signature, key=f"concept_signature_{detail.id}")
    if detail.guidance is not None:
        st.caption("When to use it")
        draw_prose(detail.guidance, key=f"concept_guidance_{detail.id}")
    st.caption("Code")
    draw_code(detail.code, key=f"concept_code_{detail.id}")
    if detail.background is not None:
        st.caption(detail.background.name)
        draw_code(detail.background.text, key=f"concept_background_{detail.id}")


def _draw_examples(memory: MemorySystem, detail: ConceptDetail) -> None:
    ran = draw_run(memory, detail)
    for number, example in enumerate(detail.examples):
        with st.container(border=True, gap="xsmall"):
            draw_example(example, key=f"concept_example_{detail.id}_{number}")
            if number < len(ran):
                draw_ran(ran[number], key=f"concept_ran_{detail.id}_{number}")
    if detail.n_more_examples:
        st.caption(f"and {detail.n_more_examples:,} more")
    if not detail.examples:
        st.caption("Nobody has given an example yet.")


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
    experience_table(lineage.relations, columns=("how", "name", "description"), key=f"concept_uses_{key}_{revision}",
                     kind=CONCEPT)  # fmt: skip


def _draw_found_in(detail: ConceptDetail) -> None:
    if detail.found_in:
        st.caption("Found in these experiences")
        draw_sources(((one.id if one.title else "", one.title) for one in detail.found_in), detail.n_more_found_in)
