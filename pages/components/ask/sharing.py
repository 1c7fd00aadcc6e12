"""The acts on an answer: share it by a link or a report, save its blocks, and go on with its experiences."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.ask.answer import (
    Answer,
    agents_call,
    block_difference,
    difference_sentence,
    settings_differing,
)
from atlas.views.ask.html import Report, ReportedSide, report_page
from atlas.views.ask.report import about_store
from atlas.views.ask.trial import Trial
from atlas.views.map.page import MIN_EXPERIENCES
from atlas.views.shared.browser import asset
from atlas.views.shared.state import bind_actor
from atlas.views.shared.wording import counted
from pages.components.ask.answer import card_of
from pages.components.ask.profiles import Side
from pages.components.ask.trial import trial_of
from pages.components.lists.selection import select
from pages.components.shared.scope import n_experiences

_link = st.components.v2.component("copy_link", css=asset("copy_link.css"), js=asset("copy_link.js"))


def draw_link() -> None:
    """Draw the button that copies the URL of the page's current state. If the browser refuses, it shows the URL."""
    _link(key="ask_link", width="content")


def draw_going_on(memory: MemorySystem, text: str, answers: list[Answer]) -> None:
    """Draw the buttons that select the experiences of a single answer, and show all like the task on the map."""
    ids = [hit.id for part in answers[0].parts if part.name == "experience" for hit in part.hits]
    if not ids:
        return
    if len(answers) == 1:
        st.button(f"Select the {counted(len(ids), 'experience')}", key="ask_select", icon=":material/check_box:",
                  type="tertiary", on_click=_select, args=(memory, ids), help="On every page, the map too")  # fmt: skip
    if n_experiences(memory) >= MIN_EXPERIENCES:
        st.page_link("pages/map.py", label="Show on the map", icon=":material/scatter_plot:",
                     query_params={"scope_text": text})  # fmt: skip


def draw_saving(memory: MemorySystem, text: str, sides: list[Side], answers: list[Answer], budget: int) -> None:
    """Draw the buttons that download each block, and the page's content as one file."""
    for side, answer in zip(sides, answers, strict=True):
        if answer.block.text:
            st.download_button(
                " ".join(filter(None, ["Save the block", side.title])), answer.block.text, "context.txt",
                key=f"ask_save_{side.name}", icon=":material/download:", on_click="ignore", type="tertiary",
                help="The text that an agent is told",
            )  # fmt: skip
    trial = trial_of(text, answers[0].block.text) if len(answers) == 1 else None
    content = bind_actor(partial(_report, memory, text, sides, answers, budget, trial))
    st.download_button(
        "Save report", content, "atlas-ask.html", "text/html",
        key="ask_report", icon=":material/description:", on_click="ignore", type="tertiary",
        help="One HTML file with the hits, the block and every setting. It opens offline and without the store.",
    )  # fmt: skip


def _select(memory: MemorySystem, ids: list[str]) -> None:
    select(ids, origin="a task on Ask", revision=memory.revision())


def _report(
    memory: MemorySystem, text: str, sides: list[Side], answers: list[Answer], budget: int, trial: Trial | None
) -> str:
    reported = [_side(memory, text, side, answer, budget) for side, answer in zip(sides, answers, strict=True)]
    report = Report(task=text, about=about_store(memory), sides=tuple(reported), trial=trial)
    if len(answers) == 1:
        return report_page(report)
    left, right = answers
    difference = f"{settings_differing(*(side.configuration for side in sides))} {difference_sentence(left, right)}"
    return report_page(replace(report, difference=difference, block_difference=block_difference(left, right)))


def _side(memory: MemorySystem, text: str, side: Side, answer: Answer, budget: int) -> ReportedSide:
    weights = side.configuration.weights
    return ReportedSide(
        title=side.title,
        call=agents_call(side.configuration, budget, memory.experience.weights),
        answer=answer,
        cards={
            (part.name, hit.id): card_of(memory, text, weights, part, hit) for part in answer.parts for hit in part.hits
        },
    )
