"""The list of experiences: what is in scope, sorted and paged, and beside it the one that is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.finding import experience_card
from atlas.views.experience.list import EXPERIENCES, ExperienceRow, placed_and_marked
from atlas.views.lists.listing import Query
from atlas.views.shared.kinds import EXPERIENCE
from atlas.views.shared.scope import BEST_MATCH
from pages.components.experience.columns import BESIDE, FOUND, LISTED
from pages.components.experience.panel import experience_panel
from pages.components.lists.filters import URL, draw_irrelevant, turn_to_first_page
from pages.components.lists.hits import hit_card
from pages.components.lists.listing import Answer, Lister, cards_of, draw_list, find, split
from pages.components.lists.record_table import opened_id
from pages.components.shared.narrowing import current_scope
from pages.components.shared.scope import current_where, draw_awaited
from pages.components.shared.snapshot import page_map


def _placed(memory: MemorySystem, rows: Sequence[ExperienceRow]) -> Sequence[ExperienceRow]:
    return placed_and_marked(memory, rows, page_map(memory))


LISTER = Lister(
    records=EXPERIENCES,
    listed_columns=LISTED,
    found_columns=FOUND,
    beside_columns=BESIDE,
    card=experience_card,
    selects_all=True,
    finish=_placed,
)


def draw_experiences(memory: MemorySystem) -> None:
    """Draw the experiences in scope, and beside them the one that is open."""
    opened = opened_id()
    beside, panel = split(opened, (3, 4))
    with beside:
        bar = st.container(horizontal=True, vertical_alignment="center")
        with bar:
            query = _ask(memory)
        answer = find(LISTER, memory, query)
        if not draw_awaited(memory):
            draw_list(LISTER, memory, answer, is_beside=bool(opened), bar=bar)
    if opened and panel is not None:
        with panel:
            experience_panel(memory, opened, partial(_draw_why, memory, answer, opened))


def _ask(memory: MemorySystem) -> Query:
    """Return the scope and the order. Another question begins its list at the first page."""
    scope = current_scope()
    order = st.selectbox(
        "Sort", list(EXPERIENCE.orders), key="experiences_order", disabled=scope.is_search, width=170, bind=URL,
        label_visibility="collapsed",
    )  # fmt: skip
    is_ranked = scope.is_search and scope.by == BEST_MATCH
    with_irrelevant = is_ranked and draw_irrelevant("experiences")
    distinct = is_ranked and st.toggle(
        "One per task", key="experiences_distinct", bind=URL,
        help="Shows similar attempts at the same task as one row, with the best of them.",
    )  # fmt: skip
    turn_to_first_page((scope, order, with_irrelevant, distinct), "experiences")
    where = current_where(memory)
    return Query(
        text=scope.text, by=scope.by, where=where, order=order, with_irrelevant=with_irrelevant, distinct=distinct
    )


def _draw_why(memory: MemorySystem, answer: Answer, opened: str) -> None:
    """Draw why the open experience was found, if there is a question."""
    if answer.result is None:
        return
    is_found = opened in answer.result.ids
    st.caption("Why it is here" if is_found else "The open experience is not among the results of this search.")
    for card in cards_of(LISTER, memory, answer, [opened] if is_found else []):
        hit_card(replace(card, title=""), key=f"experience_why_{card.id}")  # the title stands right below
