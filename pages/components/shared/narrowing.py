"""The scope: kept in the session, and written into the URL of every page.

The scope is read from the URL when a session begins, when a link is followed, and when the user goes back or forward.
At any other time, the URL is older than the scope of the session, and is written again.

The boxes of the scope bar get the scope as their default values, and return the user's choices. If the scope is set
elsewhere, the boxes get new keys. Otherwise a late message from the earlier boxes would undo the change.

A page's own boxes are bound to URL parameters by their keys, which begin with the page's name. When a user follows a
link, Streamlit removes these parameters before the browser adds the next page to its history. So they are missing after
going back, and are restored from the session.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from atlas.views.kinds.filters import Options
from atlas.views.shared.results import MemoryMap
from atlas.views.shared.scope import Scope
from atlas.views.shared.scope_address import KEYS, Address, address_of, read_address
from pages.frame.address import is_history_navigation, page_hash

_SCOPE, _OPENED, _TURN, _PAGE = "scope", "scope_opened", "scope_turn", "scope_page"
_LEFT, _CLICKED = "addresses_left", "page_clicked"
NOTHING = Scope()


def current_scope() -> Scope:
    """Return the current scope, from the scope bar of this run."""
    scope: Scope = st.session_state.get(_SCOPE, NOTHING)
    return scope


def narrow_to(scope: Scope = NOTHING) -> None:
    """Set the scope, from a button's callback."""
    _set(scope)
    st.session_state.pop(_OPENED, None)


def follow_address() -> None:
    """Use the scope of an opened URL, or else write the session's scope into the URL.

    Called before the navigation, which adds the URL to the browser's history.
    """
    address, opened = _address(), st.session_state.get(_OPENED)
    before: Address = opened if opened is not None else address_of(current_scope())
    if address == before:
        return
    if _is_opened(address):
        st.session_state[_OPENED] = address
    else:
        _write(before)


def return_to(page: str) -> None:
    """Store the parameters of a page's URL, or restore them if the user returns to the page.

    Called before the page is drawn.

    Args:
        page: Its name, the prefix of its URL and widget keys.
    """
    left: dict[str, Address] = st.session_state.setdefault(_LEFT, {})
    parameters = {key: st.query_params.get_all(key) for key in st.query_params if key.startswith(f"{page}_")}
    if not parameters and left.get(page) and is_history_navigation():
        st.query_params.update(left[page])
        st.rerun()  # widgets read the URL when a run begins
    left[page] = parameters


def take_address(options: Mapping[str, Options], memory_map: MemoryMap | None) -> Mapping[str, int]:
    """Use the scope of an opened URL. Return the numbers of its values that the store does not have, by filter."""
    opened = st.session_state.get(_OPENED)
    if opened is None:
        return {}
    scope_read = read_address(opened, options, memory_map)
    st.session_state[_PAGE] = page_hash()
    _set(scope_read.scope)
    del st.session_state[_OPENED]  # last: this run may be ended at any line, and the next one then takes it
    return scope_read.n_left_out


def keep_scope(scope: Scope) -> None:
    """Store the scope of the widgets, and write it into the URL."""
    st.session_state[_SCOPE], st.session_state[_PAGE] = scope, page_hash()
    if _address() != (address := address_of(scope)):
        _write(address)


def go_to(page: str, **parameters: str) -> None:
    """Switch to a page with the current scope.

    Args:
        page: Its file.
        parameters: Further URL parameters.
    """
    st.switch_page(page, query_params={**address_of(current_scope()), **parameters})


def go_from_click(page: str, **parameters: str) -> None:
    """Record the page to open after a click on a table.

    For callbacks, which cannot switch pages. Does not work in fragments.
    """
    st.session_state[_CLICKED] = (page_hash(), page, parameters)


def follow_click() -> None:
    """Switch to the page that a click requested, if any."""
    clicked = st.session_state.pop(_CLICKED, None)
    if clicked is None:
        return
    on, page, parameters = clicked
    if on == page_hash():  # otherwise the requested switch was superseded by another page
        go_to(page, **parameters)


def box_key(name: str) -> str:
    """Return the key of a widget of the scope bar, which changes if the scope was set elsewhere.

    Args:
        name: Name of the parameter.
    """
    turns = (st.session_state.setdefault(_TURN, 0), st.session_state.get(f"{_TURN}_{name}", 0))
    return "_".join(["scope", name, *(str(turn) for turn in turns if any(turns))])


def rename_box(name: str) -> None:
    """Change the key of a widget, which resets it."""
    st.session_state[f"{_TURN}_{name}"] = st.session_state.get(f"{_TURN}_{name}", 0) + 1


def _set(scope: Scope) -> None:
    if _TURN in st.session_state:
        st.session_state[_TURN] += 1
    st.session_state[_SCOPE] = scope


def _is_opened(address: Address) -> bool:
    """Return whether the URL was opened from outside, as only links contain a scope."""
    if _SCOPE not in st.session_state and _OPENED not in st.session_state:
        return True
    return is_history_navigation() or (bool(address) and page_hash() != st.session_state.get(_PAGE))


def _address() -> dict[str, list[str]]:
    address = {key: [value for value in st.query_params.get_all(key) if value] for key in KEYS}
    return {key: values for key, values in address.items() if values}


def _write(address: Address) -> None:
    """Write parameters into the URL as one history entry, without empty ones."""
    keys = [key for key in KEYS if key in address or key in st.query_params]
    st.query_params.update({key: address.get(key, []) for key in keys})
