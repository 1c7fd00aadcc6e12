"""The steps of an attempt: a line each, which opens, with a search and a way to those that went wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import uuid4

import streamlit as st

from atlas.views.experience.experience import ExperienceDetail
from atlas.views.experience.steps import (
    OPEN_UP_TO,
    STEPS_SHOWN,
    StepLine,
    neighbouring_error,
    step_lines,
    step_view,
)
from atlas.views.shared.browser import asset
from pages.components.experience.parts import draw_part

_OPENED, _AT, _JUMP = "experience_steps_opened", "experience_step_at", "experience_step_jump"

_scroll = st.components.v2.component("step_scroll", js=asset("steps.js"), isolate_styles=False)


def draw_steps(detail: ExperienceDetail) -> None:
    """Draw the steps of an attempt, a page at a time."""
    if not detail.steps:
        st.caption("The source kept no steps.")
        return
    every = step_lines(detail.steps)
    errors = [line.number for line in every if line.is_error]
    lines = _draw_bar(detail, every, errors)
    page_lines = _draw_pages(detail, lines)
    with st.container(gap="xsmall"):
        for line in page_lines:
            _draw_step(detail, line)
    _scroll_to_jump(detail, page_lines)


def _draw_bar(detail: ExperienceDetail, every: Sequence[StepLine], errors: list[int]) -> Sequence[StepLine]:
    """Draw how many steps there are, the search in them and the ways to errors. Return the steps to show."""
    n = len(every)
    st.caption(_count(n, len(errors)))
    if n <= OPEN_UP_TO:
        return every
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input("Find in steps", key=f"experience_steps_find_{detail.id}", type="search", width=220)
        st.number_input("Go to step", 1, n, None, key=f"experience_steps_go_{detail.id}", on_change=_go_typed,
                        args=(detail, n), width=120)  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        only = bool(errors) and st.toggle("Errors only", key=f"experience_steps_errors_{detail.id}",
                                          on_change=_open_these, args=(detail.id, errors))  # fmt: skip
        for label, name, is_next in (("Previous error", "previous", False), ("Next error", "next", True)):
            icon = f":material/arrow_{'downward' if is_next else 'upward'}:"
            st.button(label, key=f"experience_steps_{name}_{detail.id}", icon=icon, type="tertiary",
                      disabled=not errors, on_click=_go_to_error, args=(detail, errors, is_next))  # fmt: skip
        numbers = [line.number for line in every]
        for label, name, opened in (("Open all", "open", numbers), ("Close all", "close", [])):
            st.button(label, key=f"experience_steps_{name}_{detail.id}", type="tertiary", on_click=_open_these,
                      args=(detail.id, opened))  # fmt: skip
    return step_lines(detail.steps, words=words or "", only_errors=only)


def _count(n: int, n_errors: int) -> str:
    steps = "1 step" if n == 1 else f"{n:,} steps"
    return f"{steps}, {n_errors:,} with an error" if n_errors else steps


def _draw_pages(detail: ExperienceDetail, lines: Sequence[StepLine]) -> Sequence[StepLine]:
    """Return the steps of the page that is shown. Draw the way to the others above them."""
    n_pages = -(-len(lines) // STEPS_SHOWN)
    if not n_pages:
        st.caption("No step contains this text.")
    if n_pages <= 1:
        return lines
    page = min(st.pagination(n_pages, key=_pages_key(detail.id)), n_pages)
    return lines[(page - 1) * STEPS_SHOWN : page * STEPS_SHOWN]


def _draw_step(detail: ExperienceDetail, line: StepLine) -> None:
    is_open = line.number in _opened(detail)
    with st.container(border=is_open, gap="xsmall", key=_step_key(detail.id, line.number)):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                f"Step {line.number:,}", key=f"experience_step_open_{detail.id}_{line.number}", type="tertiary",
                icon=f":material/{'expand_more' if is_open else 'chevron_right'}:", on_click=_turn,
                args=(detail, line.number),
            )  # fmt: skip
            if line.is_error:
                st.badge("error", icon=":material/error:", color="orange")
            if not is_open:
                st.text(line.summary)
        if is_open:
            for part in step_view(detail.steps, line.number).parts:
                draw_part(part, key=f"experience_{detail.id}_{line.number}_{part.name}")


def _opened(detail: ExperienceDetail) -> frozenset[int]:
    """Return the steps that are open: all of a short attempt, and of a long one those that the person has opened."""
    initial = range(1, len(detail.steps) + 1) if len(detail.steps) <= OPEN_UP_TO else ()
    opened: tuple[str, frozenset[int]] = st.session_state.get(_OPENED, ("", frozenset()))
    return opened[1] if opened[0] == detail.id else frozenset(initial)


def _open_these(experience_id: str, numbers: Sequence[int]) -> None:
    st.session_state[_OPENED] = (experience_id, frozenset(numbers))


def _turn(detail: ExperienceDetail, number: int) -> None:
    _open_these(detail.id, [*(_opened(detail) ^ {number})])


def _go_typed(detail: ExperienceDetail, n: int) -> None:
    number = st.session_state[f"experience_steps_go_{detail.id}"]
    if number is not None:
        _go_to(detail, min(max(int(number), 1), n))


def _go_to_error(detail: ExperienceDetail, errors: Sequence[int], is_next: bool) -> None:
    at: tuple[str, int] = st.session_state.get(_AT, ("", 0))
    number = neighbouring_error(errors, at[1] if at[0] == detail.id else 0, is_next=is_next)
    if number is not None:
        _go_to(detail, number)


def _go_to(detail: ExperienceDetail, number: int) -> None:
    """Open a step, and turn to its page among all of them."""
    st.session_state[f"experience_steps_find_{detail.id}"] = ""
    st.session_state[f"experience_steps_errors_{detail.id}"] = False
    st.session_state[_AT] = (detail.id, number)
    st.session_state[_JUMP] = uuid4().hex
    st.session_state[_pages_key(detail.id)] = (number - 1) // STEPS_SHOWN + 1
    _open_these(detail.id, [number])


def _scroll_to_jump(detail: ExperienceDetail, page_lines: Sequence[StepLine]) -> None:
    """Bring the step that was last jumped to into view, once, if it is on this page."""
    of, number = st.session_state.get(_AT, ("", 0))
    if of == detail.id and any(line.number == number for line in page_lines):
        drawn_as = re.sub(r"[^a-zA-Z0-9_-]", "-", _step_key(detail.id, number))  # as Streamlit makes a class of a key
        _scroll(data={"step": f"st-key-{drawn_as}", "jump": st.session_state[_JUMP]}, key="experience_step_scroll")


def _step_key(experience_id: str, number: int) -> str:
    return f"experience_step_{experience_id}_{number}"


def _pages_key(experience_id: str) -> str:
    return f"experience_steps_{experience_id}"
