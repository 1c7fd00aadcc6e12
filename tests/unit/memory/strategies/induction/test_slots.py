"""Texts about one task become texts about any task of their kind."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.memory.strategies.induction.slots import QUANTITIES, Generaliser, parse_call


@pytest.mark.parametrize(
    ("text", "general"),
    [
        ("Move it out 2 days, by 1,200.50 km.", "Move it out {number} days, by {number} km."),
        ("It costs $1,300 or 5%.", "It costs {amount} or {percentage}."),
        ("On May 22nd, 2024-05-23 or 3 June 2024.", "On {date}, {date} or {date}."),
        ("After 8am and before 21:30.", "After {time} and before {time}."),
        ("I am mia_li_3668; cancel SI5UKW and IFOYYZ.", "I am {id}; cancel {id} and {id}."),
        ("From JFK to SEA, or ANY", "From {place} to {place}, or ANY"),
        ("fly from JFK to SEA (LAX)", "fly from {place} to {place} ({place})"),
        ("Ask Ivan Smith for it. The New York office", "Ask {name} for it. The {name} office"),
        ("Name it \"blue door\" or 'red door', not 'x'.", "Name it \"{text}\" or '{text}', not 'x'."),
        ("Mail a.b@example.org, see https://example.org/a?b=1.", "Mail {email}, see {url}"),
        ("Open src/atlas/core.py now", "Open {path} now"),
        ("You're the user's friend and don't mind.", "You're the user's friend and don't mind."),
        ("Use `x = 1` in utf-8, not 0x1f or v2.", "Use `x = {number}` in utf-{number}, not 0x1f or v2."),
        ("Fill in {name} and {2}.", "Fill in {name} and {2}."),
        ("", ""),
    ],
)
def test_what_is_particular_is_told_by_its_form(text, general):
    assert Generaliser()(text) == general


def test_what_the_tools_used_is_called_as_they_call_it():
    steps = [
        Step(action='search({"origin": "ATL", "cabin": "economy", "flights": [{"number": "HAT110"}]})'),
        Step(action='cancel({"reservation_id": "M05KNL"})'),
        Step(action='cancel({"reservation_id": "M20IZO"})'),
    ]
    generalise = Generaliser(steps)
    told = generalise("Cancel M05KNL and M20IZO, then M05KNL: economy from ATL by HAT110.")
    assert told == (
        "Cancel {reservation_id} and {reservation_id_2}, then {reservation_id}: economy from {origin} by {number}."
    )
    assert generalise.parameters(told, "{unknown}") == (
        {"name": "reservation_id", "type": "text", "example": "M05KNL"},
        {"name": "reservation_id_2", "type": "text", "example": "M20IZO"},
        {"name": "origin", "type": "text", "example": "ATL"},
        {"name": "number", "type": "text", "example": "HAT110"},
    )


def test_parameters_have_types_and_only_those_that_the_text_has():
    generalise = Generaliser()
    generalise("3 on May 5")
    assert generalise.parameters("{number}") == ({"name": "number", "type": "number", "example": "3"},)


def test_quantities_stay_where_they_say_what_a_program_is_to_do():
    generalise = Generaliser(keep=QUANTITIES)
    assert generalise('the first 3 of "abc" by May 5') == 'the first 3 of "abc" by {date}'


@pytest.mark.parametrize("action", ["ls -la", "f(1)", "f({)", 'f({"a": 1}', "f([1])", "f({'a': 1})", "", "say hi({})"])
def test_other_actions_are_no_calls(action):
    assert parse_call(action) is None


def test_a_call_has_its_name_and_arguments():
    assert parse_call(' find({"a": [1, "x"]}) ') == ("find", {"a": [1, "x"]})


def test_long_and_odd_texts_are_read_in_no_time():
    for text in ("a." * 50_000, "/" * 50_000, "a@" * 50_000, "{" * 50_000, "A1" * 50_000, '"' * 50_000, "Aa " * 50_000):
        assert len(Generaliser([Step(action=f'f({{"x": "{text[:50]}"}})')])(text)) <= 20_000
