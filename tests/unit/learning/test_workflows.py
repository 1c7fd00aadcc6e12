"""Workflows of tool calls, learned from given logs of an airline's customer service and from made-up ones."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

import atlas
from atlas.core.types import Outcome, Task, Trajectory
from atlas.importers import Limits, detect
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.strategies import Proposal, StitchCompressionStrategy
from atlas.learning.workflows import extract_calls, find_workflows, strategy_of_workflow
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from tests.support.learning.tool_calls import call, refund


def test_results_become_variables_and_other_values_parameters() -> None:
    (workflow,) = find_workflows([refund(n) for n in range(6)])
    assert workflow.code == (
        "def workflow_1(email, order_id, reason):\n"
        "    find_user(email=email)\n"
        "    order_result = get_order(order_id=order_id)\n"
        "    return refund(order_id=order_id, method=order_result['payment']['method'], reason=reason)"
    )
    assert workflow.n_tasks == 6
    assert workflow.saving > 0


def test_a_customer_of_two_tasks_is_not_in_the_code() -> None:
    (workflow,) = find_workflows([refund(n, customer="mia_1") for n in range(6)])
    assert "mia" not in workflow.code
    assert "late" not in workflow.code, "a value of all runs is a parameter too"


@pytest.mark.parametrize(
    "attempts",
    [
        [refund(1)],
        [refund(1) for _ in range(6)],
        [refund(n, success=n == 0) for n in range(6)],
        [
            Trajectory(
                Task(f"t{n}", "", "x"), (call("note", "ok", text=f"a{n}"), call("wait", "ok", s=n)), Outcome(True)
            )
            for n in range(5)
        ],
        [
            Trajectory(Task(f"t{n}", "", "x"), (call("get", {"a": n}, key=n), call("get", {}, key=n)), Outcome(True))
            for n in range(5)
        ],
    ],
    ids=["one attempt", "one task", "one success", "calls that share no value", "one tool"],
)
def test_what_is_no_workflow_of_several_tasks_is_left_out(attempts: list[Trajectory]) -> None:
    assert find_workflows(attempts) == []


def propose(attempts: list[Trajectory]) -> Proposal:
    return asyncio.run(StitchCompressionStrategy(engine=AntiUnificationEngine()).propose(attempts))


def test_a_workflow_is_proven_by_the_calls_that_it_makes_again() -> None:
    proposal = propose([refund(n) for n in range(6)])
    (learned,) = proposal.learned
    assert (learned.n_checked, learned.n_verified, learned.is_proven) == (6, 6, True)
    assert learned.concept.tools == ("find_user", "get_order", "refund")
    assert learned.concept.description == "Workflow of 3 tool calls: find_user → get_order → refund"
    strategy = strategy_of_workflow(learned.concept, {f"a{n}": f"attempt {n}" for n in range(5)})
    assert strategy.title == "find_user → get_order → refund"
    assert strategy.suggestion.splitlines()[1] == "2. order_result = get_order(order_id=order_id)"
    assert set(strategy.sources) == {f"attempt {n}" for n in range(5)}, "one is no longer stored"


def test_repeated_calls_of_a_tool_are_counted_in_its_name() -> None:
    attempts = [
        Trajectory(
            Task(f"t{n}", "", "x"),
            (
                call("find_user", {"orders": [f"#A{n}", f"#B{n}"]}, email=f"{n}@example.com"),
                call("get_order", {"id": f"#A{n}"}, order_id=f"#A{n}"),
                call("get_order", {"id": f"#B{n}"}, order_id=f"#B{n}"),
            ),
            Outcome(True),
        )
        for n in range(6)
    ]
    (learned,) = propose(attempts).learned
    assert learned.concept.description == "Workflow of 3 tool calls: find_user → get_order ×2"
    assert strategy_of_workflow(learned.concept, {}).title == "find_user → get_order ×2"


def test_a_workflow_in_two_functions_is_named_after_its_distinct_tools() -> None:
    (learned,) = propose([refund(n) for n in range(6)]).learned
    edited = dataclasses.replace(learned.concept, code=f"{learned.concept.code}\n\n\ndef other():\n    pass")
    assert strategy_of_workflow(edited, {}).title == "find_user → get_order → refund"


def test_names_of_tools_are_no_parameters() -> None:
    attempts = [
        Trajectory(
            Task(f"t{n}", "", "x"),
            (call("pay", {"card": f"c{n}"}, amount=n), call("refund", "done", pay=f"p{n}", card=f"c{n}")),
            Outcome(True),
        )
        for n in range(20)
    ]
    (workflow,) = find_workflows(attempts)
    assert workflow.code.startswith("def workflow_1(amount, pay_2):")
    assert "refund(pay=pay_2, card=pay_result['card'])" in workflow.code


def test_a_truth_in_a_result_is_no_number() -> None:
    attempts = [
        Trajectory(
            Task(f"t{n}", "", "x"),
            (
                call("find", {"is_new": True, "id": f"#W{n}"}, email=f"{n}@example.com"),
                call("set_count", "done", order_id=f"#W{n}", number_of_pieces=1),
            ),
            Outcome(True),
        )
        for n in range(20)
    ]
    (workflow,) = find_workflows(attempts)
    assert "number_of_pieces=number_of_pieces" in workflow.code


def test_deeply_nested_results_are_read_as_texts() -> None:
    deep = "[" * 600 + "]" * 600
    attempt = Trajectory(Task("t", "", "x"), (call("get", deep, key="a"),), Outcome(True))
    (made,) = extract_calls(attempt)
    assert made.result == deep


def test_a_replay_fails_where_the_code_makes_other_calls() -> None:
    (workflow,) = find_workflows([refund(n) for n in range(6)])
    other = workflow.code.replace("order_id=order_id, method", "order_id=reason, method")
    with Sandbox() as sandbox:
        same, wrong = sandbox.run_all([(workflow.code, workflow.test(0)), (other, workflow.test(0))])
    assert (same.outcome, wrong.outcome) == ("passed", "failed")


def test_given_successes_become_concepts_that_the_next_task_finds_and_whose_use_counts(
    real_data: Path, tmp_path: Path
) -> None:
    path = real_data / "tau_bench" / "gpt-4o-airline.json"
    rows = [row.item for row in detect(path).read(path, Limits())]
    runs = [run for run in rows if isinstance(run, Trajectory) and run.outcome.success]
    tasks = sorted({run.task.id for run in runs})
    past = [run for run in runs if run.task.id in tasks[::2]]
    task = next(run.task for run in runs if run.task.id not in tasks[::2])
    settings = atlas.Settings(embedding_model="all-MiniLM-L6-v2")
    with atlas.open_memory(tmp_path / "store", settings=settings) as memory:
        memory.concepts.load_primitives(ARCPrimitiveLoader())  # 70 concepts that have nothing to do with the task
        learned = memory.concepts.compress(past)
        proven = [concept for concept in learned if concept.metadata["proven"]]
        assert proven
        customers = {str(run.metadata["user_id"]) for run in runs}
        assert not [name for name in customers for concept in proven if name in concept.code]
        memory.concepts.add_many(proven)
        found = memory.concepts.search(task.description, k=1)
        assert found[0].id in {concept.id for concept in proven}
        memory.concepts.record_use(found[0].id, True, task_id=task.id)
        assert memory.concepts.get(found[0].id).usage_count == 1
