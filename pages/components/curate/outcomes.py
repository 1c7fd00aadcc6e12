"""The queue of attempts whose outcome is not known: one at a time, judged by a button or a key."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.outcomes import OpenAttempt, OutcomeRequest, next_unjudged
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted
from pages.components.lists.editing import READ_ONLY
from pages.components.lists.record_table import open_experience
from pages.components.shared.plans import apply_now
from pages.components.shared.texts import draw_code, draw_prose
from pages.components.shared.undo_toast import announcing_problems, set_problem

_SKIPPED = "curate_skipped"

JUDGEMENTS = (
    ("Succeeded", True, "s", ":material/check:"),
    ("Failed", False, "f", ":material/close:"),
)
"""Label, outcome, key and icon of each button that judges."""


def draw_unjudged(memory: MemorySystem, ids: Sequence[str]) -> None:
    """Draw the first attempt that was not skipped, and the buttons that set its outcome."""
    skipped: frozenset[str] = st.session_state.get(_SKIPPED, frozenset())
    attempt = next_unjudged(memory, ids, skipped)
    if attempt is None:
        st.info("You have skipped all of these.", icon=":material/skip_next:")
        st.button("Start over", key="curate_unskip", icon=":material/replay:", on_click=_unskip)
        return
    with st.container(border=True, key="curate_unjudged"):
        _draw_judging(memory, attempt)
        _draw_attempt(attempt)


def _draw_judging(memory: MemorySystem, attempt: OpenAttempt) -> None:
    disabled = memory.storage.read_only
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**How did it end?**")
        for label, success, shortcut, icon in JUDGEMENTS:
            st.button(
                label,
                key=f"curate_{label.lower()}_{attempt.id}",
                icon=icon,
                shortcut=shortcut,
                disabled=disabled,
                on_click=_judge,
                args=(memory, attempt.id, success),
                help=READ_ONLY if disabled else None,
            )
        st.button("Skip", key=f"curate_skip_{attempt.id}", icon=":material/skip_next:", shortcut="k", on_click=_skip,
                  args=(attempt.id,))  # fmt: skip
        st.button("Open", key=f"curate_open_{attempt.id}", icon=":material/open_in_full:", on_click=open_experience,
                  args=(attempt.id,))  # fmt: skip
        st.caption(f"{counted(attempt.n_left, 'experience')} left")


def _draw_attempt(attempt: OpenAttempt) -> None:
    st.caption("Task")
    draw_prose(attempt.task, key=f"curate_task_{attempt.id}")
    for name, text in (("Solution", attempt.solution), ("Feedback", attempt.feedback)):
        if text is not None:
            _draw_named(name, text, f"curate_{name.lower()}_{attempt.id}")
    for number, text in enumerate(attempt.last_steps):
        _draw_named("Last step" if number == len(attempt.last_steps) - 1 else "Step before it", text,
                    f"curate_step_{number}_{attempt.id}")  # fmt: skip


def _draw_named(name: str, text: Text, key: str) -> None:
    st.caption(name)
    draw_code(text, key=key)


def _judge(memory: MemorySystem, experience_id: str, success: bool) -> None:
    """Set the outcome of the attempt that was shown, unless it is known by now."""
    with announcing_problems():
        proposal = OutcomeRequest(ids=(experience_id,), success=success).propose(memory)
        if [change.before for change in proposal.plan.changes] == ["unknown"]:
            apply_now(memory, proposal)
        elif proposal.plan.changes:
            set_problem("This outcome has been set elsewhere in the meantime. Open the experience to change it.")


def _skip(experience_id: str) -> None:
    st.session_state[_SKIPPED] = st.session_state.get(_SKIPPED, frozenset()) | {experience_id}


def _unskip() -> None:
    st.session_state.pop(_SKIPPED, None)
