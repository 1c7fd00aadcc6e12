"""The parameters of a page's URL, kept correct when several choices follow quickly.

A choice in a bound box changes the browser's URL at once. A message of the server replaces the whole URL by its state
when the run was requested, so a choice made in between is lost from the URL. And a request that was sent before such a
message arrives still has the values that the server replaced. Hence two rules:

- Parameters that the server sets are kept in the session (`parameter`). A replaced value in a request is ignored, until
  a request has the current value.
- At the end of each run, the URL is compared with the boxes and the session. It is sent if it differs, or if the
  browser may have received another URL since the run was requested.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state.query_params import QueryParams

OPENED, OPERATION, QUEUE = "id", "operation", "curate_queue"
"""The open record, the open operation on History, and the queue of Curate."""

NAMES = (OPENED, OPERATION, QUEUE)
"""Parameters stored in the session, per page."""

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


def replace_linked(name: str, values: list[str]) -> None:
    """Replace the values of a bound widget's parameter in the URL of this run's request, before the widget reads it."""
    for params in _query_params():
        if values != st.query_params.get_all(name):
            _put(params, name, values)
            params.set_initial_query_params_from_current()


@contextmanager
def shared_by_pages() -> Iterator[None]:
    """Draw widgets that keep their values from page to page, as the router's do, wherever a page puts them."""
    run = get_script_run_ctx()
    assert run is not None, "expected a run of a page"
    with run.run_with_active_hash(run.pages_manager.main_script_hash):
        yield


def begin_address() -> None:
    """Read the URL of a run's request. Called before anything else reads it."""
    state = st.session_state
    requested = state[_REQUESTED] = _parameters()
    is_restored = is_history_navigation()
    # an aborted run may have sent messages that the browser receives after this
    state[_IS_UNSURE] = not is_restored and state.get(_IS_UNFINISHED, False)
    state[_IS_UNFINISHED] = True
    if is_restored or requested == state.get(_SENT):
        state[_SENT] = None
    if is_restored or state.get(_PAGE) != page_hash():
        state[_VALUES], state[_REPLACED] = {}, {}
    _follow()
    _put_values()


def enter_page() -> None:
    """Record the page of the parameters. Called by the navigation, as the first request does not have it yet."""
    st.session_state[_PAGE] = page_hash()


def acknowledge_address() -> None:
    """Record what the browser has received. For fragments, whose requests contain the URL too."""
    run = get_script_run_ctx()
    if run is not None and run.fragment_ids_this_run:
        _acknowledge()


def end_address() -> None:
    """Write the values of the session and the widgets into the URL. Called at the end of a page."""
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
    """Return whether the user navigated back or forward in the browser's history."""
    run = get_script_run_ctx()
    return run is not None and run.is_history_navigation


def _follow() -> None:
    """Copy the URL's values into the session, except those replaced since."""
    _acknowledge()
    for name in NAMES:
        value = st.query_params.get(name)
        if value not in st.session_state[_REPLACED].get(name, ()):
            st.session_state[_VALUES][name] = value


def _acknowledge() -> None:
    """Remove the replaced values that the request has already received."""
    for name in NAMES:
        if st.query_params.get(name) == parameter(name):
            st.session_state.get(_REPLACED, {}).pop(name, None)


def _put_values() -> None:
    """Put the session's values into this run's query parameters, which are part of all its messages."""
    for params in _query_params():
        for name in NAMES:
            _put(params, name, parameter(name))


def _put_choices() -> None:
    """Add the values of bound widgets, in Streamlit's own format."""
    run = get_script_run_ctx()
    for params in _query_params():
        widgets: Any = run.session_state._state if run is not None else None  # the only access to a widget's serializer
        for key in [key for key in st.session_state if isinstance(key, str) and params.is_bound(key)]:
            binding = params.get_binding_for_param(key)
            metadata = widgets.get_widget_metadata(binding.widget_id) if binding is not None else None
            if binding is None or metadata is None:
                continue
            value = widgets[binding.widget_id]
            text = None if value == metadata.deserializer(None) else metadata.serializer(value)
            _put(params, key, None if text is None else url_value(text))


def url_value(value: Any) -> str | list[str]:
    """Return a widget's value in URL format."""
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
    """Yield this run's query parameters, if there is a run. Changes are not sent to the browser."""
    run = get_script_run_ctx()
    if run is not None:
        with run.session_state.query_params() as params:
            yield params


def _parameters() -> Parameters:
    return {name: st.query_params.get_all(name) for name in st.query_params}
