"""The form that edits an experience: its task's text, its outcome and its feedback."""

from __future__ import annotations

import streamlit as st

from atlas.views.experience.experience import Editable
from atlas.views.shared.kinds import EXPERIENCE
from atlas.views.shared.wording import OUTCOMES, signed
from pages.components.lists.edit_forms import EditForm


def _draw_boxes(key: str, at_first: Editable, is_off: bool) -> None:
    st.text_area("Task", at_first.task, key=f"{key}_task", height=140, disabled=is_off)
    st.segmented_control("Outcome", OUTCOMES, default=at_first.outcome, required=True, key=f"{key}_outcome",
                         format_func=signed, disabled=is_off)  # fmt: skip
    st.text_area("Feedback", at_first.feedback, key=f"{key}_feedback", height=140, disabled=is_off)


FORM = EditForm(
    kind=EXPERIENCE,
    editable=Editable.of,
    draw=_draw_boxes,
    changes=lambda experience, typed, begun: typed.changes_of(experience, begun),
)
