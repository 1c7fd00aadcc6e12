"""The figure on the overview in words, and the import of files from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.memory.effects.memory_effect import JudgedAttempt, MemoryEffect, effect_among
from atlas.memory.effects.randomised import AssignedAttempt, randomised_effect
from atlas.testing import HashEmbedder
from atlas.views.overview.effect import (
    HOW_TO_RECORD,
    advice,
    better_text,
    caution,
    comparison_sentence,
    effect_sentence,
    grounds,
    interval_text,
    verdict,
)
from atlas.views.overview.randomised import randomised_view, range_text


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(16), settings=Settings()) as opened:
        yield opened


def helped(n_tasks: int, n_better: int) -> MemoryEffect:
    """A figure of so many tasks, of which so many went better with memories and the others worse."""
    return effect_among(
        JudgedAttempt(task_id=f"t{n}", success=has_used == (n < n_better), has_used=has_used)
        for n in range(n_tasks)
        for has_used in (True, False)
    )


def test_the_mean_difference_has_an_interval_once_there_are_tasks_enough_for_one():
    assert comparison_sentence(helped(12, 9)).startswith(
        "On average, 25% succeeded without memory and 75% with it: +50\xa0points at 12 tasks tried both ways, likely +"
    )
    assert comparison_sentence(helped(8, 6)) == (
        "On average, 25% succeeded without memory and 75% with it, at 8 tasks tried both ways."
    )
    assert comparison_sentence(MemoryEffect(tasks=())) == ""


def test_tasks_that_all_agree_give_the_mean_difference_no_interval():
    assert comparison_sentence(helped(12, 12)).endswith(" 100% with it, at 12 tasks tried both ways.")


@pytest.mark.parametrize(("low", "text"), [(-0.001, "likely +0 to +5\xa0points"), (-0.04, "likely −4 to +5\xa0points")])
def test_a_difference_that_rounds_to_zero_has_no_minus(low, text):
    assert range_text(low, 0.05) == text


def test_the_figure_is_told_with_its_interval_and_what_went_worse():
    assert effect_sentence(helped(12, 9)) == (
        "9 of 12 tasks went better with memory than without (likely 6–12 tasks), 3 went worse. "
        "0 of 12 attempts with memory followed a failure at the same task, and 0 of 12 without."
    )


@pytest.mark.parametrize(
    ("n_tasks", "n_better", "said", "chance"),
    [
        (12, 11, "Tasks went better with memory.", "as 11 to 1 would come up in fewer than 1 of 100 cases"),
        (12, 9, "Tasks probably went better with memory.", "as 9 to 3 would come up in 15 of 100 cases"),
        (12, 7, "No clear difference so far.", "as 7 to 5 would come up in 77 of 100 cases"),
        (12, 3, "Tasks probably went worse with memory.", "as 3 to 9 would come up in 15 of 100 cases"),
        (4, 4, "", ""),
    ],
)
def test_the_verdict_says_no_more_than_the_sign_test_does(n_tasks, n_better, said, chance):
    found = helped(n_tasks, n_better)
    assert verdict(found) == said
    assert chance in grounds(found)


def test_with_few_tasks_it_says_how_many_are_needed_and_what_to_record():
    found = helped(4, 3)
    assert interval_text(found) == ""
    assert advice(found) == f"4 tasks can be compared so far, and 10 are needed. {HOW_TO_RECORD}"


def test_the_randomised_figure_leads_and_names_what_it_needs():
    tossed = [
        AssignedAttempt(task=f"t{n}", success=n % 10 < (3 if is_held_out else 6), is_held_out=is_held_out, share=0.5)
        for n in range(20)
        for is_held_out in (True, False)
    ]
    found = replace(helped(12, 9), randomised=randomised_effect(tossed))
    assert effect_sentence(found).startswith(
        "No clear effect of memory so far. 60% of 20 attempts succeeded with memory, and 30% of 20 held out "
        "by a coin: a difference of +30\xa0points (likely −4 to +58\xa0points). About 11"
    )
    assert "About 11 more attempts would decide, if the rates stay. Not randomised: 9 of 12 tasks " in effect_sentence(
        found
    )
    assert randomised_view(found.randomised).difference == "+30\xa0points"


def test_a_decided_randomised_figure_says_which_way():
    tossed = [
        AssignedAttempt(task=f"t{n}", success=not is_held_out, is_held_out=is_held_out, share=0.1)
        for n in range(20)
        for is_held_out in (True, False)
    ]
    view = randomised_view(randomised_effect(tossed))
    assert (view.verdict, view.advice) == ("Memory helps.", "")


def test_memory_that_is_used_after_failures_is_not_worded_as_a_gain():
    attempts = [
        JudgedAttempt(task_id=f"t{n}", success=has_used, has_used=has_used, follows_failure=has_used)
        for n in range(12)
        for has_used in (False, True)
    ]
    found = effect_among(attempts)
    assert verdict(found) == "These attempts do not tell whether memory helps."
    assert caution(found).startswith("The difference is no measure of memory")
    assert caution(helped(12, 9)).startswith("Not a randomised trial")
    assert effect_sentence(found) == (
        "12 of 12 tasks have a higher success rate with memory (likely 12–12 tasks), 0 a lower. "
        "12 of 12 attempts with memory followed a failure at the same task, and 0 of 12 without. "
        "The difference is no measure of memory: where attempts ask for it after failures, the failures count against "
        "those without it. A holdout measures it."
    )


def test_without_any_recorded_use_there_is_no_figure():
    found = MemoryEffect(tasks=())
    assert better_text(found) == "–"
    assert effect_sentence(found).startswith("No attempt has recorded a memory that it was given.")
