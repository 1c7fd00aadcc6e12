"""The columns of tables of journal entries."""

from __future__ import annotations

import streamlit as st

from pages.components.lists.record_table import CREATED_AT, HOW, MARKS, RELEVANCE, WHY, Column

ENTRY_TYPE = Column("entry_type", st.column_config.TextColumn("Type", width=115))
GENERATION = Column(
    "generation",
    st.column_config.NumberColumn("Gen.", format="localized", width=55, help="Generation of the agent"),
)
CONTENT = Column("content", st.column_config.TextColumn("What it says", width=420))
IMPORTANCE = Column(
    "importance", st.column_config.NumberColumn("Importance", format="%.2f", width=85, help="From 0 to 1")
)
TIER = Column("tier", st.column_config.TextColumn("Tier", width=70))
N_LINKS = Column(
    "n_links", st.column_config.NumberColumn("Links", format="localized", width=50, help="Links to other entries")
)

LISTED = (GENERATION, ENTRY_TYPE, CONTENT, IMPORTANCE, TIER, N_LINKS, MARKS, CREATED_AT)
FOUND = (GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT, WHY, TIER, MARKS)
BESIDE = (GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT, MARKS)
SIMILAR = (GENERATION, ENTRY_TYPE, RELEVANCE, CONTENT)
AROUND = (GENERATION, ENTRY_TYPE, CONTENT, CREATED_AT)
LINKED = (HOW, GENERATION, ENTRY_TYPE, CONTENT)
