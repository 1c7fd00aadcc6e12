"""The page of experiences: narrowed by the scope, with their domains on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.experience.experience import ExperienceDetail, experience_detail
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.experience.list import ExperienceRow, place_and_mark
from atlas.views.kinds.kind import Kind
from atlas.views.lists.queries import Query
from atlas.views.shared.scope import BEST_MATCH, Scope
from atlas.views.shared.wording import counted
from pages.components.curate.health import page_domains
from pages.components.experience.chosen import draw_looking, draw_outcomes
from pages.components.experience.panel import PANEL
from pages.components.lists.filters import URL, draw_irrelevant, draw_order, turn_to_first_page
from pages.components.lists.kind_page import KindPage
from pages.components.lists.listing import draw_finding_button
from pages.components.shared.narrowing import current_scope, narrow_to
from pages.components.shared.scope import current_where, draw_scope_boxes, draw_scope_sentence
from pages.components.shared.snapshot import page_map


def _ask(memory: MemorySystem, kind: Kind) -> Query:
    """Draw the boxes of the scope and return the query. Another question begins its list at the first page."""
    more = draw_scope_boxes(memory, is_row=True)
    scope = current_scope()
    is_ranked = scope.is_search and scope.by == BEST_MATCH
    with more:
        order = draw_order(kind, is_search=scope.is_search)
        distinct = (is_ranked or not scope.is_search) and st.toggle(
            "One row per task", value=True, key="experiences_distinct", bind=URL,
            help="Shows the attempts at one task as one row. A search joins those that are alike.",
        )  # fmt: skip
    with_irrelevant = is_ranked and draw_irrelevant("experiences")
    turn_to_first_page((scope, order, with_irrelevant, distinct), "experiences")
    where = current_where(memory)
    return Query(
        text=scope.text, by=scope.by, where=where, order=order, with_irrelevant=with_irrelevant, distinct=distinct
    )


def _draw_weak_domains(memory: MemorySystem, query: Query) -> None:
    """Draw how many domains fail clearly more often than the others, as a button that lists their attempts."""
    weak = [line.number for line in page_domains(memory) if line.is_failing and not (query.where or query.is_search)]
    if weak:
        draw_finding_button(
            f"{counted(len(weak), 'domain')} below average",
            "experiences_weak",
            partial(narrow_to, Scope(domains=tuple(weak))),
            help_text="They fail clearly more often than the others. Lists only their attempts",
        )


def _complete(memory: MemorySystem, rows: Sequence[ExperienceRow]) -> Sequence[ExperienceRow]:
    return place_and_mark(memory, rows, page_map(memory))


def _detail(memory: MemorySystem, experience_id: str) -> ExperienceDetail | None:
    return experience_detail(memory, experience_id, page_map(memory))


PAGE = KindPage(
    views=replace(EXPERIENCES, detail=_detail),
    panel=PANEL,
    draw_finding=_draw_weak_domains,
    ask=_ask,
    draw_above=lambda memory, query: draw_scope_sentence(memory),
    finish=_complete,
    widths=(3, 4),
    draw_acts=draw_outcomes,
    draw_looking=draw_looking,
)
