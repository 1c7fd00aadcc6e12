"""The audit log: sign-ins, refusals, and changes of roles."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from atlas import MemorySystem
from atlas.views.settings.audit import as_csv, audit_rows, kinds_of, of_kind
from atlas.views.settings.roles import may_administer

COLUMNS = {
    "at": st.column_config.TextColumn("When", width=190),
    "what": st.column_config.TextColumn("What", width=180),
    "who": st.column_config.TextColumn("Who", width=180),
    "about": st.column_config.TextColumn("About", width="large"),
}
MAX_SHOWN = 1_000


def draw_audit(memory: MemorySystem) -> None:
    """Draw the events, and the button that downloads all of them."""
    st.caption(
        "Sign-ins, who was refused, keys, links, roles, purges, backups and restores. It is no part of the memory: no "
        "backup or export has it, and undoing leaves it alone."
    )
    if not may_administer():
        st.info("Only an admin sees the audit log of this store.", icon=":material/lock:")
        return
    rows = audit_rows(memory)
    if not rows:
        st.text("Nothing has happened yet.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = st.selectbox("What", kinds_of(rows), index=None, placeholder="Everything", key="settings_audit_kind",
                            width=260)  # fmt: skip
        chosen = of_kind(rows, kind)
        st.download_button("Download as CSV", as_csv(chosen), "audit.csv", "text/csv", key="settings_audit_download",
                           icon=":material/download:", on_click="ignore")  # fmt: skip
    st.dataframe([asdict(row) for row in chosen[:MAX_SHOWN]], column_config=COLUMNS, hide_index=True,
                 alt="Events of the audit log")  # fmt: skip
    if len(chosen) > MAX_SHOWN:
        st.caption(f"The newest {MAX_SHOWN:,} of {len(chosen):,}. The download has all of them.")
