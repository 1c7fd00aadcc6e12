"""The columns of tables of concepts."""

from __future__ import annotations

import streamlit as st

from pages.components.lists.record_table import CREATED_AT, HOW, MARKS, RELEVANCE, SOURCE, WHY, Column

NAME = Column("name", st.column_config.TextColumn("Name", width=180))
DESCRIPTION = Column("description", st.column_config.TextColumn("What it does", width=290))
LANGUAGE = Column("language", st.column_config.TextColumn("Language", width=85))
N_USES = Column(
    "n_uses", st.column_config.NumberColumn("Uses", format="localized", width=55, help="Tasks that it was used for")
)
SUCCEEDED = Column(
    "succeeded",
    st.column_config.TextColumn(
        "Succeeded", width=165, help="Of the tasks that it was used for, with the 95 % interval (Wilson)"
    ),
)

LISTED = (NAME, DESCRIPTION, SOURCE, LANGUAGE, N_USES, SUCCEEDED, MARKS, CREATED_AT)
FOUND = (NAME, RELEVANCE, DESCRIPTION, WHY, SOURCE, LANGUAGE, N_USES, SUCCEEDED, MARKS)
BESIDE = (NAME, RELEVANCE, DESCRIPTION, SOURCE, N_USES, SUCCEEDED, MARKS)
SIMILAR = (NAME, RELEVANCE, DESCRIPTION)
RELATED = (HOW, NAME, DESCRIPTION)
