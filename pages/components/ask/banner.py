"""The head of an answer: what an agent is advised, and how attempts at a similar task went."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from atlas.views.ask.advice import Advice
from atlas.views.ask.answer import STRONG, Answer
from atlas.views.ask.proof import Proof, strength_of
from pages.components.ask.proof import ANCHOR, outcomes_phrase

SHARES = (3, 2)
"""Widths of the advice and of the evidence beside it."""

COLOURS: dict[str, Literal["violet", "blue", "orange"]] = {
    "strategies": "violet",
    "experience": "blue",
    "concepts": "orange",
}
"""Colours of the memories, as their places in the block have them."""

EVIDENCE = "Did memory help before?"
CAVEAT = "One case only."
IN_BLOCK = "What solved a task like this one: see place {} below."


def draw_banner(answer: Answer, advice: Advice | None, proof: Proof | None) -> None:
    """Draw what to do, and how attempts at the task of a strong hit went with memory and without."""
    with st.container(border=True, key="ask_banner"):
        if proof is None or strength_of(answer, proof) != STRONG:
            _draw_advice(answer, advice)
            return
        left, right = st.columns(SHARES, gap="medium")
        with left:
            _draw_advice(answer, advice)
        with right:
            _draw_evidence(proof)


def _draw_advice(answer: Answer, advice: Advice | None) -> None:
    """Draw the advice above its source, or else what memory has."""
    with st.container(gap="xxsmall", key="ask_advice"):
        if advice is None:
            st.markdown(f"**{answer.verdict}**")
            return
        st.caption(f"**{advice.heading}** · {advice.strength} match")
        st.text(advice.quotation or IN_BLOCK.format(advice.place))
        with st.container(horizontal=True, wrap=False, gap="small", key="ask_advice_source"):
            st.badge(f"{advice.place}", color=COLOURS[advice.memory], help="Its place in what an agent is told")
            st.text(advice.source)


def _draw_evidence(proof: Proof) -> None:
    with st.container(gap="xxsmall", key="ask_evidence"):
        st.caption(f"**{EVIDENCE}**")
        without, with_memory = map(outcomes_phrase, proof.outcomes)
        link = f"[See both side by side\u00a0↓](#{ANCHOR})"
        st.markdown(f"A similar task {without} without memory and {with_memory} with it. {link}")
        st.text(f"“{proof.quotation}” {CAVEAT}")
