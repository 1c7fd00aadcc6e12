"""The parameters of a page's address, and how they stay right while one choice follows another.

A choice in a bound box is in the browser's address at once. A message of the server replaces the whole address by what
it was when the run was requested, so a choice that was made meanwhile is lost from it. And a request that is sent
before such a message arrives still names the old values of what the server put there. Hence two rules:

- What the server puts into the address is kept in the session (`parameter`). A request that names a replaced value is
  not believed until one request has named the current value.
- At the end of each run, the address is compared with the boxes and the session. It is sent where it differs, and
  where the browser may have received another one since the run was requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.query_params import QueryParams

OPENED, OPERATION, QUEUE = "id", "operation", "curate_queue"
"""The record that is open, the operation that is open on History, and the queue of Curate."""

NAMES = (OPENED, OPERATION, QUEUE)
"""The parameters that the session keeps. They belong to the page that they were set on."""

_PAGE, _VALUES, _REPLACED = "address_page", "address_values", "address_replaced"
_REQUESTED, _SENT = "address_requested", "address_sent"
_IS_UNFINISHED, _IS_UNSURE = "address_is_unfinished", "address_is_unsure"

Parameters = dict[str, list[str]]


def parameter(name: str) -> str | None:
    """Return the value of one of `NAMES`, or None."""
    value: str | None = st.session_state.get(_VALUES, {}).get(name)
    return value


def set_parameter(name: str, value: str | None) -> None:
    """Set one of `NAMES`, or remove it with None. For callbacks."""
    values: dict[str, str | None] = st.session_state.setdefault(_VALUES, {})
    replaced: dict[str, set[str | None]] = st.session_state.setdefault(_REPLACED, {})
    replaced.setdefault(name, set()).add(values.get(name))
    replaced[name].discard(value)
    values[name] = value


def begin_address() -> None:
    """Read the address that a run was requested with. Called before anything else of the run reads it."""
    state = st.session_state
    requested = state[_REQUESTED] = _parameters()
    is_restored = is_history_navigation()
    # a run that was ended early may have sent anything, which the browser may receive after this
    state[_IS_UNSURE] = not is_restored and state.get(_IS_UNFINISHED, False)
    state[_IS_UNFINISHED] = True
    if is_restored or requested == state.get(_SENT):
        state[_SENT] = None
    if is_restored or state.get(_PAGE) != page_hash():
        state[_VALUES], state[_REPLACED] = {}, {}
    _follow()
    _put_values()


def enter_page() -> None:
    """Remember the page of the parameters. Called by the navigation, as a first request does not have it yet."""
    st.session_state[_PAGE] = page_hash()


def acknowledge_address() -> None:
    """Note what the browser has received by now. For a fragment, whose own requests name the address too."""
    run = get_script_run_ctx()
    if run is not None and run.fragment_ids_this_run:
        _acknowledge()


def end_address() -> None:
    """Write the session's values and those of the boxes into the address. Called when all of a page is drawn."""
    state = st.session_state
    _put_values()
    _put_choices()
    current, sent = _parameters(), state.get(_SENT)
    if state[_IS_UNSURE] or current != state[_REQUESTED] or (sent is not None and current != sent):
        st.query_params.update({})  # sends all of it
        state[_SENT] = current
    state[_IS_UNFINISHED] = False


def page_hash() -> str:
    """Return Streamlit's hash of the page, or an empty string outside a run."""
    run = get_script_run_ctx()
    return run.page_script_hash if run is not None else ""


def is_history_navigation() -> bool:
    """Return whether the person went back or forward in the browser's history."""
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation


def _follow() -> None:
    """Take the values of the address over into the session, except those that were replaced since."""
    _acknowledge()
    for name in NAMES:
        value = st.query_params.get(name)
        if value not in st.session_state[_REPLACED].get(name, ()):
            st.session_state[_VALUES][name] = value


def _acknowledge() -> None:
    """Forget which values were replaced, where the request names the current one."""
    for name in NAMES:
        if st.query_params.get(name) == parameter(name):
            st.session_state.get(_REPLACED, {}).pop(name, None)


def _put_values() -> None:
    """Put what the session keeps into this run's view of the address, which all of its messages are made from."""
    for params in _query_params():
        for name in NAMES:
            _put(params, name, parameter(name))


def _put_choices() -> None:
    """Put the choices of the bound boxes there, as Streamlit itself writes them."""
    run = get_script_run_ctx()
    for params in _query_params():
        widgets: Any = run.session_state._state if run is not None else None  # the only way to a box's serializer
        for key in [key for key in st.session_state if isinstance(key, str) and params.is_bound(key)]:
            binding = params.get_binding_for_param(key)
            metadata = widgets.get_widget_metadata(binding.widget_id) if binding is not None else None
            if binding is None or metadata is None:
                continue
            value = widgets[binding.widget_id]
            text = None if value == metadata.deserializer(None) else metadata.serializer(value)
            _put(params, key, None if text is None else url_value(text))


def url_value(value: Any) -> str | list[str]:
    """Return a box's serialized value as the browser writes it into the address."""
    if isinstance(value, (list, tuple)):
        return [str(url_value(each)) for each in value]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _put(params: QueryParams, name: str, value: str | list[str] | None) -> None:
    if value is None or value == []:
        params.discard_param_no_forward_msg(name)
    else:
        params.set_with_no_forward_msg(name, value)


def _query_params() -> Iterator[QueryParams]:
    """Yield this run's view of the address, if there is a run. Changes of it are not sent to the browser."""
    run = get_script_run_ctx()
    if run is not None:
        with run.session_state.query_params() as params:
            yield params


def _parameters() -> Parameters:
    return {name: st.query_params.get_all(name) for name in st.query_params}
