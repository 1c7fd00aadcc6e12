"""The scope: kept in the session, and written into the URL of every page.

An address that is opened wins once: the session's first, that of a link, and one that the person goes back or on to.
Any other address is older than what the person has chosen since, and is written again.

The boxes of the scope bar begin with the scope, and return what was chosen since. Where the scope is set by anything
else than the boxes, they are other boxes: a late word of those that stood there before would undo it.

A page's own boxes that are bound to the address have their values there under their keys, which begin with the page's
name. When a person follows a link, Streamlit takes those values out of the address before the browser enters the next
page into its history, so the entry that Back leads to has lost them. The session still has them.
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
    """Return the scope that the person has chosen, by the scope bar of this run."""
    scope: Scope = st.session_state.get(_SCOPE, NOTHING)
    return scope


def narrow_to(scope: Scope = NOTHING) -> None:
    """Set the scope, from a button's callback."""
    _set(scope)
    st.session_state.pop(_OPENED, None)


def follow_address() -> None:
    """Remember the address if it was opened. Else write the scope of the session into it.

    Called before the navigation: that is when the browser enters a page into its history, and the entry then says the
    scope too.
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
    """Remember the parameters of a page's address, or restore them where the person has gone back to the page.

    Called before the page is drawn.

    Args:
        page: Its name, which its address and the keys of its boxes begin with.
    """
    left: dict[str, Address] = st.session_state.setdefault(_LEFT, {})
    parameters = {key: st.query_params.get_all(key) for key in st.query_params if key.startswith(f"{page}_")}
    if not parameters and left.get(page) and is_history_navigation():
        st.query_params.update(left[page])
        st.rerun()  # the boxes take what the address says when a run begins
    left[page] = parameters


def take_address(options: Mapping[str, Options], memory_map: MemoryMap | None) -> Mapping[str, int]:
    """Hold what the address asks for, if it was opened.

    Return how much of it the store does not hold, by what it is.
    """
    opened = st.session_state.get(_OPENED)
    if opened is None:
        return {}
    found = read_address(opened, options, memory_map)
    st.session_state[_PAGE] = page_hash()
    _set(found.scope)
    del st.session_state[_OPENED]  # last: this run may be ended at any line, and the next one then takes it
    return found.n_left_out


def keep_scope(scope: Scope) -> None:
    """Keep the scope of the boxes, and write it into the address."""
    st.session_state[_SCOPE], st.session_state[_PAGE] = scope, page_hash()
    if _address() != (address := address_of(scope)):
        _write(address)


def go_to(page: str, **parameters: str) -> None:
    """Go to a page, which the scope goes with.

    Args:
        page: Its file.
        parameters: Further parameters of its address.
    """
    st.switch_page(page, query_params={**address_of(current_scope()), **parameters})


def go_from_click(page: str, **parameters: str) -> None:
    """Record the page to open after a click on a table. For callbacks, which cannot change the page.

    Not from a fragment, whose runs do not follow it.
    """
    st.session_state[_CLICKED] = (page_hash(), page, parameters)


def follow_click() -> None:
    """Go to the page that a click on this page asked for, if one did."""
    clicked = st.session_state.pop(_CLICKED, None)
    if clicked is None:
        return
    on, page, parameters = clicked
    if on == page_hash():  # else the run that should have followed it was given up for another page
        go_to(page, **parameters)


def box_key(name: str) -> str:
    """Return the key of a box of the scope bar. Another one where the scope was set by anything else than the boxes.

    Args:
        name: Name of the parameter.
    """
    turns = (st.session_state.setdefault(_TURN, 0), st.session_state.get(f"{_TURN}_{name}", 0))
    return "_".join(["scope", name, *(str(turn) for turn in turns if any(turns))])


def rename_box(name: str) -> None:
    """Change the key of a box, which resets it."""
    st.session_state[f"{_TURN}_{name}"] = st.session_state.get(f"{_TURN}_{name}", 0) + 1


def _set(scope: Scope) -> None:
    if _TURN in st.session_state:
        st.session_state[_TURN] += 1
    st.session_state[_SCOPE] = scope


def _is_opened(address: Address) -> bool:
    """Return whether the address came from outside: only links give the page that they lead to a scope."""
    if _SCOPE not in st.session_state and _OPENED not in st.session_state:
        return True
    return is_history_navigation() or (bool(address) and page_hash() != st.session_state.get(_PAGE))


def _address() -> dict[str, list[str]]:
    address = {key: [value for value in st.query_params.get_all(key) if value] for key in KEYS}
    return {key: values for key, values in address.items() if values}


def _write(address: Address) -> None:
    """Write parameters into the address, as one entry of the browser's history. Those without values do not appear."""
    keys = [key for key in KEYS if key in address or key in st.query_params]
    st.query_params.update({key: address.get(key, []) for key in keys})
