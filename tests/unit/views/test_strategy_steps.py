"""The steps of a suggestion."""

from __future__ import annotations

import pytest

from atlas.views.strategies.steps import Steps, steps_of


def test_numbered_lines_are_steps_and_the_text_above_them_introduces_them():
    text = "It failed before.\n1. Call `find(id)`.\n   with care\n2) Say: “Done.”"
    assert steps_of(text) == Steps(
        introduction="It failed before.", steps=("Call `find(id)`.\n   with care", "Say: “Done.”")
    )


def test_lines_are_steps_and_indented_ones_belong_to_the_line_above_them():
    text = "It failed before.\nWhat worked:\n    for part in parts:\n        commit(part)"
    assert steps_of(text).steps == ("It failed before.", "What worked:\n    for part in parts:\n        commit(part)")


def test_the_sentences_of_one_line_are_steps():
    text = "Cut it up, e.g. by Dr. Smith's rule, into 2.5 MB. Commit each part! Publish only what is whole."
    assert steps_of(text).steps == (
        "Cut it up, e.g. by Dr. Smith's rule, into 2.5 MB.",
        "Commit each part!",
        "Publish only what is whole.",
    )


@pytest.mark.parametrize("text", ["Say: “It is done. You may go.”", "Call `f(x). Then` twice.", "Stop (at once. Now)."])
def test_sentences_that_may_be_quoted_stay_together(text):
    assert steps_of(text).steps == (text,)


def test_indented_bullets_belong_to_their_step():
    steps = steps_of("1. Check first:\n   - the id\n   - the date\n2. Act. If it fails, go back to step 1.").steps
    assert steps == ("Check first:\n   - the id\n   - the date", "Act. If it fails, go back to step 1.")


@pytest.mark.parametrize("text", ["", " \n\t", "- ", "1."])
def test_text_without_a_step_is_not_lost(text):
    assert " ".join(steps_of(text).steps) == text.strip()


def test_a_word_of_a_million_characters_is_one_step_at_once():
    """Looking for the end of a sentence from each character of a word would take hours."""
    word = "hostile" + 1_000_000 * "x"
    assert steps_of(word).steps == (word,)
    assert steps_of(f"{word}. Then stop.").steps == (f"{word}.", "Then stop.")
