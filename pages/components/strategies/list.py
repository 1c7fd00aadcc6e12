"""The list of strategies, with steps and records, whose rows can be opened and selected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from atlas.views.kinds.kind import Kind
from atlas.views.shared.browser import asset
from atlas.views.strategies.list import StrategyRow, rows_as_json
from pages.components.lists.listing import Answer
from pages.components.lists.record_table import open_experience, opened_id, origin_of
from pages.components.lists.selection import current_selection, select, unselect

_KEY = "strategies_list"

_list = st.components.v2.component("strategies", css=asset("strategies.css"), js=asset("strategies.js"))


def draw_strategies(kind: Kind, answer: Answer, rows: Sequence[StrategyRow], is_beside: bool) -> None:
    """Draw one page of the list.

    Args:
        is_beside: Whether a strategy is open beside the list, which leaves less width.
    """
    revision = answer.store.revision

    def take() -> None:
        event: dict[str, Any] | None = st.session_state[_KEY].get("chosen")
        if not event:
            return
        ids = [row.id for row in rows if row.id in event["ids"]]  # none of a list that was replaced meanwhile
        if event["isChosen"]:
            select([*current_selection(kind).ids, *ids], origin=origin_of(kind), revision=revision, kind=kind)
        else:
            unselect(ids)

    data = {"rows": rows_as_json(rows), "compact": is_beside, "opened": opened_id(),
            "selected": list(current_selection(kind).ids)}  # fmt: skip
    _list(key=_KEY, data=data, on_chosen_change=take, on_opened_change=_open)


def _open() -> None:
    if opened := st.session_state[_KEY].get("opened"):
        open_experience(str(opened))
