"""Entries of the tables of idioms: each fits itself, has names that may be given, and tells only what it has."""

from __future__ import annotations

import re

import pytest

from atlas.learning.naming.documenter import MAX_NAME_CHARACTERS
from atlas.learning.naming.idioms import IDIOMS
from atlas.learning.naming.idioms.idiom import idiom
from atlas.learning.naming.matching import Pattern
from atlas.learning.search.forms.canonical import Form
from atlas.learning.search.forms.nodes import count_names, text
from atlas.learning.terms.names import is_free

SLOT = re.compile(r"\{(\w+)\}")


def form_text(form: Form) -> str:
    return "\n".join(map(text, form.body))


def used(pattern: Pattern) -> set[str]:
    return set(count_names(pattern.form.body))


def test_names_may_be_given():
    names = [name for one in IDIOMS for name in one.names if "{" not in name]
    assert [name for name in names if not is_free(name) or len(name) > MAX_NAME_CHARACTERS] == []


def test_every_way_to_write_an_idiom_has_what_its_sentence_and_names_tell():
    missing = [
        (one.names, slot)
        for one in IDIOMS
        for slot in {slot for told in (one.says, *one.names) for slot in SLOT.findall(told)}
        for pattern in one.patterns
        if not {slot, slot.removesuffix("S")} & used(pattern)
    ]
    assert missing == []


def test_parameters_and_holes_are_all_used():
    unused = [
        (one.names, set(pattern.form.parameters) | pattern.holes - used(pattern))
        for one in IDIOMS
        for pattern in one.patterns
        if not set(pattern.form.parameters) | pattern.holes <= used(pattern)
    ]
    assert unused == []


def test_every_idiom_fits_its_own_code_and_is_the_first_to_do_so():
    others = [
        (one.names, other.names)
        for one in IDIOMS
        for pattern in one.patterns
        if not pattern.holes
        for other in [next(other for other in IDIOMS if other.match(pattern.form))]
        if other is not one
    ]
    assert others == []


def test_no_code_stands_under_two_names():
    seen: dict[str, tuple[str, ...]] = {}
    twice = [
        (one.names, seen[key])
        for one in IDIOMS
        for key in {f"{pattern.form.parameters} {form_text(pattern.form)}" for pattern in one.patterns}
        if seen.setdefault(key, one.names) != one.names
    ]
    assert twice == []


def test_a_source_is_one_function_or_one_lambda():
    with pytest.raises(ValueError, match="expected one function or one lambda, got 'x = 1'"):
        assert idiom("one", "Is one", "x = 1").patterns
