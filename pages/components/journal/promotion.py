"""The texts that promoting a journal entry would write."""

from __future__ import annotations

import streamlit as st

from atlas.views.journal.promotion import PromoteProposal
from pages.components.shared.texts import draw_code


def draw_becoming(proposal: PromoteProposal) -> None:
    """Draw each proposed text on its own tab, because they are long."""
    st.caption("What would be written")
    for tab, part in zip(st.tabs([part.name for part in proposal.parts]), proposal.parts, strict=True):
        with tab:
            draw_code(part.text, key=f"plan_becomes_{part.name}")
