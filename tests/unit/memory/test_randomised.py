"""What both figures of the effect of memory say of simulated agents, whose true effect is known."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from statistics import mean

import pytest

from atlas.memory.effects.memory_effect import JudgedAttempt, MemoryEffect, effect_among
from atlas.memory.effects.randomised import AssignedAttempt, RandomisedEffect, randomised_effect
from atlas.views.overview.effect import effect_sentence, verdict

TRUTH = 0.2
"""Percentage points, over 100, that memory adds to the success rate of every task."""

N_STREAMS, N_OBSERVED, N_TASKS = 100, 30, 200


@dataclass(frozen=True)
class Policy:
    """When an agent asks its memory."""

    after_failure: float
    otherwise: float


ALWAYS, BY_COIN, AFTER_FAILURES = Policy(1, 1), Policy(0.5, 0.5), Policy(1, 0)


def simulated(policy: Policy, share: float, seed: int) -> tuple[list[JudgedAttempt], list[AssignedAttempt]]:
    """Return six attempts at each task, of which some are much harder than others."""
    draw = random.Random(seed)
    judged, tossed = [], []
    for task in map(str, range(N_TASKS)):
        rate, before = draw.betavariate(1, 1.5) * (1 - TRUTH), None
        for _ in range(6):
            asks = draw.random() < (policy.after_failure if before is False else policy.otherwise)
            is_held_out = asks and draw.random() < share
            success = draw.random() < rate + TRUTH * (asks and not is_held_out)
            if asks:
                tossed.append(AssignedAttempt(task=task, success=success, is_held_out=is_held_out, share=share))
            judged.append(
                JudgedAttempt(
                    task_id=task, success=success, has_used=asks and not is_held_out, follows_failure=before is False
                )
            )
            before = success
    return judged, tossed


def randomised(policy: Policy, share: float) -> list[RandomisedEffect]:
    found = (randomised_effect(simulated(policy, share, seed)[1]) for seed in range(N_STREAMS))
    return [effect for effect in found if effect is not None]


@cache
def observed(policy: Policy) -> list[MemoryEffect]:
    return [effect_among(simulated(policy, 0, seed)[0]) for seed in range(N_OBSERVED)]


def bias(effects: list[MemoryEffect]) -> float:
    return mean(effect.mean_rates[0] - effect.mean_rates[1] for effect in effects) - TRUTH


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("policy", [ALWAYS, BY_COIN, AFTER_FAILURES], ids=["always", "by coin", "after failures"])
def test_the_randomised_figure_is_unbiased_whenever_agents_ask(policy, share):
    effects = randomised(policy, share)
    assert len(effects) == N_STREAMS
    assert abs(mean(effect.difference for effect in effects) - TRUTH) <= 0.02
    covered = mean(effect.interval[0] <= TRUTH <= effect.interval[1] for effect in effects)
    assert covered >= 0.94


def test_a_share_that_changes_between_easy_and_hard_tasks_leaves_it_unbiased():
    def stream(seed: int) -> RandomisedEffect | None:
        draw, tossed = random.Random(seed), []
        for n in range(600):
            share, rate = (0.1, 0.7) if n % 2 else (0.5, 0.1)
            is_held_out = draw.random() < share
            success = draw.random() < rate + TRUTH * (not is_held_out)
            tossed.append(AssignedAttempt(task=str(n), success=success, is_held_out=is_held_out, share=share))
        return randomised_effect(tossed)

    effects = [effect for effect in map(stream, range(N_STREAMS)) if effect is not None]
    assert abs(mean(effect.difference for effect in effects) - TRUTH) <= 0.02
    assert mean(effect.shown.rate - effect.held_out.rate for effect in effects) - TRUTH > 0.1


@pytest.mark.parametrize(
    ("policy", "about"),
    [(BY_COIN, 0.0), (AFTER_FAILURES, 0.1), (Policy(0.3, 0), 0.07), (Policy(0.8, 0.2), 0.07), (Policy(0, 1), -0.18)],
)
def test_beyond_a_bias_of_a_twentieth_the_observed_figure_is_worded_as_no_gain(policy, about):
    effects = observed(policy)
    assert bias(effects) == pytest.approx(about, abs=0.02)
    claims = [effect for effect in effects if "went better with memory than" in effect_sentence(effect)]
    if abs(bias(effects)) > 0.05:
        assert claims == []
        assert {verdict(effect) for effect in effects} == {"These attempts do not tell whether memory helps."}
    else:
        assert len(claims) >= N_OBSERVED - 1


def attempts(task: str, *, shown: str = "", held_out: str = "", share: float = 0.5) -> list[AssignedAttempt]:
    """Attempts at a task, `+` for each success and `-` for each failure."""
    return [
        AssignedAttempt(task=task, success=mark == "+", is_held_out=is_held_out, share=share)
        for is_held_out, marks in ((False, shown), (True, held_out))
        for mark in marks
    ]


def test_one_attempt_a_task_has_the_exact_intervals_of_clopper_and_pearson():
    tossed = [one for n in range(20) for one in attempts(f"s{n}", shown="+" if n < 15 else "-")]
    tossed += [one for n in range(20) for one in attempts(f"h{n}", held_out="+" if n < 5 else "-")]
    found = randomised_effect(tossed)
    # scipy.stats.binomtest(15, 20).proportion_ci() is (.508954, .913429), and of 5 (.086571, .491046)
    low, high = found.interval
    assert found.difference == pytest.approx(0.5)
    assert low == pytest.approx(0.5 - (2 * 0.241046**2) ** 0.5, abs=1e-5)
    assert high == pytest.approx(0.5 + (2 * 0.163429**2) ** 0.5, abs=1e-5)
    assert found.is_decided
    assert found.n_more == 0


def test_repeats_of_few_tasks_tell_less_than_as_many_tasks():
    repeats = [
        one for n in range(8) for one in attempts(f"t{n}", shown=("+" if n < 6 else "-") * 10, held_out="+-" * 5)
    ]
    spread = [
        one
        for n in range(80)
        for one in attempts(f"t{n}", shown="+" if n % 8 < 6 else "-", held_out="+" if n % 2 else "-")
    ]
    few, many = (randomised_effect(tossed).interval for tossed in (repeats, spread))
    assert few[1] - few[0] > 1.5 * (many[1] - many[0])


def test_the_number_of_attempts_it_needs_decides_if_the_rates_stay():
    tossed = [
        one for n in range(10) for one in attempts(f"t{n}", shown="+" if n < 6 else "-", held_out="+" if n < 3 else "-")
    ]
    found = randomised_effect(tossed)
    assert not found.is_decided
    times = 1 + found.n_more / len(tossed)
    more = [
        one
        for copy in range(round(times + 0.5))
        for n in range(10)
        for one in attempts(f"{copy} {n}", shown="+" if n < 6 else "-", held_out="+" if n < 3 else "-")
    ]
    assert randomised_effect(more).is_decided


def test_equal_rates_are_decided_by_no_number_of_attempts():
    found = randomised_effect([*attempts("a", shown="+-", held_out="+-"), *attempts("b", shown="+-", held_out="+-")])
    assert found.n_more is None


def test_one_side_of_the_coin_alone_is_no_figure():
    assert randomised_effect(attempts("a", shown="+-")) is None
    assert randomised_effect([]) is None
