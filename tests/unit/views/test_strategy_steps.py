"""The steps of a suggestion, and their summary in a list."""

from __future__ import annotations

import pytest

from atlas.views.strategies.steps import Steps, steps_of


def test_numbered_lines_are_steps_and_the_text_above_them_introduces_them():
    text = "It failed before.\n1. Call `find(id)`.\n   with care\n2) Say: “Done.”"
    assert steps_of(text) == Steps(
        introduction="It failed before.", steps=("Call `find(id)`.\n   with care", "Say: “Done.”")
    )


def test_prose_is_split_at_its_lines():
    text = "Cut it up, e.g. by Dr. Smith's rule.\nfor part in parts:\n    commit(part)"
    assert steps_of(text).steps == tuple(text.splitlines())


def test_indented_bullets_belong_to_their_step():
    steps = steps_of("1. Check first:\n   - the id\n   - the date\n2. Act. If it fails, go back to step 1.").steps
    assert steps == ("Check first:\n   - the id\n   - the date", "Act. If it fails, go back to step 1.")


@pytest.mark.parametrize("text", ["", " \n\t", "- ", "1."])
def test_text_without_a_step_is_not_lost(text):
    assert " ".join(steps_of(text).steps) == text.strip()


def test_calls_are_summarised_by_name_unless_a_step_says_more():
    steps = steps_of("1. Ask: “Who?”\n2. Call `find(id)`.\n3. Call `find(id)`.\n4. Say: “Done.”")
    assert steps.summary == "ask → find → say"
    assert steps_of("1. found = find(id=id)\n2. cancel(id=found)").summary == "find → cancel"
    advice = "1. Call `find` with the id.\n2. Never refund an old order."
    assert steps_of(advice).summary == "Call `find` with the id. Never refund an old order."
    assert steps_of("Stop sending. Wait.").summary == "Stop sending. Wait."
