"""τ-bench runs as trajectories."""

from __future__ import annotations

import pytest

from atlas.core.types import Step


def test_a_run_becomes_a_trajectory_with_all_that_was_said_but_the_system_prompt(files, tau_row):
    run = files.only("tau-bench", files.json("gpt-airline.json", [tau_row()]))
    assert run.task.id == "tau-bench/airline/3"
    assert run.task.domain == "airline"
    assert run.task.description == "Cancel booking R1."
    assert run.task.verification.parameters == {"outputs": ["R1"]}
    user, tool = {"observation_from": "user"}, {"observation_from": "tool cancel"}
    assert run.steps == (
        Step(observation="Hello, please cancel.", metadata=user),
        Step(action="Which one?", observation="R1", metadata=user),
        Step(thought="Let me do it.", action='cancel({"id": "R1"})', observation="done", metadata=tool),
        Step(action="It is cancelled.", observation="###STOP###", metadata=user),
    )
    assert run.metadata == {
        "source": "tau-bench",
        "trial": 2,
        "reward": 1.0,
        "user_id": "ann",
        "solution": 'cancel({"id": "R1"})\n\nIt is cancelled.',
    }
    assert run.timestamp is None


@pytest.mark.parametrize(
    ("reward", "success", "score"),
    [(1.0, True, 1.0), (1, True, 1), (0.0, False, 0.0), (0.5, None, 0.5), (None, None, None), (3.0, None, None)],
)
def test_the_reward_decides_the_outcome(files, tau_row, reward, success, score):
    run = files.only("tau-bench", files.json("runs.json", [tau_row(reward=reward)]))
    assert (run.outcome.success, run.outcome.partial_score) == (success, score)


def test_a_missing_reward_is_unknown(files, tau_row):
    row = {name: value for name, value in tau_row().items() if name != "reward"}
    assert files.only("tau-bench", files.json("runs.json", [row])).outcome.success is None


def test_the_domain_is_not_guessed_and_the_directory_does_not_matter(files, tau_row):
    runs = [files.only("tau-bench", files.json(f"{folder}/runs.json", [tau_row()])) for folder in ("airline", "b")]
    assert runs[0].task == runs[1].task
    assert runs[0].task.domain == ""
    assert runs[0].task.id.startswith("tau-bench/3-")


def test_all_trials_of_a_task_share_its_id(files, tau_row):
    rows = files.read("tau-bench", files.json("runs.json", [tau_row(trial=0), tau_row(trial=1)]))
    assert len({row.item.task.id for row in rows}) == 1


def test_a_run_that_broke_down_says_so(files, tau_row):
    broken = tau_row(info={"error": "timed out"}, traj=[], reward=0.0)
    run = files.only("tau-bench", files.json("retail.json", [broken]))
    assert run.task.description == "τ-bench retail task 3"
    assert run.outcome.error_info == "timed out"


def test_several_calls_at_once_are_one_action(files, tau_row):
    calls = [{"function": {"name": name, "arguments": "{}"}} for name in ("look", "cancel")]
    messages = [{"role": "assistant", "content": None, "tool_calls": calls}]
    heard = [{"role": "tool", "name": name, "content": f"{name} done"} for name in ("look", "cancel")]
    run = files.only("tau-bench", files.json("runs.json", [tau_row(traj=[*messages, *heard])]))
    [step] = run.steps
    assert step.action == "look({})\ncancel({})"
    assert step.observation == "[tool look] look done\n\n[tool cancel] cancel done"
    assert run.metadata["solution"] == step.action


def test_pictures_are_named_and_not_kept(files, tau_row):
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]
    run = files.only("tau-bench", files.json("runs.json", [tau_row(traj=[{"role": "user", "content": parts}])]))
    assert run.steps[0].observation == "see\n\n[image]"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"task_id": None}, "expected a string or a whole number for task_id, got nothing"),
        ({"task_id": [1]}, "expected a string or a whole number for task_id, got type list"),
        ({"reward": "1"}, "expected a number for reward, got '1'"),
        ({"reward": True}, "expected a number for reward, got True"),
        ({"reward": float("nan")}, "expected a number for reward, got nan"),
        ({"reward": float("inf")}, "expected a finite number for reward, got inf"),
        ({"trial": "x"}, "expected a number for trial, got 'x'"),
        ({"info": []}, "expected an object for info, got type list"),
        ({"info": {"task": {}}}, "expected a string for info.task.instruction, got nothing"),
        ({"info": {"task": {"instruction": 5}}}, "expected a string for info.task.instruction, got type int"),
        ({"traj": {}}, "expected a list for traj, got type dict"),
        ({"traj": ["hi"]}, "expected an object for traj[0], got 'hi'"),
        ({"traj": [{"content": "x"}]}, "expected a string for traj[0].role, got nothing"),
        ({"traj": [{"role": "user", "content": 5}]}, "expected a list for traj[0].content, got type int"),
        (
            {"traj": [{"role": "assistant", "tool_calls": [{}]}]},
            "expected an object for traj[0].tool_calls[0].function",
        ),
        ({"traj": [{"role": "user", "content": "\ud800"}]}, "observation contains a lone surrogate at character 0"),
        ({"traj": [{"role": "user", "content": "a\x00b"}]}, "observation contains a NUL character"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_and_costs_its_row_only(files, tau_row, changes, reason):
    path = files.json("runs.json", [tau_row(), tau_row(**changes), tau_row(trial=7)])
    rows = files.read("tau-bench", path)
    assert [row.position for row in rows] == [1, 2, 3]
    assert [row.item is None for row in rows] == [False, True, False]
    assert reason in rows[1].reason
