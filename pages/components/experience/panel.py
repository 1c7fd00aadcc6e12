"""One experience in full, as a panel that any page can draw."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.experience import ExperienceDetail
from atlas.views.journal.promotion import made_of
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.facts import Part
from atlas.views.shared.wording import signed
from atlas.views.trace.terminal import readable
from pages.components.experience.parts import draw_part
from pages.components.experience.trace import draw_steps
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.facts import draw_facts, draw_record_links
from pages.components.lists.forms import act
from pages.components.lists.panel import Panel
from pages.components.lists.record_table import close_opened, open_experience
from pages.components.lists.uses import draw_uses
from pages.components.shared.texts import draw_prose

LONG_TASK, LONG_LINES = 420, 5
"""Characters or lines of a task beyond which only its beginning shows at first, so that its steps stay in view."""

CUT_TASK, CUT_LINES = 300, 4
"""Most characters and lines of such a beginning."""

OUTCOME_COLOURS = {"succeeded": "green", "failed": "red", "unknown": "gray"}

_WHOLE = "experience_whole_task"


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
    _draw_task(detail)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="opened_outcome"):
        st.badge(signed(detail.outcome), color=OUTCOME_COLOURS[detail.outcome])  # type: ignore[arg-type]
        if detail.ending:
            st.text(detail.ending)
    draw_facts(detail.facts, key=f"experience_fact_{detail.id}")
    draw_record_links(detail.used, "Used")
    _draw_attempts(detail)


def _draw_task(detail: ExperienceDetail) -> None:
    """Draw the task, or its beginning and a button for the rest."""
    is_long = len(detail.task.whole) > LONG_TASK or detail.task.whole.count("\n") > LONG_LINES
    is_cut = is_long and st.session_state.get(_WHOLE) != detail.id
    with st.container(gap="xsmall"):
        if is_cut:
            beginning = "\n".join(detail.task.whole[:CUT_TASK].rsplit(" ", 1)[0].split("\n")[:CUT_LINES])
            st.text(f"{readable(beginning).rstrip()} …")
        else:
            draw_prose(detail.task, key=f"experience_task_{detail.id}")
        if is_long:
            st.button("Show the whole task" if is_cut else "Show less of the task", key="experience_task_more",
                      type="tertiary", on_click=_show_task, args=(detail.id if is_cut else None,))  # fmt: skip


def _show_task(experience_id: str | None) -> None:
    st.session_state[_WHOLE] = experience_id


def _draw_results(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    _draw_parts(detail.results, key=detail.id)


def _draw_uses(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_uses(memory, detail.uses, key=f"experience_uses_{detail.id}")


def _draw_background(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_facts(detail.more_facts, key=f"experience_more_{detail.id}")
    if is_open:
        draw_record_links(made_of(memory, EXPERIENCE, detail.id), "Promoted from")
    _draw_parts(detail.background, key=detail.id)


def _draw_attempts(detail: ExperienceDetail) -> None:
    """Draw the attempts at the same task, oldest first, as buttons that open them."""
    if not detail.attempts:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="opened_attempts"):
        st.caption("Attempts at this task", width="content")
        for number, attempt in enumerate(detail.attempts):
            st.button(attempt.label, key=f"experience_attempt_{number}", disabled=attempt.id == detail.id,
                      on_click=open_experience, args=(attempt.id,))  # fmt: skip
        if detail.n_more_attempts:
            st.caption(f"and {detail.n_more_attempts:,} more", width="content")


def _draw_steps(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_steps(detail.steps, of=detail.id)


def _draw_parts(parts: tuple[Part, ...], *, key: str) -> None:
    for part in parts:
        draw_part(part, key=f"experience_{key}_{part.name}")


def _lacks(detail: ExperienceDetail, tab: str) -> bool:
    """Return whether a tab has nothing to show. Without steps and results, the steps say so."""
    lacking = {
        "Steps": bool(detail.results) and not detail.steps,
        "Result": not detail.results,
        "Uses": not detail.uses,
    }
    return lacking[tab]


PANEL = Panel(
    draw_removal=_draw_removal,
    draw_head=_draw_head,
    tabs={"Steps": _draw_steps, "Result": _draw_results, "Uses": _draw_uses},
    lacks=_lacks,
    tabs_after={"Background": _draw_background},
)
