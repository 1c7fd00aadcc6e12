"""The uses of a record as a table whose rows open the attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from atlas import MemorySystem
from atlas.views.lists.uses import COLUMNS, MAX_USES, Use, use_rows
from pages.components.lists.record_table import plain_table
from pages.components.shared.narrowing import go_from_click

MANY_ROWS, SCROLLING_PIXELS = 8, 420
"""Uses beyond which they scroll in this height, so that what stands below stays near."""


def draw_uses(memory: MemorySystem, uses: Sequence[Use], *, key: str) -> None:
    """Draw the uses of a record, newest first.

    Args:
        uses: At least one, oldest first.
    """
    rows = use_rows(memory, uses)
    stored = {row.id: row.experience_id for row in rows if row.experience_id}
    if len(uses) > MAX_USES:
        st.caption(f"The newest {MAX_USES:,} of {len(uses):,}")
    with st.container(height=SCROLLING_PIXELS if len(rows) > MANY_ROWS else "content", border=False):
        plain_table(rows, columns=COLUMNS, key=f"{key}_table_{len(uses)}", label="Uses",
                    on_opened=partial(_open_attempt, stored) if stored else None)  # fmt: skip


def _open_attempt(stored: Mapping[str, str], number: str) -> None:
    if number in stored:
        go_from_click("pages/experiences.py", id=stored[number])
