"""One experience in full, as a panel that any page can draw."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.experience import ExperienceDetail
from atlas.views.journal.promotion import made_of
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.facts import Part
from pages.components.experience.parts import draw_part
from pages.components.experience.trace import draw_steps
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.facts import draw_facts, draw_record_links
from pages.components.lists.forms import act
from pages.components.lists.panel import Panel
from pages.components.lists.record_table import close_opened, open_experience
from pages.components.shared.texts import draw_prose

LONG_TASK, LONG_LINES, TASK_PIXELS = 700, 8, 200
"""Characters or lines of a task beyond which it scrolls in this height, so that its steps stay in view."""


def _draw_removal(memory: MemorySystem, detail: ExperienceDetail) -> None:
    disabled = memory.storage.read_only
    st.button("Delete", key="experience_delete", icon=":material/delete:", disabled=disabled, on_click=_delete,
              args=(memory, detail.id), help=READ_ONLY if disabled else "It can be undone.")  # fmt: skip


def _delete(memory: MemorySystem, experience_id: str) -> None:
    """Delete an experience, report it, and go back to the list."""
    scoped = memory.experience.within("delete")
    if act(lambda: scoped.delete([experience_id]), scoped, "Deleted 1 experience"):
        close_opened()


def _draw_head(memory: MemorySystem, detail: ExperienceDetail) -> None:
    is_long = len(detail.task.whole) > LONG_TASK or detail.task.whole.count("\n") > LONG_LINES
    with st.container(height=TASK_PIXELS if is_long else "content", border=is_long):
        draw_prose(detail.task, key=f"experience_task_{detail.id}")
    draw_facts(detail.facts, key=f"experience_fact_{detail.id}")
    draw_record_links(detail.used, "Used")
    _draw_attempts(detail)


def _draw_results(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    _draw_parts(detail.results, "The source recorded no solution and no feedback.", key=detail.id)


def _draw_background(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_facts(detail.more_facts, key=f"experience_fact_{detail.id}")
    if is_open:
        draw_record_links(made_of(memory, EXPERIENCE, detail.id), "Promoted from")
    _draw_parts(detail.background, "The source recorded nothing more.", key=detail.id)


def _draw_attempts(detail: ExperienceDetail) -> None:
    """Draw the attempts at the same task, oldest first, as buttons that open them."""
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


def _draw_steps(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_steps(detail.steps, of=detail.id)


def _draw_parts(parts: tuple[Part, ...], otherwise: str, *, key: str) -> None:
    for part in parts:
        draw_part(part, key=f"experience_{key}_{part.name}")
    if not parts:
        st.caption(otherwise)


PANEL = Panel(
    draw_removal=_draw_removal,
    draw_head=_draw_head,
    tabs={"Steps": _draw_steps, "Result": _draw_results},
    tabs_after={"Background": _draw_background},
)
