"""The columns of tables of experiences."""

from __future__ import annotations

import streamlit as st

from pages.components.lists.record_table import CREATED_AT, MARKS, RELEVANCE, SOURCE, WHY, Column

SIGN = Column("sign", st.column_config.TextColumn("", width=30))
OUTCOME = Column("outcome", st.column_config.TextColumn("Outcome", width=105))
TASK = Column("task", st.column_config.TextColumn("Task", width=380))
ATTEMPTS = Column(
    "attempts",
    st.column_config.TextColumn(
        "Attempts", width=150, help="Similar attempts at the task, and how they went. The best one is shown."
    ),
)
DOMAIN = Column("domain", st.column_config.TextColumn("Domain", width=140), is_optional=True)
N_STEPS = Column("n_steps", st.column_config.NumberColumn("Steps", format="localized", width=55))

LISTED = (OUTCOME, TASK, DOMAIN, MARKS, N_STEPS, CREATED_AT, SOURCE)
FOUND = (OUTCOME, RELEVANCE, TASK, ATTEMPTS, WHY, DOMAIN, MARKS, SOURCE)
BESIDE = (SIGN, RELEVANCE, TASK, ATTEMPTS, MARKS)
SIMILAR = (SIGN, RELEVANCE, TASK)
QUEUED = (OUTCOME, TASK, DOMAIN, SOURCE, CREATED_AT, MARKS)
"""On Curate."""
