"""The steps of a suggestion, and their summary in a list."""

from __future__ import annotations

import pytest

from atlas.views.strategies.steps import Steps, steps_of


def test_numbered_lines_are_steps_and_the_text_above_them_introduces_them():
    text = "It failed before.\n1. Call `find(id)`.\n   with care\n2) Say: “Done.”"
    assert steps_of(text) == Steps(
        introduction="It failed before.", steps=("Call `find(id)`.\nwith care", "Say: “Done.”")
    )


def test_prose_is_split_into_sentences():
    assert steps_of("Cut it up. Commit each part, e.g. a batch.\nGo on at 2.5 s.").steps == (
        "Cut it up.",
        "Commit each part, e.g. a batch.",
        "Go on at 2.5 s.",
    )


@pytest.mark.parametrize("text", ["", " \n\t", "- ", "1."])
def test_text_without_a_step_is_not_lost(text):
    assert " ".join(steps_of(text).steps) == text.strip()


def test_calls_are_summarised_by_name_and_other_steps_by_their_first_word():
    steps = steps_of("1. Ask: “Who?”\n2. Call `find(id)`.\n3. Call `find(id)`.\n4. Say: “Done.”")
    assert steps.summary == "ask → find → say"
    assert steps_of("Stop sending. Wait.").summary == "Stop sending. Wait."
