"""Forms for stored records, which keep typed text when others change the record, and show the conflict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from atlas import AtlasError, counting_secrets
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import with_replaced
from pages.components.shared.texts import draw_code
from pages.components.shared.undo_toast import announce, announce_problem

_START = "form_begun"


@dataclass(frozen=True, slots=True)
class FormStart:
    """The stored record when the user started to edit."""

    key: str
    stored: Any
    number: int = 0
    """Counter that is increased when the user discards their edits."""


def act(do: Callable[[], Any], scoped: Any, sentence: str) -> bool:
    """Run `do`, announce it if it changed something, and return whether it did."""
    try:
        with counting_secrets() as counts:
            is_done = bool(do())
    except AtlasError as error:
        announce_problem(error)
        return False
    if is_done:
        announce(scoped.operation_id, with_replaced(sentence, counts))
    return is_done


def begin(form: str, record_id: str, stored: Any, *, is_typed: Callable[[FormStart], bool]) -> FormStart:
    """Return the record as it was stored when the boxes were first drawn for it.

    If it has changed since and the boxes were not edited, they are reset.
    """
    start: FormStart = st.session_state.get(f"{_START}_{form}") or FormStart("", None)
    if start.key != record_id or (start.stored != stored and not is_typed(start)):
        start = FormStart(record_id, stored, start.number + 1)
        st.session_state[f"{_START}_{form}"] = start
    return start


def begin_typing(
    form: str,
    record_id: str,
    stored: Any,
    *,
    typed: Callable[[FormStart], Any],
    differing: Callable[[Any], dict[str, str]],
    sentence: str,
) -> FormStart:
    """Start a form, and show both versions if another user has changed the record since.

    Args:
        typed: Current values of the widgets.
        differing: Stored values that changed since the form was opened, by label.
        sentence: Message about the change.
    """
    start = begin(form, record_id, stored, is_typed=lambda start: typed(start) not in (start.stored, stored))
    with st.container():  # a container, so that the widgets below keep their identity
        if start.stored != stored:
            _draw_conflict(form, record_id, differing(start.stored), sentence)
    return start


def form_key(form: str, start: FormStart) -> str:
    """Return the key of a form's box, or the prefix of the keys of its boxes."""
    return f"{form}_{start.key}_{start.number}"


def forget(form: str) -> None:
    """Reset the boxes to the stored values at the next run."""
    start: FormStart = st.session_state[f"{_START}_{form}"]
    st.session_state[f"{_START}_{form}"] = FormStart("", None, start.number)


def _draw_conflict(form: str, record_id: str, stored: dict[str, str], sentence: str) -> None:
    """Draw the stored texts that changed since the form was opened. Typed text stays in the form."""
    st.warning(f"{sentence} since you opened it. What you typed is still below, and not saved.",
               icon=":material/sync_problem:")  # fmt: skip
    for name, text in stored.items():
        st.caption(f"{name}, as it is stored now")
        draw_code(Text(text), key=f"{form}_conflict_{name}_{record_id}")
    st.button("Discard mine and load what is stored", key=f"{form}_discard", on_click=forget, args=(form,))
