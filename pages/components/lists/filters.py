"""Widgets above a list: one for each filter of a kind, and further settings of the query."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from atlas.views.kinds.filters import (
    FIRST_DAY,
    LAST_DAY,
    Choices,
    Day,
    Filter,
    Number,
    OneOf,
    Options,
    Pairs,
    Switch,
    address_text,
    is_empty,
)
from atlas.views.kinds.kind import Kind
from atlas.views.shared.scope import offered
from pages.frame.address import replace_linked

URL: Literal["query-params"] = "query-params"

Width = int | Literal["stretch"]

SEARCH_WIDTH, ORDER_WIDTH = 220, 220
"""Widths of the search box above a list, and of the choice of its order, in pixels."""


def draw_filter(
    filter: Filter,
    options: Options,
    *,
    key: str,
    first: Any = None,
    is_in_address: bool = False,
    is_named: bool = True,
    width: Width = "stretch",
) -> Any:
    """Draw the widget of a filter and return its value, or None if it is not set.

    A choice without options is not drawn.

    Args:
        options: The available values.
        first: Initial value of the widget if it is not bound to the URL.
        is_in_address: Whether Streamlit keeps the value in the URL, under the key.
        is_named: Whether its label is seen. Screen readers read it anyway.
        width: In pixels.
    """
    shared: dict[str, Any] = {"key": key, "help": filter.help_text, "bind": URL if is_in_address else None,
                              "label_visibility": visibility(is_named)}  # fmt: skip
    match filter:
        case Choices():
            linked = _linked(filter, key, options) if is_in_address and options else ()
            choices = offered(options, [*(first or ()), *st.session_state.get(key, ()), *linked])
            return _draw_choices(filter, choices, first, width, shared)
        case Pairs():
            linked = tuple(st.query_params.get_all(key)) if is_in_address else ()
            choices = offered(options, [*(first or ()), *st.session_state.get(key, ()), *linked])
            if filter.needs_options and not choices:
                return ()
            pairs = st.multiselect(filter.label, choices, first, placeholder="key=value", accept_new_options=True,
                                   width=width, **shared)  # fmt: skip
            return filter.read(pairs, options)
        case OneOf(values=values):
            state = st.selectbox(filter.label, values, values.index(first or values[0]), width=width, **shared)
            return state if state != values[0] else None
        case Switch():
            return st.toggle(filter.label, bool(first), **shared)
        case Number():
            return _draw_number(filter, first, width, shared)
        case Day():
            return st.date_input(filter.label, first, FIRST_DAY, LAST_DAY, format="YYYY-MM-DD", **shared)
    raise TypeError(f"expected a filter with a widget, got {filter!r}; add its widget to {__name__}")


def _draw_choices(filter: Choices, choices: Sequence[Any], first: Any, width: Width, shared: dict[str, Any]) -> Any:
    """Draw pills for a fixed set of values, and else a select box, unless there are no options."""
    if filter.values:
        return tuple(st.pills(filter.label, filter.values, selection_mode="multi", default=first, **shared))
    if not choices:
        return ()
    words = _labels(filter, choices)
    return tuple(
        st.multiselect(
            filter.label,
            choices,
            first,
            format_func=words.__getitem__,
            width=width,
            placeholder="All" if shared["label_visibility"] == "visible" else f"{filter.label}: all",
            **shared,
        )
    )


def _linked(filter: Choices, key: str, options: Options) -> tuple[Any, ...]:
    """Return the values whose words are in the URL. Stored values, as older links have them, are replaced by words."""
    words = {address_text(value): address_text(word) for value, word in _labels(filter, list(options)).items()}
    texts = [words.get(text, text) for text in st.query_params.get_all(key)]
    replace_linked(key, texts)
    return tuple(value for value in options if words[address_text(value)] in texts)


def _labels(filter: Choices, choices: Sequence[Any]) -> dict[Any, Any]:
    """Return the word of each choice. Choices of one word are shown as they are stored, to tell them apart."""
    words = {choice: filter.word(choice) if filter.word else choice for choice in choices}
    frequencies = Counter(words.values())
    return {choice: word if frequencies[word] == 1 else choice for choice, word in words.items()}


def _draw_number(filter: Number, first: int | None, width: Width, shared: dict[str, Any]) -> Any:
    """Draw a text input for a number, as Streamlit's number input cannot be emptied if it has an initial value."""
    if shared["bind"]:
        return st.number_input(filter.label, filter.least, filter.most, None, placeholder="any", width=width, **shared)
    text = st.text_input(filter.label, "" if first is None else str(first), placeholder="any", **shared)
    return filter.read([text.strip()], {})


def further_filters(values: Iterable[Any]) -> DeltaGenerator:
    """Draw the popover of further filters, whose button shows how many of their current values are set."""
    n = sum(not is_empty(value) for value in values)
    return st.popover(f"More · {n:,}" if n else "More", icon=":material/filter_list:")


def visibility(is_named: bool) -> Literal["visible", "collapsed"]:
    """Return whether the label of a widget is seen, as Streamlit names it."""
    return "visible" if is_named else "collapsed"


def draw_order(kind: Kind, *, is_search: bool, is_named: bool = True) -> str:
    """Draw the choice of the list's order, which a search replaces by its own, and return it.

    Args:
        is_named: Whether its label is seen.
    """
    return st.selectbox("Sort", list(kind.orders), key=f"{kind.page}_order", disabled=is_search, width=ORDER_WIDTH,
                        bind=URL, label_visibility=visibility(is_named))  # fmt: skip


def draw_irrelevant(page: str) -> bool:
    """Draw the switch for less relevant hits, and return whether it is on."""
    return st.toggle("Include less relevant", key=f"{page}_irrelevant", bind=URL,
                     help="Also lists hits of little or no relevance")  # fmt: skip


def turn_to_first_page(values: object, page: str) -> None:
    """Reset a list to its first page if the query has changed."""
    if st.session_state.setdefault(f"{page}_asked", values) != values:
        st.session_state.update({f"{page}_asked": values, f"{page}_page": 1})


def digest(*values: object) -> str:
    """Return a short key of a query, for caches and tables."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:12]
