"""Strategies without a language model: from tool calls, from reflections, from programs, or none at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.importers import detect
from atlas.importers.rows import Limits
from atlas.infra.bridge import run
from atlas.memory.strategies.induction.slots import Generaliser
from atlas.memory.strategies.induction.summaries import describe_steps, is_program, program_gist
from atlas.memory.strategies.induction.template import (
    SITUATION_CHARACTERS,
    TITLE_CHARACTERS,
    TemplateStrategyAbstractor,
)
from atlas.protocols.strategies import StrategyAbstractor

USER = {"observation_from": "user"}
CANCEL = Trajectory(
    task=Task(
        "airline/7",
        "airline",
        "You are Emma Kim (user id is emma_kim_9957). "
        "You want to cancel reservation EHGLP3, booked on May 17 for $120.",
    ),
    steps=(
        Step(action="I can help you with that. Could you please provide your reservation ID?", metadata=USER),
        Step(action='get_reservation_details({"reservation_id": "XXXXX1"})'),
        Step(action='get_reservation_details({"reservation_id": "EHGLP3"})'),
        Step(action='think({"thought": "The reservation EHGLP3 is within 24 hours, so it may end."})'),
        Step(action='cancel_reservation({"reservation_id": "EHGLP3", "reason": "change of plan", "fast": true})'),
        Step(action="Thank you! The reservation EHGLP3 has been successfully cancelled.", metadata=USER),
    ),
    outcome=Outcome(True),
)
REFLECTED = Trajectory(
    task=Task("mbpp/1", "mbpp", "Write a function to swap 2 elements.\n\n>>> swap([1, 2])\n[2, 1]\n\ndef swap(pair)"),
    steps=(
        Step(thought="The implementation is incorrect because it keeps the 2 elements in order. It should not."),
        Step(thought="The implementation of the `swap` function is wrong when the pair is empty, as it raises."),
        Step(action='def swap(pair):\n    """Swap."""\n    # Turn it around\n    return pair[::-1]'),
    ),
    outcome=Outcome(True),
)


def abstract(trajectory):
    return run(TemplateStrategyAbstractor().abstract(trajectory))


def household(*thoughts):
    task = Task("alfworld/env_1", "alfworld", "ALFWorld household task env_1")
    return Trajectory(task=task, steps=tuple(Step(thought=said) for said in thoughts), outcome=Outcome(True))


def test_tool_calls_and_talk_become_steps_and_the_task_a_situation():
    strategy = abstract(CANCEL)
    assert strategy.title == "Cancel reservation {reservation_id}, booked on {date} for {amount}"
    assert strategy.situation == "You want to cancel reservation {reservation_id}, booked on {date} for {amount}."
    assert strategy.suggestion.splitlines() == [
        "1. Ask: “Could you please provide your reservation ID?”",
        "2. Call `get_reservation_details(reservation_id)` 2 times.",
        "3. Call `think(thought)`: “The reservation {reservation_id} is within {number} hours, so it may end.”",
        "4. Call `cancel_reservation(reservation_id, reason='change of plan', fast=True)`.",
        "5. Say: “The reservation {reservation_id} has been successfully cancelled.”",
    ]
    assert strategy.sources == (CANCEL.id,)
    assert {parameter["name"]: parameter["example"] for parameter in strategy.parameters} == {
        "reservation_id": "EHGLP3",
        "date": "May 17",
        "amount": "$120",
        "number": "24",
    }


def test_it_says_that_no_model_judged():
    strategy = abstract(CANCEL)
    assert strategy.metadata == {"derived_by": "template", "domain": "airline", "task_id": "airline/7"}
    assert "an attempt at airline/7 (6 steps, 4 tool calls)" in strategy.rationale
    assert "without a language model" in strategy.rationale
    assert (strategy.success_rate, strategy.usage_count) == (0.5, 0)
    assert isinstance(TemplateStrategyAbstractor(), StrategyAbstractor)


def test_reflections_tell_what_failed_and_the_program_what_worked():
    strategy = abstract(REFLECTED)
    assert strategy.situation == "Write a function to swap 2 elements."
    assert strategy.title == "Swap 2 elements"
    assert strategy.suggestion.splitlines() == [
        "It failed before when the pair is empty, as it raises.",
        "It failed before because it keeps the 2 elements in order.",
        "What worked:",
        "    def swap(pair):",
        "        return pair[::-1]",
    ]
    assert strategy.parameters == ()
    assert "2 reflections on earlier failures" in strategy.rationale


def test_where_the_task_says_nothing_the_reflections_do():
    strategy = abstract(
        household(
            "My plan was to find a mug, then clean it with the sinkbasin. I was stuck in a loop.",
            "I should have taken mug 3 from sinkbasin 1. It did not help to repeat actions. The room is large.",
        )
    )
    assert strategy.situation == "In alfworld: find a mug, then clean it with the sinkbasin."
    assert strategy.suggestion.splitlines() == [
        "I should have taken mug {number} from sinkbasin {number}.",
        "It did not help to repeat actions.",
    ]


@pytest.mark.parametrize(
    "trajectory",
    [
        replace(CANCEL, outcome=Outcome(False)),
        replace(CANCEL, outcome=Outcome(None)),
        replace(CANCEL, steps=CANCEL.steps[:1]),
        replace(CANCEL, steps=()),
        replace(CANCEL, task=Task("t", "", "Do 17 of EHGLP3.")),
        replace(CANCEL, task=Task("t", "", "")),
        replace(REFLECTED, steps=REFLECTED.steps[-1:]),
        household("I was unlucky."),
        household(),
    ],
    ids=[
        "failed",
        "unknown",
        "one step",
        "no step",
        "only particulars",
        "no task",
        "solved at once",
        "vague",
        "silent",
    ],
)
def test_a_failure_and_what_is_too_specific_or_says_too_little_give_no_strategy(trajectory):
    assert abstract(trajectory) is None


def test_what_was_said_of_an_attempt_is_kept_where_it_did_not_reflect():
    said = replace(CANCEL, metadata={"feedback": "Refund EHGLP3 first. That was fast. Bye."})
    assert "What was said of it: “Refund {reservation_id} first. That was fast.”" in abstract(said).suggestion


def test_long_attempts_and_texts_are_cut():
    steps = tuple(Step(action=f'tool_{n}({{"x": {n}}})') for n in range(50))
    strategy = abstract(replace(CANCEL, steps=steps, task=Task("t", "", "Sort many long lists quickly " * 200)))
    lines = strategy.suggestion.splitlines()
    assert (len(lines), lines[6]) == (13, "7. … 38 more steps …")
    assert len(strategy.situation) <= SITUATION_CHARACTERS
    assert len(strategy.title) <= TITLE_CHARACTERS


def test_a_command_line_is_told_by_its_commands():
    steps = [Step(action="grep -rn foo"), Step(action="python reproduce.py"), Step(action="python test.py"), Step()]
    told = describe_steps(replace(CANCEL, steps=tuple(steps)), Generaliser())
    assert told == ["Run `grep`.", "Run `python` 2 times."]


def test_a_long_program_is_told_by_its_comments_and_by_what_it_calls():
    body = "\n".join(f"    value_{n} = re.sub('a', 'b', value_{n - 1}).casefold()" for n in range(1, 40))
    code = f"import re\ndef f(value_0):\n    # Replace every letter in turn\n{body}\n    return value_39"
    assert program_gist(code) == "Replace every letter in turn\nIt uses `re.sub`, `.casefold`."
    plain = code.replace("    # Replace every letter in turn\n", "").replace("re.sub('a', 'b', ", "len(")
    shown = program_gist(plain.replace(".casefold()", ""))
    assert shown.startswith("import re\n\ndef f(value_0):")
    assert shown.endswith("\n…")


@pytest.mark.parametrize(
    "text", ["", "not\npython at all", "Hello\nthere", "x = 1\n" * 9_000, "(" * 500, "x = 1" + "+1" * 9_000]
)
def test_what_is_no_program_or_cannot_be_read_has_no_gist(text):
    assert program_gist(text) == ""


def test_the_body_of_a_function_and_odd_escapes_are_read():
    assert is_program("    return x")
    assert program_gist('x = "\\d"\ny = x') == "x = '\\\\d'\ny = x"


def test_an_attempt_of_any_size_is_read():
    said = [
        Step(action=f"It is not so that word{n} and phrase{n} are eligible here.", metadata=USER) for n in range(5_000)
    ]
    assert len(describe_steps(replace(CANCEL, steps=tuple(said)), Generaliser())) <= 13
    thoughts = [Step(thought="my plan was to " * 2_000)] * 300
    assert abstract(replace(household(), steps=tuple(thoughts))) is None


def test_real_attempts_give_strategies(real_data):
    def made(name):
        path = real_data / name
        rows = [row.item for row in detect(path).read(path, Limits())]
        return [strategy for strategy in map(abstract, rows) if strategy]

    airline = made("tau_bench/gpt-4o-airline.json")
    assert len(airline) == 82
    assert sum("{" in strategy.situation for strategy in airline) >= 60
    assert all("\n1. " in f"\n{strategy.suggestion}" for strategy in airline)
    assert len(made("reflexion/mbpp_py_reflexion_gpt4.jsonl")) >= 75
    assert made("reflexion/mbpp_py_simple_gpt4.jsonl") == []
    assert len(made("reflexion/alfworld_reflexion_trial_14.json")) >= 20
