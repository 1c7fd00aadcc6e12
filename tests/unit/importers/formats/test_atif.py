"""ATIF documents as attempts, with the reward that Harbor wrote beside them."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.core.types import Step
from atlas.importers import detect


def document(**changes: Any) -> dict[str, Any]:
    called = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s1",
        "agent": {"name": "terminus-2", "version": "2.0", "model_name": "a-model"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "You are an agent."},
            {"step_id": 2, "source": "user", "message": "List the files", "timestamp": "2026-01-02T10:00:00Z"},
            {
                "step_id": 3,
                "source": "agent",
                "timestamp": "2026-01-02T10:00:05Z",
                "message": "I look.",
                "reasoning_content": "Simple.",
                "tool_calls": [called],
                "observation": {"results": [{"source_call_id": "c1", "content": "a.py"}]},
            },
            {"step_id": 4, "source": "agent", "message": "There is a.py."},
        ],
        "final_metrics": {"total_prompt_tokens": 10},
    } | changes


def test_a_document_is_an_attempt_of_unknown_outcome_where_no_reward_lies_beside_it(files):
    path = files.json("agent/trajectory.json", document())
    assert detect(path).name == "atif"
    read = files.only("atif", path)
    assert read.task.description == "List the files"
    assert read.steps == (
        Step("Simple.\n\nI look.", 'bash({"command": "ls"})', "a.py"),
        Step("", "There is a.py."),
    )
    assert read.outcome.success is None
    assert read.agent_id == "a-model"
    assert read.timestamp.isoformat() == "2026-01-02T10:00:05+00:00"


@pytest.mark.parametrize(("reward", "success"), [(1.0, True), (0.0, False), (0.4, False)])
@pytest.mark.parametrize("place", ["result.json", "agent/result.json"])
def test_the_reward_beside_it_is_the_outcome(files, reward, success, place):
    files.json(place, {"task_name": "list-files", "verifier_result": {"rewards": {"reward": reward}}})
    read = files.only("atif", files.json("agent/trajectory.json", document()))
    assert (read.outcome.success, read.outcome.partial_score) == (success, reward)
    assert read.task.id == "atif/list-files"


def test_a_broken_result_is_reported_and_the_attempt_stays(files):
    files.raw("result.json", "{")
    rows = files.read("atif", files.json("agent/trajectory.json", document()))
    assert rows[0].reason.startswith("result.json in its directory or the parent: is not JSON")
    assert rows[1].item.outcome.success is None


def test_what_is_null_does_not_change_the_id(files):
    made = document(notes=None)
    made["steps"][3] |= {"tool_calls": None, "metrics": None}
    first = files.only("atif", files.json("a.json", document()))
    assert files.only("atif", files.json("b.json", made)).id == first.id


def test_sub_agents_are_attempts_that_name_their_caller(files):
    child = document(trajectory_id="child", session_id="s2")
    rows = files.read("atif", files.json("t.json", document(subagent_trajectories=[child, 5])))
    assert rows[1].item.metadata["called_by"] == rows[0].item.id
    assert rows[2].reason == "expected an object for the trajectory, got type int"


@pytest.mark.parametrize("field", ["agent", "steps", "session_id", "notes"])
@pytest.mark.parametrize("value", [5, "x", [1], {"a": 1}])
def test_a_wrong_type_is_refused_or_read_and_never_an_error(files, field, value):
    [row] = files.read("atif", files.json("t.json", document(**{field: value})))
    assert bool(row.item) != bool(row.reason)
    assert "cannot be read" not in row.reason


@pytest.mark.parametrize("field", ["source", "message", "tool_calls", "observation", "timestamp", "reasoning_content"])
@pytest.mark.parametrize("value", [5, {"a": 1}, [5]])
def test_a_wrong_type_in_a_step_names_the_field(files, field, value):
    made = document()
    made["steps"][2][field] = value
    [row] = files.read("atif", files.json("t.json", made))
    assert bool(row.item) != bool(row.reason)
    assert "cannot be read" not in row.reason
