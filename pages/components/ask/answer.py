"""The answer of the memories to a task: a line for each, the block of it, and the hits as cards."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.ask.answer import (
    IN_BLOCK,
    LEFT_OUT,
    ONLY_HERE,
    TITLES,
    Answer,
    Part,
    RankedHit,
    block_difference,
)
from atlas.views.ask.cards import VIEWS, memory_card
from atlas.views.ask.comparison import RankingWeights
from atlas.views.ask.judging import Judged, judged_hits
from atlas.views.lists.hits import HitCard
from atlas.views.map.page import FEWEST
from atlas.views.shared.state import StoreState
from pages.components.ask.comparison import MOVES
from pages.components.ask.judging import draw_about, draw_judging
from pages.components.ask.profiles import Name
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import URL, digest
from pages.components.lists.selection import select
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import store_state

ALL = "All"
FIRST = 3
"""Hits per memory that are shown beside those of the others."""

BLOCK_PIXELS, BLOCK_PIXELS_OF_TWO = 560, 300


def draw_summary(answer: Answer) -> None:
    """Draw a line for each memory: what it found, or the reason for no hits."""
    for part in answer.parts:
        with st.container(horizontal=True, gap="small"):
            st.badge(part.title, color="orange" if part.is_failed else "blue" if part.hits else "gray")
            if part.is_failed:
                st.text(part.sentence)
            else:  # words of our own
                st.caption(part.sentence)


def draw_block(side: Name, answer: Answer, call: str, pixels: int = BLOCK_PIXELS) -> None:
    """Draw the block that an agent would be given, to the token.

    Args:
        call: The call by which an agent gets it, in a sentence of our own.
    """
    block = answer.block
    st.markdown("##### What an agent is told")
    if not block.text:
        st.info(answer.block_sentence, icon=":material/block:")
        _draw_left_out(side, answer)
        return
    st.caption(f"{answer.block_sentence}, counted with {block.counted_with}. {call}")
    with st.container(height=pixels, border=False):  # it scrolls by keyboard, which code of a fixed height does not
        st.code(block.text, language=None, wrap_lines=True)
    st.download_button(
        "Save as a file", block.text, "context.txt", key=f"ask_save_{side}", icon=":material/download:", type="tertiary"
    )
    _draw_left_out(side, answer)


def _draw_left_out(side: Name, answer: Answer) -> None:
    """Draw the hits that the block does not show, each with the reason."""
    if not answer.left_out:
        return
    st.caption("Left out")
    rows = [
        {"Memory": hit.memory, "Hit": hit.caption, "Relevance": hit.relevance, "Why": hit.reason}
        for hit in answer.left_out
    ]
    config = {"Relevance": st.column_config.NumberColumn(format="percent")}
    st.dataframe(rows, hide_index=True, column_config=config, key=f"ask_left_out_{side}")


def draw_block_difference(left: Answer, right: Answer) -> None:
    """Draw the lines in which the block of B differs from that of A, if there are any."""
    lines = block_difference(left, right)
    if not lines:
        return
    with st.container(key="ask_block_difference"):
        st.markdown("##### Where the blocks differ")
        st.caption("A line with − is only in A, a line with + only in B.")
        with st.container(height=BLOCK_PIXELS_OF_TWO, border=False):
            st.code(lines, language="diff", wrap_lines=True)


def draw_choice(memory: MemorySystem) -> str:
    """Draw which memory's hits are shown: all of one, or the first of every memory."""
    part = st.segmented_control(
        "Hits of", [ALL, *TITLES.values()], default=ALL, required=True, key="ask_shown", bind=URL,
        label_visibility="collapsed", wrap=True,
    )  # fmt: skip
    draw_about(memory)
    return part or ALL


def draw_parts(
    memory: MemorySystem, text: str, side: Name, weights: RankingWeights, answer: Answer, part_name: str
) -> None:
    """Draw the hits as cards.

    Args:
        part_name: The choice that `draw_choice` returned.
    """
    judged = judged_hits(memory, text)
    for part in answer.parts:
        if part.hits and part_name in (ALL, part.title):
            _draw_part(memory, text, side, weights, part, None if part_name == part.title else FIRST, judged)
        elif part_name == part.title:
            st.caption(f"{part.title}: nothing found here.")


def _draw_part(
    memory: MemorySystem,
    text: str,
    side: Name,
    weights: RankingWeights,
    part: Part,
    most: int | None,
    judged: Judged,
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.subheader(part.title, anchor=False, width="content")
        if part.name == "experience":
            _draw_map_link(memory, text, side, part)
    for hit in part.hits[:most]:
        acts = _draw_hit(memory, text, side, weights, part, hit)
        draw_judging(
            acts, memory, text, part.name, hit.id, judged=judged.get((part.name, hit.id)),
            key=f"ask_judged_{side}_{part.name}_{hit.id}",
        )  # fmt: skip
    if most is not None and len(part.hits) > most:
        st.caption(f"{len(part.hits) - most:,} more: choose {part.title} above")


def card_of(memory: MemorySystem, text: str, weights: RankingWeights, part: Part, hit: RankedHit) -> HitCard:
    """Return the card of a hit, made once for each state of the store and each way to ask."""
    key = digest(text, weights, hit.hit.signals)
    return _card(
        store_state(memory), part.name, hit.id, key, _memory=memory, _text=text, _hit=hit.hit, _weights=weights
    )


def _draw_hit(
    memory: MemorySystem, text: str, side: Name, weights: RankingWeights, part: Part, hit: RankedHit
) -> DeltaGenerator:
    """Draw a hit, and return the row of what can be done with it."""
    card = card_of(memory, text, weights, part, hit)
    acts = hit_card(card, key=f"ask_{side}_{part.name}_{hit.id}")
    acts.badge(f"{hit.rank}", color="gray")
    if hit.move:
        acts.badge(hit.move, color="blue" if hit.move == ONLY_HERE else MOVES.get(hit.move[0], "gray"))  # type: ignore[arg-type]
    place = IN_BLOCK if hit.is_shown else LEFT_OUT
    acts.badge(f"{place}, {ONLY_HERE}" if hit.is_shown_otherwise else place, color="green" if hit.is_shown else "gray")
    page = f"pages/{VIEWS[part.name].kind.page}.py"
    acts.page_link(page, label="Open", icon=":material/open_in_new:", query_params={"id": hit.id})
    return acts


def _draw_map_link(memory: MemorySystem, text: str, side: Name, part: Part) -> None:
    with st.container(horizontal=True, width="content", vertical_alignment="center"):
        st.button("Select", key=f"ask_select_{side}", icon=":material/check_box:", type="tertiary",
                  on_click=_select, args=(memory, part), help="On every page, the map too")  # fmt: skip
        if n_experiences(memory) >= FEWEST:
            st.page_link("pages/map.py", label="Show on the map", icon=":material/scatter_plot:",
                         query_params={"scope_text": text})  # fmt: skip


def _select(memory: MemorySystem, part: Part) -> None:
    select([hit.id for hit in part.hits], origin="a task on Ask", revision=memory.revision())


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
    return memory_card(_memory, name, _hit, _text, _weights)
