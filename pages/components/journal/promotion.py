"""The texts that promoting a journal entry would write, and afterwards the way there and back."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from atlas.views.journal.promotion import PromoteProposal, PromotionEnd
from atlas.views.shared.wording import shortened
from pages.components.shared.texts import draw_code

TITLE_CHARACTERS = 80


def draw_becoming(proposal: PromoteProposal) -> None:
    """Draw each proposed text on its own tab, because they are long."""
    st.caption("What would be written")
    for tab, part in zip(st.tabs([part.name for part in proposal.parts]), proposal.parts, strict=True):
        with tab:
            draw_code(part.text, key=f"plan_becomes_{part.name}")


def draw_ends(ends: Sequence[PromotionEnd], words: str) -> None:
    """Draw links to the records from entries, or to the source entries of a record.

    Args:
        words: The words before a link: `Promoted to`.
    """
    for end in ends:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(f"pages/{end.kind.page}.py", label=f"{words} {end.kind.noun}", icon=":material/upgrade:",
                         query_params={"id": end.id})  # fmt: skip
            st.text(shortened(end.title, TITLE_CHARACTERS))
