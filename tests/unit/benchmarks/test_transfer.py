"""The benchmark of transfer on a tiny corpus: what tasks need, that their families are held out, and the shares."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atlas
from atlas.core.statistics import estimates
from atlas.testing import HashEmbedder
from benchmarks.agents import transfer
from benchmarks.agents.cases import Case, called_names, customers, problems, signature
from benchmarks.agents.messages import RUNS
from benchmarks.agents.transfer import ARMS, _percent, _signs, measured
from benchmarks.compressing import LOGS

CANCEL = {"name": "cancel_reservation", "kwargs": {"reservation_id": "AB1"}}
LOOK = {"name": "get_user_details", "kwargs": {"user_id": "mia"}}


def run_of(number: int, actions: list[Any], reward: float) -> dict[str, Any]:
    task = {"instruction": "Cancel my trip by user_id", "actions": actions, "user_id": "mia"}
    messages = [{"role": "user", "content": "hello"}]
    return {"task_id": number, "trial": 0, "reward": reward, "info": {"task": task}, "traj": messages}


def test_customers_need_the_tools_and_arguments_that_their_own_text_lacks(tmp_path: Path) -> None:
    path = tmp_path / RUNS
    path.parent.mkdir()
    path.write_text(json.dumps([run_of(0, [LOOK, CANCEL], 1.0), run_of(0, [LOOK, CANCEL], 0.0), run_of(1, [], 0.0)]))
    first, second = customers(tmp_path)
    assert first.needs == {"get_user_details", "cancel_reservation", "reservation_id"}
    assert (first.family, second.family) == ("cancel_reservation", "")
    assert [len(case.successes) for case in (first, second)] == [1, 0]


def test_problems_are_the_solved_ones_by_their_types(tmp_path: Path) -> None:
    prompt = 'def shout(text: str) -> str:\n    """ Return the text in capitals. """\n'
    row = {"task_id": "HumanEval/1", "prompt": prompt, "entry_point": "shout", "reflections": []}
    row |= {"solution": "    return text.upper()", "test": "def check(candidate):\n    assert candidate('a') == 'A'\n"}
    path = tmp_path / "reflexion" / LOGS[1]
    path.parent.mkdir()
    lines = [json.dumps(row | {"is_solved": solved}) for solved in (True, False)]
    path.write_text("\n".join(lines))
    [case] = problems(tmp_path)
    assert (case.family, case.needs, len(case.successes)) == ("(str) -> str", frozenset({"upper"}), 1)


def test_no_directory_gives_no_cases(tmp_path: Path) -> None:
    assert customers(tmp_path) == problems(tmp_path) == []


def test_a_program_needs_what_it_calls_and_does_not_define() -> None:
    tree = ast.parse("def f(a: List[int], b):\n    def g(x): return len(x)\n    return g(sorted(a)) + b.count(1)")
    assert called_names(tree) == {"len", "sorted", "count"}
    assert signature(tree) == "(List[int], ?) -> ?"


def case_of(number: int, family: str, name: str) -> Case:
    task = atlas.Task(f"t{number}", "", f"Cancel the flight of passenger number {number}")
    steps = [atlas.Step(action=f'{name}({{"{field}": "{number}"}})', observation="ok") for field in "abc"]
    attempt = atlas.Trajectory(task, tuple(steps), atlas.Outcome(True), id=f"attempt-{number}")
    return Case(task=task, family=family, needs=frozenset({name}), successes=(attempt,))


def test_a_name_that_only_the_held_out_family_uses_is_never_offered() -> None:
    cases = [case_of(number, f"family {number}", f"tool_{number}") for number in range(4)]
    offers = measured(cases, HashEmbedder())
    assert list(offers) == list(ARMS)
    assert all(offer.share == offer.placebo_share == 0 for each in offers.values() for offer in each)
    assert all(offer.n_tokens > 0 for offer in offers["experiences"])


def test_a_name_that_another_family_uses_is_offered_by_each_kind_that_has_it() -> None:
    cases = [case_of(number, f"family {number}", "cancel_tool") for number in range(4)]
    offers = measured(cases, HashEmbedder())
    assert [offer.share for offer in offers["experiences"]] == [1, 1, 1, 1]
    assert [offer.share for offer in offers["strategies"]] == [1, 1, 1, 1]


def test_cases_that_need_nothing_are_remembered_but_not_asked() -> None:
    cases = [case_of(0, "a", "tool"), case_of(1, "b", "tool")]
    nothing = Case(task=cases[1].task, family="b", needs=frozenset(), successes=cases[1].successes)
    [offer] = measured([cases[0], nothing], HashEmbedder())["experiences"]
    assert offer.share == 1


def test_a_placebo_has_as_many_other_records_with_the_relevances_of_the_hits(tmp_path: Path) -> None:
    cases = [case_of(number, "", "tool") for number in range(20)]
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as memory:
        transfer.fill(memory, [attempt for case in cases for attempt in case.successes])
        hits = memory.query_sync(cases[0].task, 8).hits["experience"]
        drawn = transfer._drawn(memory, "experience", hits, random.Random(0))
    assert [hit.relevance for hit in drawn] == [hit.relevance for hit in hits]
    assert {hit.item.id for hit in drawn}.isdisjoint(hit.item.id for hit in hits)


@pytest.mark.parametrize(("differences", "text"), [([0.5, 0.1, 0.0], "2 : 0, 0.500"), ([-1.0, 0.0], "0 : 1, 1.000")])
def test_signs_count_tasks_without_ties(differences: list[float], text: str) -> None:
    assert _signs(np.array(differences)) == text


def test_few_families_give_no_interval() -> None:
    estimate = estimates(np.array([[0.5]]), ["a"], seed=0)[0]
    assert _percent(estimate, "+") == "+50"
