"""One experience in full, as a panel that any page can draw."""

from __future__ import annotations

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.experience import ExperienceDetail
from atlas.views.journal.promotion import made_of
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.facts import Badge, Head, Part
from pages.components.experience.chosen import compare
from pages.components.experience.parts import draw_part
from pages.components.experience.trace import draw_steps
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.facts import draw_facts, draw_record_links
from pages.components.lists.forms import act
from pages.components.lists.panel import Panel
from pages.components.lists.record_table import close_opened, open_experience
from pages.components.lists.uses import draw_uses


def _draw_removal(memory: MemorySystem, detail: ExperienceDetail) -> None:
    disabled = memory.storage.read_only
    st.button("Delete", key="experience_delete", icon=":material/delete:", disabled=disabled, on_click=_delete,
              args=(memory, detail.id), help=READ_ONLY if disabled else "It can be undone.")  # fmt: skip


def _delete(memory: MemorySystem, experience_id: str) -> None:
    """Delete an experience, report it, and go back to the list."""
    scoped = memory.experience.as_operation("delete")
    if act(lambda: scoped.delete([experience_id]), scoped, "Deleted 1 experience"):
        close_opened()


def _head(detail: ExperienceDetail) -> Head:
    return Head(
        headline=detail.headline,
        badges=(Badge.of_outcome(detail.outcome),),
        ending=detail.ending,
        facts=detail.facts,
    )


def _draw_links(memory: MemorySystem, detail: ExperienceDetail) -> None:
    draw_record_links(detail.used, "Used")
    _draw_attempts(memory, detail)


def _draw_results(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    _draw_parts(detail.results, key=detail.id)


def _draw_uses(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_uses(memory, detail.uses, key=f"experience_uses_{detail.id}")


def _draw_background(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_facts(detail.more_facts, key=f"experience_more_{detail.id}")
    if is_open:
        draw_record_links(made_of(memory, EXPERIENCE, detail.id), "Promoted from")
    _draw_parts(detail.background, key=detail.id)


def _draw_attempts(memory: MemorySystem, detail: ExperienceDetail) -> None:
    """Draw the attempts at the same task, oldest first, as buttons that open them, and a comparison of two."""
    if not detail.attempts:
        return
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key="opened_attempts"):
        st.caption(detail.place, width="content")
        for number, attempt in enumerate(detail.attempts):
            st.button(attempt.label, key=f"experience_attempt_{number}", disabled=attempt.id == detail.id,
                      on_click=open_experience, args=(attempt.id,))  # fmt: skip
        if detail.n_more_attempts:
            st.caption(f"and {detail.n_more_attempts:,} more", width="content")
        if (other := detail.counterpart) and st.button(f"Compare with {other.short_label}", key="experience_compare"):
            compare(memory, (detail.id, other.id))


def _draw_steps(memory: MemorySystem, detail: ExperienceDetail, is_open: bool) -> None:
    draw_steps(detail.steps, trace_id=detail.id, ending=detail.closing)


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
    head=_head,
    draw_links=_draw_links,
    tabs={"Steps": _draw_steps, "Result": _draw_results, "Uses": _draw_uses},
    lacks=_lacks,
    tabs_after={"Background": _draw_background},
)
