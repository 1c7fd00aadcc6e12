"""The columns of tables of strategies."""

from __future__ import annotations

import streamlit as st

from pages.components.lists.record_table import CREATED_AT, MARKS, RELEVANCE, WHY, Column

TITLE = Column("title", st.column_config.TextColumn("Strategy", width=300))
SUGGESTION = Column("suggestion", st.column_config.TextColumn("What to do", width=260))
SUCCEEDED = Column(
    "succeeded",
    st.column_config.TextColumn(
        "Succeeded",
        width=165,
        help="The success rate of its tries with its 95 % interval. A try is an attempt that it was retrieved for",
    ),
)
BAR = Column(
    "bar",
    st.column_config.ImageColumn(
        "0 – 50 – 100 %",
        width=140,
        help="The success rate of its tries with its 95 % interval",
    ),
    is_optional=True,
)
TREND = Column(
    "trend",
    st.column_config.TextColumn(
        "Trend",
        width=105,
        help="Earlier tries compared with the latest. An arrow up or down means a change that is unlikely to be chance",
    ),
    is_optional=True,
)
ABOUT_WITHOUT = "Success rate of attempts made without it at the tasks that it comes from. Its sources are among them."
WITHOUT = Column(
    "without",
    st.column_config.TextColumn("Same tasks without it", width=165, help=ABOUT_WITHOUT),
    is_optional=True,
)
N_SOURCES = Column(
    "n_sources",
    st.column_config.NumberColumn(
        "Sources", format="localized", width=65, help="Successful attempts that it was abstracted from"
    ),
)
RETIRED = Column(
    "retired",
    st.column_config.TextColumn("Retired", width=110, help="Kept and shown, but not given to agents"),
    is_optional=True,
)
WRITTEN_BY = Column("written_by", st.column_config.TextColumn("Written by", width=90))

LISTED = (
    TITLE,
    SUCCEEDED,
    BAR,
    TREND,
    WITHOUT,
    SUGGESTION,
    N_SOURCES,
    RETIRED,
    WRITTEN_BY,
    MARKS,
    CREATED_AT,
)
FOUND = (TITLE, RELEVANCE, SUCCEEDED, BAR, TREND, WITHOUT, SUGGESTION, WHY, RETIRED, WRITTEN_BY, MARKS)
BESIDE = (TITLE, BAR, RELEVANCE, SUCCEEDED, RETIRED, MARKS)
SIMILAR = (TITLE, RELEVANCE, SUCCEEDED, BAR)
