"""What promoting a journal entry would write, as its plan shows it, and afterwards the way there and back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas.views.journal_promoting import Became, PromoteProposal
from pages.components.texts import draw_code


def draw_becoming(proposal: PromoteProposal) -> None:
    """Each text of what would be written."""
    for part in proposal.parts:
        st.caption(part.name)
        draw_code(part.text, key=f"plan_becomes_{part.name}")


def draw_ends(ends: Sequence[Became], words: str) -> None:
    """Links to what entries became, or to the entries that it was made of.

    Args:
        words: What a link says before what it leads to: `Became this`.
    """
    for end in ends:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(f"pages/{end.kind.page}.py", label=f"{words} {end.kind.noun}", icon=":material/upgrade:",
                         query_params={"id": end.id})  # fmt: skip
            st.text(end.title)
