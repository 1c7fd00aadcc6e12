"""Word forms in names of domains, and the phrases that are read off tasks."""

from __future__ import annotations

import pytest

from atlas.maps.clauses import find_clauses
from atlas.maps.grammar import gerund, plural, singular, stem


@pytest.mark.parametrize(
    ("verb", "form"),
    [("cancel", "cancelling"), ("change", "changing"), ("tie", "tying"), ("free", "freeing"), ("sort", "sorting")],
)
def test_verbs_take_ing_as_they_are_spelled(verb, form):
    assert gerund(verb) == form


@pytest.mark.parametrize(
    ("noun", "form"), [("query", "queries"), ("box", "boxes"), ("flight", "flights"), ("day", "days"), ("bus", "buses")]
)
def test_a_plural_and_its_singular(noun, form):
    assert plural(noun) == form
    if noun != "bus":  # its plural cannot be told from that of "buse" by its ending
        assert singular(form) == noun


@pytest.mark.parametrize(
    "forms",
    [
        "cancel cancels cancelling cancelled",
        "refund refunds refunding refunded",
        "change changes changing changed",
        "query queries querying",
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    ("task", "read"),
    [
        ("Cancel the upcoming flight to Boston", [("cancel", "upcoming flight", ""), ("", "Boston", "")]),
        ("Find the area of a cube", [("find", "area", ""), ("find", "area", "cube"), ("find", "cube", "")]),
        ("Count the number of vowels", [("count", "vowels", "")]),
        ("API clients hammer the endpoint", [("", "API clients", ""), ("", "endpoint", "")]),
        ("The order was delayed", [("", "order", "")]),
        ("Do not cancel the flight", []),
        ("Write code that matches a string", [("match", "string", "")]),
        ("Check whether the number is prime", [("check", "number", "")]),
        ("Return the largest", []),
    ],
)
def test_phrases_are_read_with_their_verbs(task, read):
    assert [
        (clause.verb, " ".join(clause.phrase.words), clause.phrase.of_noun) for clause in find_clauses(task, ())
    ] == read
