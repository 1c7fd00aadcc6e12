"""Curate: an inbox of cases to decide, its queues, pruning, refining and compressing. All but a purge can be undone."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.curate.cases import Cases
from atlas.views.curate.health import BURIED, DUPLICATES, FAILING, Health
from atlas.views.curate.queues import (
    COMPRESS,
    INBOX,
    MEANINGS,
    QUARANTINE,
    REFINE,
    REPEATED,
    REVIEW,
    RULE,
    RULES,
    RULES_HELP,
    SUSPICIOUS,
    DuplicatesResult,
    tabs,
)
from atlas.views.curate.review import n_waiting
from atlas.views.shared.wording import counted
from pages.components.concepts.compression import draw_compression
from pages.components.curate.case_list import draw_undo
from pages.components.curate.duplicates import page_duplicates
from pages.components.curate.health import page_health
from pages.components.curate.inbox import draw_inbox, page_cases
from pages.components.curate.queues import (
    draw_criteria,
    draw_domains,
    draw_groups,
    draw_queue,
    draw_repeated,
)
from pages.components.curate.review import draw_review
from pages.components.curate.scan import draw_suspicious, page_scan
from pages.components.experience.kind_page import PAGE
from pages.components.experience.refinement import draw_refinement
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.lists.kind_page import draw_opened
from pages.components.lists.listing import draw_beside
from pages.components.shared.scope import current_where, draw_awaited, n_experiences
from pages.components.shared.snapshot import page_memory
from pages.frame.address import QUEUE, parameter, set_parameter


def ask(memory: MemorySystem, titles: dict[str, str]) -> tuple[str, DeltaGenerator]:
    """Return the open queue or rule, which is in the URL, so that it can be linked, and a container beside it."""
    opened = parameter(QUEUE)
    current = opened if opened in titles else next(iter(titles))
    suffix = abs(hash((*titles.items(), current)))  # new keys if a count or the URL changes
    queues = [name for name in titles if name not in RULES]
    with st.container(horizontal=True, vertical_alignment="bottom", key="curate_bar"):
        key = f"curate_tab_{suffix}"
        st.selectbox(
            "Cases",
            queues,
            queues.index(current) if current in queues else None,
            format_func=titles.__getitem__,
            key=key,
            on_change=_open,
            args=(key,),
            placeholder="Back to all cases",
            help=MEANINGS[INBOX],
            width=280,
        )
        key = f"curate_rule_{suffix}"
        st.segmented_control(
            "Many at once",
            RULES,
            default=current if current in RULES else None,
            format_func=titles.__getitem__,
            key=key,
            help=RULES_HELP,
            on_change=_open,
            args=(key,),
        )
        draw_undo(memory)
        beside = st.container(width="stretch")
    return current, beside


def _open(key: str) -> None:
    set_parameter(QUEUE, st.session_state[key] or INBOX)


def draw(memory: MemorySystem) -> None:
    """Draw the choice of queues, and the open one."""
    if draw_awaited(memory):
        return
    found, duplicates = page_health(memory), page_duplicates(memory)
    scope = current_where(memory)
    scanned = page_scan(memory)
    cases = page_cases(memory, found, duplicates, scope, scanned)
    queue, beside = ask(memory, tabs(cases.counts(), parameter(QUEUE)))
    if queue != INBOX:
        st.caption(MEANINGS[queue])
    if queue == SUSPICIOUS and scanned.n_left:
        st.caption(f"{counted(scanned.n_left, 'record')} still to be scanned. Reload to see the newest findings.")
    if queue == RULE:
        draw_criteria(memory, scope)
    elif queue == REFINE:
        draw_refinement(memory, scope)
    elif queue == COMPRESS:
        draw_compression(memory, scope)
    else:
        if queue != BURIED:  # already decided
            draw_inbox(memory, cases.in_queue(queue), queue, beside)
        draw_whole_queue(memory, cases, queue, found, duplicates)


def draw_whole_queue(
    memory: MemorySystem, cases: Cases, queue: str, health: Health, duplicates: DuplicatesResult
) -> None:
    """Draw the open queue with its bulk actions."""
    if queue == REVIEW:
        draw_review(memory)
    elif queue in (SUSPICIOUS, QUARANTINE):
        draw_suspicious(memory, cases.in_queue(queue))
    elif queue == DUPLICATES:
        draw_groups(memory, duplicates, cases.groups(queue))
    elif queue == REPEATED:
        draw_repeated(memory, duplicates, cases.groups(queue))
    elif queue == FAILING:
        draw_domains(memory, health)
    elif queue != INBOX:
        draw_queue(memory, queue, tuple(case.ids[0] for case in cases.in_queue(queue)))


memory = page_memory()
draw_heading(
    "Curate",
    "Cases to decide, worst first. Whatever merges, retires or deletes shows a preview first, and can be undone.",
    is_one_line=True,
)
if not n_experiences(memory) and not n_waiting(memory) and not page_scan(memory).findings:
    draw_empty(memory, "Duplicates, failing domains and outdated experiences are listed here for cleaning up.")
else:
    draw_beside(lambda is_beside: draw(memory), partial(draw_opened, PAGE, memory))
