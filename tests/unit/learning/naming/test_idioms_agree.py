"""Ways to write an idiom do the same for empty, repeated and negative arguments: one sentence is true of all."""

from __future__ import annotations

import bisect
import collections
import copy
import functools
import heapq
import inspect
import itertools
import math
import operator
import re
import statistics
import string
from collections.abc import Callable, Iterable, Iterator
from textwrap import dedent
from typing import Any

import pytest

from atlas.learning.naming.idioms import IDIOMS
from atlas.learning.naming.idioms.idiom import Idiom

MODULES = {
    **{"bisect": bisect, "collections": collections, "copy": copy, "functools": functools, "heapq": heapq},
    **{
        "itertools": itertools,
        "math": math,
        "operator": operator,
        "re": re,
        "statistics": statistics,
        "string": string,
    },
}
LISTS = ([], [4], [1, 2, 3], [3, 1, 3, 2], [2, 2], [-1, 0, -5], [0, 0, 0])
TEXTS = ("", "a", "level", "Apple pie", "b  A b", "12 3")
NUMBERS = (1, 2, 3, 4, 6, 7, 12, 25)
GRIDS = ([[1, 2], [3, 4]], [[0, 1, 1], [2, 0, 2]], [[5]])
VALUES: dict[str, Iterable[Any]] = {
    **dict.fromkeys(("items", "others", "numbers"), LISTS),
    **dict.fromkeys(("text", "texts", "letter"), TEXTS),
    **dict.fromkeys(("n", "number", "one", "a", "b"), NUMBERS),
    "year": (1900, 2000, 2023, 2024),
    **dict.fromkeys(("wanted", "item", "low", "high", "size"), (1, 2, 3)),
    "grid": GRIDS,
    "mapping": ({}, {"a": 1}, {"a": 2, "b": 2, "c": 1}),
    "test": (lambda item: item > 1,),
    "key": (abs, lambda item: -item),
    "function": (lambda *given: sum(given),),
    "pairs": ([], [(1, 2), (1, 3), (2, 2)]),
    "lists": ([], [[1], [], [2, 3]]),
}
PREMISES: dict[str, Callable[..., bool]] = {
    "clamp": lambda number, low, high: low <= high,
    "merge_sorted": lambda items, others: items == sorted(items) and others == sorted(others),
    "most_common": lambda items: len({items.count(item) for item in items}) == len(set(items)),
    "is_vowel": lambda letter: len(letter) == 1,
    "is_lowercase_vowel": lambda letter: len(letter) == 1,
}
"""Whether arguments are such as an idiom's sentence or name speaks of."""

IN_ANY_ORDER = {"common_items", "items_not_in", "four_neighbours", "neighbours_in_grid"}
"""Idioms that do not promise an order."""


def function(source: str) -> Callable[..., Any]:
    text = dedent(source).strip()
    held: dict[str, Any] = dict(MODULES)
    exec(text if text.startswith("def ") else f"itself = {text}", held)
    made: Callable[..., Any] = held["itself"]
    return made


def parameters(one: Idiom) -> list[str]:
    return list(inspect.signature(function(one.sources[0])).parameters)


def result(made: Callable[..., Any], given: dict[str, Any], name: str) -> object:
    """Return what a function returns and what it leaves of its arguments, with all sequences as lists."""
    held = copy.deepcopy(given)
    try:
        returned = plain(made(**held))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError) as error:
        return type(error)
    if name in IN_ANY_ORDER:
        returned = sorted(returned)
    return (returned, {key: plain(value) for key, value in held.items() if not callable(value)})


def plain(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (dict, str, int, float, type(None))):
        return value
    return [plain(part) for part in value]


def several() -> Iterator[Idiom]:
    """Yield the idioms that are written in several ways, and need nothing but what is above."""
    for one in IDIOMS:
        given = parameters(one)
        if len(one.sources) > 1 and set(given) <= set(VALUES) and not any("numpy" in each for each in one.sources):
            yield one


def arguments(one: Idiom) -> Iterator[dict[str, Any]]:
    names = parameters(one)
    for values in itertools.product(*(VALUES[name] for name in names)):
        given = dict(zip(names, values, strict=True))
        if PREMISES.get(one.names[0], lambda **given: True)(**given):
            yield given


@pytest.mark.parametrize("one", list(several()), ids=lambda one: one.names[0])
def test_all_ways_to_write_an_idiom_do_the_same(one):
    made = [function(source) for source in one.sources]
    for given in arguments(one):
        results = [result(each, given, one.names[0]) for each in made]
        told = [each for each in results if not isinstance(each, type)]  # which error it is, no sentence tells
        assert all(each == told[0] for each in told), (given, list(zip(one.sources, results, strict=True)))


def test_most_idioms_in_several_ways_are_run():
    assert len(list(several())) >= 60
