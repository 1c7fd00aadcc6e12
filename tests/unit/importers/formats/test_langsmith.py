"""LangSmith's runs as attempts, one for each trace."""

from __future__ import annotations

import pytest

from atlas.core.settings import Settings
from atlas.core.types import Step
from atlas.importers import detect, import_paths
from atlas.importers.logs import LogOptions, SuccessRule


def serialized(name, content, **more):
    place = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": place, "kwargs": {"content": content, **more}}


def run(number, kind, name, inputs, outputs, **more):
    return {
        "id": f"r{number}",
        "trace_id": "r1",
        "parent_run_id": "r1" if number > 1 else None,
        "name": name,
        "run_type": kind,
        "inputs": inputs,
        "outputs": outputs,
        "start_time": f"2026-01-02T10:00:0{number}.000000",
        "end_time": f"2026-01-02T10:00:0{number}.500000",
        "status": "success",
    } | more


@pytest.fixture
def runs():
    call = {"name": "search", "args": {"q": "Mars"}, "id": "c1", "type": "tool_call"}
    question = serialized("HumanMessage", "How far is Mars?")
    first = serialized("AIMessage", "", tool_calls=[call])
    last = {"generations": [[{"text": "Far.", "message": serialized("AIMessage", "54 million km.")}]]}
    model = {"extra": {"metadata": {"ls_model_name": "m-1"}}}
    costs = {"prompt_tokens": 10, "completion_tokens": 5, "total_cost": "0.002"}
    return [
        run(4, "llm", "ChatModel", {"messages": [[question, first]]}, last, **model, **costs),
        run(3, "tool", "search", {"q": "Mars"}, {"output": "54 million km"}),
        run(
            2, "llm", "ChatModel", {"messages": [[question]]}, {"generations": [[{"message": first}]]}, **model, **costs
        ),
        run(
            1,
            "chain",
            "agent",
            {
                "messages": [
                    {"type": "system", "content": "Be short."},
                    {"type": "human", "content": "How far is Mars?"},
                ]
            },
            {"messages": [{"type": "ai", "content": "54 million km."}]},
            feedback_stats={"correctness": {"n": 2, "avg": 0.5}, "note": {"n": 1, "avg": None}},
            session_id="p1",
            tags=["night"],
        ),
    ]


@pytest.mark.parametrize("is_list", [True, False])
def test_the_runs_of_a_trace_are_one_attempt_of_unknown_outcome(files, runs, is_list):
    path = files.json("runs.json", runs) if is_list else files.lines("runs.jsonl", runs)
    assert detect(path).name == "langsmith"
    attempt = files.only("langsmith", path)
    assert attempt.task.description == "How far is Mars?"
    assert attempt.steps == (
        Step(action='search({"q": "Mars"})', metadata={"span": "ChatModel", "seconds": 0.5}),
        Step(action='search({"q": "Mars"})', observation="54 million km", metadata={"span": "search", "seconds": 0.5}),
        Step(action="54 million km.", metadata={"span": "ChatModel", "seconds": 0.5}),
    )
    assert (attempt.outcome.success, attempt.agent_id) == (None, "m-1")
    assert attempt.metadata["scores"] == {"correctness": 0.5}
    assert attempt.metadata["tokens"] == {"input": 20, "output": 10}
    assert (attempt.metadata["cost_usd"], attempt.metadata["project"], attempt.metadata["tags"]) == (
        0.004,
        "p1",
        ["night"],
    )
    assert attempt.timestamp.isoformat() == "2026-01-02T10:00:04.500000+00:00"


def test_child_runs_may_be_nested(files, runs):
    root = runs[3] | {"child_runs": [{**child} for child in runs[:3]]}
    for child in root["child_runs"]:
        del child["parent_run_id"], child["trace_id"]
    nested, flat = files.lines("nested.jsonl", [root]), files.lines("flat.jsonl", runs)
    assert files.only("langsmith", nested) == files.only("langsmith", flat)


def test_a_feedback_decides_where_it_is_named(files, runs, sink):
    options = LogOptions(success=SuccessRule.parse("correctness>=0.5"))
    import_paths(sink, [files.lines("runs.jsonl", runs)], settings=Settings(), log_options=options)
    [item] = sink.items
    assert item.experience.outcome.success is True


def test_an_error_is_kept(files, runs):
    runs[1] |= {"outputs": None, "error": "ValueError: no such place", "status": "error"}
    attempt = files.only("langsmith", files.lines("runs.jsonl", runs))
    failed = next(step for step in attempt.steps if step.metadata["span"] == "search")
    assert (failed.observation, failed.metadata["failed"]) == ("ValueError: no such place", True)


BROKEN = {
    "cut off": '{"id": "r9", "run_type',
    "a number": "5",
    "no id": {"run_type": "llm", "inputs": {}},
    "a child without a trace": run(9, "llm", "x", {}, {}) | {"trace_id": None},
    "a time of the wrong type": run(9, "llm", "x", {}, {}) | {"start_time": 5},
    "extra of the wrong type": run(9, "llm", "x", {}, {}) | {"extra": 5},
    "children of the wrong type": run(1, "chain", "x", {}, {}) | {"child_runs": 5},
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_row_costs_only_itself(files, runs, what):
    rows = files.read("langsmith", files.lines("runs.jsonl", [BROKEN[what], *runs]))
    assert [row.position for row in rows if row.item is None] == [1]
    assert sum(row.item is not None for row in rows) == 1
