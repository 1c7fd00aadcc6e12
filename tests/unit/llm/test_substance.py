"""Answers without substance are refused: echoes, faults, loops, copies, empty fields and names out of nowhere."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput
from atlas.llm.substance import ComparisonTexts, check_grounded, check_substance, is_loop

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "steps": {"type": "array"}, "note": {"type": "string"}},
    "required": ["title"],
}
PROSE = frozenset({"title", "steps", "note"})
SOURCE = (
    "I can assist you with the cancellation process. To proceed, I need to know the user id that is associated with "
    "the reservation EHGLP3 of 2024-05-17 and the reason for its cancellation; call get_user_details first."
)
BASIS = ComparisonTexts(
    instructions="Write down what was to be done, in one or two sentences, with the words of such a person.",
    question="The 12 entries of that day:",
    sources=[SOURCE],
)


def check(answer, basis=BASIS):
    check_substance(answer, SCHEMA, PROSE, basis)


def grounded(title):
    check_grounded({"title": title}, SCHEMA, PROSE, BASIS)


def test_prose_of_its_own_is_taken():
    check({"title": "Cancel a booking after asking who made it.", "steps": ["Ask for the user", "Ask why"], "note": ""})


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"title": " … "}, "expected words for title, got none"),
        ({"title": "What was to be done, in one or two sentences, with flights"}, "title repeats the question"),
        ({"title": "fine", "note": f"Well: {SOURCE}"}, "note copies a long part of the data"),
        ({"title": "fine", "steps": [f"Well: {SOURCE}"]}, "steps copies a long part of the data"),
        ({"title": "Ask for the user first", "note": "Ask for the user first"}, "got the same text twice"),
        ({"title": "a concept of a concept of a concept of a concept of it"}, "title repeats itself"),
    ],
)
def test_an_answer_without_substance_is_refused(answer, fault):
    with pytest.raises(InvalidInput, match=fault):
        check(answer)


def test_words_of_the_question_that_the_data_hold_as_well_are_no_echo():
    words = "what was to be done, in one or two sentences, with the words"
    check(
        {"title": f"They asked {words}"},
        ComparisonTexts(instructions=BASIS.instructions, sources=[f"Tell me {words}."]),
    )


def test_a_text_of_the_example_is_refused_unless_the_data_have_its_words():
    basis = replace(BASIS, instructions='A good answer: {"title": "Broken exports"}')
    with pytest.raises(InvalidInput, match="title repeats the question"):
        check({"title": "broken exports"}, basis)
    check({"title": "Broken exports"}, replace(basis, sources=["repair broken exports of the shop"]))


def test_a_fault_may_be_repeated_only_where_it_quotes_the_answer():
    quoted = "Cancel the booking after asking who made it and why it should be cancelled"
    fault = f"'{quoted}' is too long; the title should have at most forty characters"
    basis = ComparisonTexts(instructions="", fault=fault, sources=[], earlier=json.dumps({"title": quoted}))
    check({"title": quoted}, basis)
    with pytest.raises(InvalidInput, match="repeats the question"):
        check(
            {"title": "The title should have at most forty characters"},
            ComparisonTexts(instructions="", fault=fault, sources=[]),
        )


def test_data_may_be_copied_where_that_is_asked_for():
    check({"title": SOURCE}, ComparisonTexts(instructions="", sources=[SOURCE], may_copy=True))


@pytest.mark.parametrize(
    "text",
    [
        "1.0.0.0/s/1.0.0.0/s/1.0.0.0/s/1.0.0.0/s/1.0.0.0/s/",
        "12345678901234567890123456789012345678901234567890",
        "Le Grand Paris - la femme de la France - la femme de la France - la femme de la France - la femme de la",
        "I would also ask how it works. I would also argue that it works. " * 6 + "It works.",
    ],
)
def test_a_loop_is_seen(text):
    assert is_loop(text)


@pytest.mark.parametrize(
    "text",
    ["", "----------------------------------------", "No, no, no, no!", "00000000-0000-0000-0000-000000000000", SOURCE],
)
def test_what_is_no_loop_is_not_taken_for_one(text):
    assert not is_loop(text)


@pytest.mark.parametrize(
    "title",
    [
        "Cancel EHGLP3 of 2024-05-17 with get_user_details, in 3 steps",
        "One of the 12 entries is about a cancellation",
        "Cancel the reservation {reservation_id}; reservation_id comes first",
        "Стоимость",
    ],
)
def test_names_and_numbers_of_the_data_may_be_named(title):
    grounded(title)


@pytest.mark.parametrize(
    ("title", "fault"),
    [
        ("Cancel the reservation XYZ99Q", "names that are not in the data: XYZ99Q"),
        ("Cancel within 48 hours", "not in the data: 48"),
        ("Call cancel_reservation", "not in the data: cancel_reservation"),
        ("Explores technology, society and innovation", "shares no words with the data"),
    ],
)
def test_names_and_numbers_out_of_nowhere_are_refused(title, fault):
    with pytest.raises(InvalidInput, match=fault):
        grounded(title)
