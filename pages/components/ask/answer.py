"""The answer to a task: a summary, the context block, and the hits as cards."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas import MemorySystem
from atlas.views.ask.answer import (
    ONLY_HERE,
    TITLES,
    Answer,
    Part,
    RankedHit,
    block_as_json,
    block_difference,
)
from atlas.views.ask.cards import VIEWS, memory_card
from atlas.views.ask.comparison import RankingWeights
from atlas.views.ask.folding import folded_sentence
from atlas.views.ask.hidden import hidden_hits
from atlas.views.ask.judging import Judged, judged_hits
from atlas.views.lists.hits import HitCard
from atlas.views.map.page import MIN_EXPERIENCES
from atlas.views.shared.browser import asset
from atlas.views.shared.state import StoreState
from pages.components.ask.comparison import MOVES
from pages.components.ask.judging import draw_about, draw_judging
from pages.components.ask.presenting import is_presenting
from pages.components.ask.profiles import Name, Side
from pages.components.lists.cards import hit_card
from pages.components.lists.filters import URL, digest
from pages.components.lists.selection import select
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import store_state

ALL = "All"
FIRST, FIRST_PRESENTED = 3, 2
"""Number of hits per memory in the overview, normally and when presenting."""

DIFFERENCE_PIXELS = 300

_block = st.components.v2.component(
    "ask_block", css=asset("places.css") + asset("ask_block.css"), js=asset("ask_block.js")
)


def draw_summary(answer: Answer, side: Name) -> None:
    """Draw the reasons for memories without hits."""
    if sentence := folded_sentence(answer):
        with st.popover(sentence, type="tertiary", width="content", wrap=True, key=f"ask_folded_{side}"):
            for part in answer.parts:
                if part.absence and not part.is_failed:
                    st.caption(f"**{part.title}.** {part.sentence}")
    for part in answer.parts:
        if part.is_failed:
            with st.container(horizontal=True, gap="small"):
                st.badge(part.title, color="orange")
                st.text(part.sentence)


def draw_block(side: Name, answer: Answer, call: str, *, is_low: bool = False) -> None:
    """Draw the context block exactly as an agent gets it, with the positions of hits.

    Args:
        call: Sentence on the equivalent call of an agent.
        is_low: Whether it scrolls within a low frame.
    """
    st.markdown("##### What an agent is told")
    if answer.block.text:
        st.caption(answer.block_sentence, help=f"Counted with {answer.block.counted_with}. {call}")
    else:
        st.info(answer.block_sentence, icon=":material/block:")
    if answer.block.text or answer.left_out:
        _block(key=f"ask_block_{side}", data={**block_as_json(answer), "side": side, "is_low": is_low})
    if answer.block.text and not is_presenting():
        _draw_saving(side, answer)


def _draw_saving(side: Name, answer: Answer) -> None:
    st.download_button(
        "Save as a file", answer.block.text, "context.txt", key=f"ask_save_{side}", icon=":material/download:",
        type="tertiary",
    )  # fmt: skip


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


def draw_choice(found: str = "", missing: str = "") -> str:
    """Draw the choice of a memory whose hits are shown, or of all.

    Args:
        found: Sentence on the numbers of hits, or empty.
        missing: Anchor of the part of the page that explains why a record is missing, or empty.
    """
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown("##### What memory found", width="content")
        if missing and not is_presenting():
            st.markdown(f":small[[Something missing? ↓](#{missing})]", width="content")
    if found:
        st.caption(found)
    shown = st.segmented_control(
        "Hits of", [ALL, *TITLES.values()], default=ALL, required=True, key="ask_shown", bind=URL,
        label_visibility="collapsed", wrap=True,
    )  # fmt: skip
    return shown or ALL


def draw_parts(memory: MemorySystem, text: str, side: Side, answer: Answer, part_name: str) -> None:
    """Draw the hits as cards.

    Args:
        part_name: The choice that `draw_choice` returned.
    """
    judged = judged_hits(memory, text)
    first = FIRST_PRESENTED if is_presenting() else FIRST
    is_alone = sum(bool(part.hits) for part in answer.parts) == 1
    for part in answer.ordered_parts:
        if part.hits and part_name in (ALL, part.title):
            _draw_part(memory, text, side, part, None if is_alone or part_name == part.title else first, judged)
        elif part_name == part.title:
            st.caption(f"{part.title}: nothing found here.")
    if not is_presenting():
        draw_about(memory)


def _draw_part(memory: MemorySystem, text: str, side: Side, part: Part, most: int | None, judged: Judged) -> None:
    _draw_part_heading(memory, text, side, part)
    for hit in part.hits[:most]:
        acts = _draw_hit(memory, text, side.name, side.configuration.weights, part, hit)
        if is_presenting():
            continue
        draw_open(acts, part.name, hit.id)
        draw_judging(
            acts, memory, text, part.name, hit.id, judged=judged.get((part.name, hit.id)),
            key=f"ask_judged_{side.name}_{part.name}_{hit.id}",
        )  # fmt: skip
    if most is not None and len(part.hits) > most:
        st.caption(f"{len(part.hits) - most:,} more: choose {part.title} above")


def _draw_part_heading(memory: MemorySystem, text: str, side: Side, part: Part) -> None:
    """Draw the name of a memory, the number of its hits, and those that are hidden behind a button."""
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"ask_part_{side.name}_{part.name}"
    ):
        st.markdown(f"###### {part.title}", width="content")
        scale = f"Relevance goes from 0 to 1. A hit in this memory is shown from {part.level:.2f}."
        st.caption(f"{len(part.hits):,} found", width="content", help=None if is_presenting() else scale)
        if part.hidden:
            _draw_hidden(memory, text, side, part)
        if part.name == "experience" and not is_presenting():
            _draw_map_link(memory, text, side.name, part)


def _draw_hidden(memory: MemorySystem, text: str, side: Side, part: Part) -> None:
    box = st.popover(
        part.hidden, type="tertiary", key=f"ask_hidden_{side.name}_{part.name}", on_change="rerun", width="content"
    )
    if not box.open:
        return
    with box, st.container(gap="xsmall"):
        st.caption(f"A hit is shown from a relevance of {part.level:.2f}. These are below it:")
        for hit in hidden_hits(memory, text, part, side.configuration):
            st.text(f"{hit.relevance:.2f}  {hit.title}")


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
    memory: MemorySystem, text: str, side: Name, weights: RankingWeights, part: Part, hit: RankedHit
) -> DeltaGenerator:
    """Draw a hit, and return the row of its actions."""
    card = card_of(memory, text, weights, part, hit)
    place = {"number": hit.place, "memory": part.name, "side": side, "note": hit.form or hit.reason,
             "level": part.level, "is_first": hit.rank == 1}  # fmt: skip
    acts = hit_card(card, key=f"ask_{side}_{part.name}_{hit.id}", place=place)
    if hit.move:
        acts.badge(f"{hit.rank}", color="gray")
        acts.badge(hit.move, color="blue" if hit.move == ONLY_HERE else MOVES.get(hit.move[0], "gray"))  # type: ignore[arg-type]
    if hit.is_shown_otherwise:
        acts.badge(f"{'shown' if hit.is_shown else 'left out'} {ONLY_HERE}", color="green" if hit.is_shown else "gray")
    return acts


def _draw_map_link(memory: MemorySystem, text: str, side: Name, part: Part) -> None:
    with st.container(horizontal=True, width="content", vertical_alignment="center"):
        st.button("Select", key=f"ask_select_{side}", icon=":material/check_box:", type="tertiary",
                  on_click=_select, args=(memory, part), help="On every page, the map too")  # fmt: skip
        if n_experiences(memory) >= MIN_EXPERIENCES:
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
