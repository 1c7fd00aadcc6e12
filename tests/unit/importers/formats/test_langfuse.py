"""Langfuse's exports as attempts, judged by the score that the user names."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.types import Step
from atlas.importers import detect, import_paths
from atlas.importers.logs import LogOptions, SuccessRule


def export(trace: str = "t1", **changes: Any) -> dict[str, Any]:
    def seen(number, kind, name, **more):
        return {
            "id": f"o{number}",
            "traceId": trace,
            "type": kind,
            "name": name,
            "parentObservationId": "o1" if number > 1 else None,
            "startTime": f"2026-01-02T10:00:0{number}.000Z",
            "endTime": f"2026-01-02T10:00:0{number}.500Z",
            "level": "DEFAULT",
        } | more

    called = {"tool_calls": [{"function": {"name": "search", "arguments": '{"q": 1}'}}]}
    return {
        "trace": {
            "id": trace,
            "projectId": "p",
            "name": "run",
            "timestamp": "2026-01-02T10:00:00.000Z",
            "input": json.dumps({"messages": [{"role": "user", "content": "How far is Mars?"}]}),
            "scores": [{"name": "correctness", "value": 0.8, "timestamp": "2026-01-03T00:00:00Z"}],
        },
        "observations": [
            seen(4, "GENERATION", "chat", model="m", output="Far."),
            seen(1, "SPAN", "agent"),
            seen(3, "TOOL", "search", input={"q": 1}, output="54 million km", level="ERROR", statusMessage="slow"),
            seen(2, "GENERATION", "chat", model="m", output=called),
        ],
    } | changes


def test_a_trace_is_one_attempt_of_unknown_outcome_in_the_order_of_time(files):
    path = files.json("t.json", export())
    assert detect(path).name == "langfuse"
    read = files.only("langfuse", path)
    assert read.task.description == "How far is Mars?"
    assert read.steps == (
        Step("", 'search({"q": 1})', "", {"span": "chat", "seconds": 0.5}),
        Step("", 'search({"q": 1})', "slow\n\n54 million km", {"span": "search", "seconds": 0.5, "failed": True}),
        Step("", "Far.", "", {"span": "chat", "seconds": 0.5}),
    )
    assert (read.outcome.success, read.outcome.error_info) == (None, "slow")
    assert read.metadata["scores"] == {"correctness": 0.8}
    assert read.metadata["solution"] == "Far."
    assert read.metadata["seconds"] == 3.5
    assert read.timestamp.isoformat() == "2026-01-02T10:00:04.500000+00:00"


@pytest.mark.parametrize(
    ("rule", "success"),
    [("correctness>=0.8", True), ("correctness > 0.8", False), ("correctness<0.9", True), ("tone>=1", None)],
)
def test_the_user_says_which_score_is_success(files, sink, rule, success):
    path = files.json("t.json", export())
    report = import_paths(sink, [path], log_options=LogOptions(success=SuccessRule.parse(rule)), settings=Settings())
    [item] = sink.items
    assert item.experience.outcome.success is success
    assert report.judged == {str(SuccessRule.parse(rule)): int(success is not None)}


@pytest.mark.parametrize("rule", ["correctness", ">=1", "a>=b", "a>=nan", ""])
def test_a_rule_that_is_none_is_refused(rule):
    with pytest.raises(InvalidInput, match=r"such as correctness>=0\.5"):
        SuccessRule.parse(rule)


@pytest.mark.parametrize("shape", ["list", "lines", "indented"])
def test_lists_and_lines_give_each_trace_and_a_broken_one_costs_itself(files, shape):
    values = [export("t1"), export("t2", observations=[5]), export("t3")]
    if shape == "indented":
        path = files.raw("t.json", json.dumps(values, indent=2))
    else:
        path = files.json("t.json", values) if shape == "list" else files.lines("t.jsonl", values)
    assert detect(path).name == "langfuse"
    rows = files.read("langfuse", path)
    assert [row.reason for row in rows] == ["", "expected an object for observations[0], got type int", ""]


@pytest.mark.parametrize("field", ["id", "name", "timestamp", "scores", "tags", "sessionId"])
@pytest.mark.parametrize("value", [7.5, {"a": 1}, [[]], True])
def test_a_wrong_type_is_refused_or_read_and_never_an_error(files, field, value):
    made = export()
    made["trace"][field] = value
    [row] = files.read("langfuse", files.json("t.json", made))
    assert bool(row.item) != bool(row.reason)
    assert "cannot be read" not in row.reason
