"""One experience in full, as a panel that any page can draw."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.experience import ExperienceDetail, Fact, Part, experience_detail
from atlas.views.experience.list import similar_rows
from atlas.views.journal.promotion import made_of
from atlas.views.shared.kinds import EXPERIENCE
from atlas.views.shared.texts import Text
from pages.components.experience.editing import FORM
from pages.components.journal.promotion import draw_ends
from pages.components.lists.edit_forms import draw_form
from pages.components.lists.editing import draw_acts, draw_note, draw_tags
from pages.components.lists.panel import draw_gone, draw_similar, panel_bar
from pages.components.lists.record_table import open_experience
from pages.components.shared.purging import draw_purging
from pages.components.shared.snapshot import page_map
from pages.components.shared.texts import draw_code, draw_prose

SIMILAR = ("sign", "relevance", "task")
PROSE = ("Thought", "Feedback")


def experience_panel(memory: MemorySystem, experience_id: str, explain: Callable[[], None] = lambda: None) -> None:
    """An experience: its task, how it went, its steps, and others like it; and what can be changed of it.

    Args:
        explain: Draws why the experience is here, where a search found it.
    """
    detail = experience_detail(memory, experience_id, page_map(memory))
    with panel_bar(EXPERIENCE):
        if detail is not None:
            draw_acts(memory, detail)
            draw_purging(memory, EXPERIENCE, [detail.id], key="experience_purge")
    if detail is None:
        draw_gone(EXPERIENCE, "store")
        return
    explain()
    draw_prose(detail.task, key=f"experience_task_{detail.id}")
    _draw_facts(detail.facts, key=detail.id)
    _draw_attempts(detail)
    draw_tags(memory, detail.id, detail.marks.tags)
    _draw_tabs(memory, detail)


def _draw_tabs(memory: MemorySystem, detail: ExperienceDetail) -> None:
    steps, results, similar, background, noted, edited = st.tabs(
        ["Steps", "Result", "Similar", "Background", "Note", "Edit"], key="experience_tabs", on_change="rerun"
    )
    with steps:
        _draw_steps(detail)
    with results:
        _draw_parts(detail.results, "The source says nothing of a solution or feedback.", key=detail.id)
    with similar:
        if similar.open:  # what is near takes seconds to find the first time
            draw_similar(memory, EXPERIENCE, detail.id, similar_rows(memory, detail.id), SIMILAR)
    with background:
        _draw_facts(detail.more_facts, key=detail.id)
        if background.open:
            draw_ends(made_of(memory, EXPERIENCE, detail.id), "Made of this")
        _draw_parts(detail.background, "The source says nothing more.", key=detail.id)
    with noted:
        draw_note(memory, detail.id, detail.marks.note)
    with edited:
        draw_form(memory, FORM, detail.id, detail.editable)


def _draw_facts(facts: tuple[Fact, ...], *, key: str) -> None:
    with st.container(horizontal=True, gap="medium"):
        for fact in facts:
            with st.container(width="content", gap=None):
                st.caption(fact.name)
                draw_prose(Text(fact.value), key=f"experience_{fact.name}_{key}")


def _draw_attempts(detail: ExperienceDetail) -> None:
    """The attempts at the same task, oldest first, as buttons that open them."""
    if not detail.attempts:
        return
    with st.container(gap=None):
        st.caption("Attempts at this task, oldest first")
        with st.container(horizontal=True, gap="xsmall"):
            for number, attempt in enumerate(detail.attempts):
                is_this = attempt.id == detail.id
                st.button(attempt.label, key=f"experience_attempt_{number}", disabled=is_this,
                          on_click=open_experience, args=(attempt.id,))  # fmt: skip
            if detail.n_more_attempts:
                st.caption(f"and {detail.n_more_attempts:,} more")


def _draw_steps(detail: ExperienceDetail) -> None:
    if not detail.steps:
        st.caption("The source kept no steps.")
        return
    page = 1
    if detail.n_step_pages > 1:
        page = st.pagination(detail.n_step_pages, key=f"experience_steps_{detail.id}")
    for step in detail.steps_on(page):
        with st.container(border=True):
            st.markdown(f"**Step {step.number:,}** of {len(detail.steps):,}")
            for part in step.parts:
                _draw_part(part, key=f"experience_{detail.id}_{step.number}_{part.name}")


def _draw_parts(parts: tuple[Part, ...], otherwise: str, *, key: str) -> None:
    for part in parts:
        _draw_part(part, key=f"experience_{key}_{part.name}")
    if not parts:
        st.caption(otherwise)


def _draw_part(part: Part, *, key: str) -> None:
    draw = draw_prose if part.name in PROSE else draw_code
    with st.container(gap="xsmall"):
        st.caption(part.name)
        draw(part.text, key=key)
