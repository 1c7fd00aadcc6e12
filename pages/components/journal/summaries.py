"""The summaries that a compaction would write, with their source entries, and the reasons for entries that stay."""

from __future__ import annotations

import streamlit as st

from atlas.views.journal.forgetting import CompactPlan
from atlas.views.journal.proposals import CompactProposal, SummaryView, kept_sentences
from atlas.views.shared.wording import counted
from pages.components.lists.record_table import table_height
from pages.components.shared.texts import draw_code

SOURCES_AT_ONCE = 5

KEPT_COLUMNS = {
    "n": st.column_config.NumberColumn("Entries", format="localized", width=70),
    "why": st.column_config.TextColumn("Why they stay", width="large"),
}


def draw_summaries(proposal: CompactProposal) -> None:
    """Draw the proposed summaries, and the entries that stay unchanged."""
    if proposal.summaries:
        written = f"{counted(len(proposal.summaries), 'summary')} would be written."
        st.caption(f"{written} Their sources become search only unless they are among the latest.")
    for number, summary in enumerate(proposal.summaries):
        _draw_summary(summary, key=f"plan_summary_{number}")
    draw_kept(proposal.plan)


def draw_kept(plan: CompactPlan) -> None:
    """Draw the reasons why entries would stay, with the number of entries for each."""
    rows = [{"n": n, "why": reason} for reason, n in kept_sentences(plan)]
    if rows:
        st.caption("What stays where it is")
        st.dataframe(rows, column_config=KEPT_COLUMNS, hide_index=True, width="content",
                     alt="What stays where it is")  # fmt: skip


def _draw_summary(summary: SummaryView, *, key: str) -> None:
    with st.expander(summary.headline):
        st.text(summary.origin)
        draw_code(summary.content, key=key)
        st.dataframe(
            [{"source": source} for source in summary.sources],
            column_config={"source": st.column_config.TextColumn("Stands for", width="large")},
            hide_index=True,
            height=table_height(len(summary.sources), SOURCES_AT_ONCE),
            alt="What the summary stands for",
        )
