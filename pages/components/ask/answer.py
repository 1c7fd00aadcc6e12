"""The answer to a task: a summary, the context block, and the hits as cards."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.ask.answer import (
    KEY,
    KEY_DETAILS,
    ONLY_HERE,
    Answer,
    Part,
    RankedHit,
    block_as_json,
    block_difference,
)
from atlas.views.ask.cards import VIEWS, hit_card_of
from atlas.views.ask.comparison import RankingWeights
from atlas.views.ask.judging import Judged, judgements_of
from atlas.views.lists.hits import HitCard
from atlas.views.shared.browser import asset
from atlas.views.shared.state import StoreState
from pages.components.ask.comparison import MOVES
from pages.components.ask.judging import draw_about, draw_judging
from pages.components.ask.presenting import is_presenting
from pages.components.ask.profiles import Name, Side
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import URL, digest
from pages.components.shared.snapshot import store_state

FIRST, FIRST_PRESENTED = 3, 2
"""Number of hits per memory that are shown at first, normally and when presenting."""

DIFFERENCE_PIXELS = 300

_block = st.components.v2.component(
    "ask_block", css=asset("places.css") + asset("ask_block.css"), js=asset("ask_block.js")
)


def draw_block(side: Name, answer: Answer, call: str, *, is_low: bool = False) -> None:
    """Draw the context block exactly as an agent gets it, with the positions of hits.

    Args:
        call: Sentence on the equivalent call of an agent.
        is_low: Whether it scrolls within a low frame.
    """
    with st.container(gap="xsmall"):
        st.markdown("##### What an agent is told")
        if answer.block.text:
            st.caption(answer.block_sentence)
        else:
            st.info(answer.block_sentence, icon=":material/block:")
    if answer.block.text or answer.left_out:
        _block(key=f"ask_block_{side}", data={**block_as_json(answer), "side": side, "is_low": is_low})
    if answer.block.text and not is_presenting():
        with st.expander("How an agent gets this", key=f"ask_call_{side}", icon=":material/code:"):
            st.caption(f"{call} Tokens are counted with {answer.block.counted_with}.")


def draw_block_difference(left: Answer, right: Answer) -> None:
    """Draw the diff of the blocks of A and B, if any."""
    lines = block_difference(left, right)
    if not lines:
        return
    with st.container(key="ask_block_difference"):
        st.markdown("##### Where the blocks differ")
        st.caption("A line with − is only in A, a line with + only in B.")
        with st.container(height=DIFFERENCE_PIXELS, border=False):
            st.code(lines, language="diff", wrap_lines=True)


def draw_found_heading(missing: str = "") -> None:
    """Draw the heading of the hits, with what their numbers mean.

    Args:
        missing: Anchor of the part of the page that explains why a record is missing, or empty.
    """
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown("##### What memory found", width="content")
        if missing and not is_presenting():
            st.markdown(f":small[[Something missing? ↓](#{missing})]", width="content")
    st.caption(KEY, help=KEY_DETAILS)


def draw_parts(memory: MemorySystem, text: str, side: Side, answer: Answer, advised: int = 0) -> None:
    """Draw the hits as cards, memory by memory, and a line for each memory without hits.

    Args:
        advised: Place of the hit whose advice stands above already, or 0 for none. Its card is shorter.
    """
    judged = judgements_of(memory, text)
    for part in answer.ordered_parts:
        if part.hits:
            _draw_part(memory, text, side, part, judged, advised)
    with st.container(gap="xxsmall"):
        for part in answer.ordered_parts:
            if not part.hits:
                draw_absence(part)
    if answer.n_hits and not is_presenting():
        draw_about(memory)


def _draw_part(memory: MemorySystem, text: str, side: Side, part: Part, judged: Judged, advised: int) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"ask_part_{side.name}_{part.name}"
    ):
        st.markdown(f"**{part.title}**", width="content")
        st.caption(part.reach_sentence, width="content")
    cards, first = st.container(gap="xsmall"), FIRST_PRESENTED if is_presenting() else FIRST
    is_all = len(part.hits) <= first or st.toggle(
        f"Show all {len(part.hits):,}", key=f"ask_all_{side.name}_{part.name}", bind=URL
    )
    with cards:
        for hit in part.hits if is_all else part.hits[:first]:
            is_advised = hit.is_shown and hit.place == advised
            acts = _draw_hit(memory, text, side, part, hit, is_advised=is_advised)
            _draw_acts(acts, memory, text, side, part, hit, judged)


def _draw_acts(
    acts: DeltaGenerator, memory: MemorySystem, text: str, side: Side, part: Part, hit: RankedHit, judged: Judged
) -> None:
    if is_presenting():
        return
    draw_open(acts, part.name, hit.id)
    draw_judging(
        acts, memory, text, part.name, hit.id, judged=judged.get((part.name, hit.id)),
        key=f"ask_judged_{side.name}_{part.name}_{hit.id}",
    )  # fmt: skip


def draw_absence(part: Part) -> None:
    """Draw why a memory has no hits, in one line."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if part.is_failed:
            st.badge(part.title, color="orange")
            st.text(part.sentence)
        else:
            st.caption(f"**{part.title}.** {part.sentence}")


def card_of(memory: MemorySystem, text: str, weights: RankingWeights, part: Part, hit: RankedHit) -> HitCard:
    """Return the card of a hit, cached by the store's state and the search."""
    key = digest(text, weights, hit.hit.signals)
    return _card(
        store_state(memory), part.name, hit.id, key, _memory=memory, _text=text, _hit=hit.hit, _weights=weights
    )


def draw_open(container: DeltaGenerator, name: str, record_id: str) -> None:
    """Draw a link to a record's page."""
    page = f"pages/{VIEWS[name].kind.page}.py"
    container.page_link(page, label="Open", icon=":material/open_in_new:", query_params={"id": record_id})


def _draw_hit(
    memory: MemorySystem, text: str, side: Side, part: Part, hit: RankedHit, *, is_advised: bool
) -> DeltaGenerator:
    """Draw a hit, and return the row of its actions."""
    card = card_of(memory, text, side.configuration.weights, part, hit)
    looks = {"advised": is_advised, "brief": hit.rank > 1, "bare": is_presenting()}
    place = {"number": hit.place, "memory": part.name, "side": side.name, "note": part.note(hit),
             "level": part.level, "strength": part.strength(hit),
             "looks": [look for look, is_so in looks.items() if is_so]}  # fmt: skip
    acts = hit_card(card, key=f"ask_{side.name}_{part.name}_{hit.id}", place=place)
    if hit.move:
        acts.badge(f"{hit.rank}", color="gray")
        acts.badge(hit.move, color="blue" if hit.move == ONLY_HERE else MOVES.get(hit.move[0], "gray"))  # type: ignore[arg-type]
    if hit.is_shown_otherwise:
        acts.badge(f"{'shown' if hit.is_shown else 'left out'} {ONLY_HERE}", color="green" if hit.is_shown else "gray")
    return acts


@st.cache_data(max_entries=512, show_spinner=False)
def _card(
    state: StoreState,
    name: str,
    record_id: str,
    key: str,
    *,
    _memory: MemorySystem,
    _text: str,
    _hit: Any,
    _weights: RankingWeights,
) -> HitCard:
    return hit_card_of(_memory, name, _hit, _text, _weights)
