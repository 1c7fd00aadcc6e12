"""SWE-agent's runs as trajectories."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers.formats.swe_agent import describe

ISSUE = "We're solving an issue.\nISSUE:\nThe parser fails.\r\nOn tabs.\n\nINSTRUCTIONS:\nYou have a shell."


def run(**changes):
    return {
        "environment": "main",
        "trajectory": [
            {
                "thought": "Look around.\n",
                "action": "ls\n",
                "observation": "a.py",
                "response": "Look around.\n```\nls\n```",
                "state": '{"open_file": "n/a"}',
            },
            {"thought": "", "action": "submit", "observation": "", "response": "I give up"},
        ],
        "history": [
            {"role": "system", "content": "You are an engineer."},
            {"role": "user", "content": "ISSUE:\nA demonstration.", "is_demo": True},
            {"role": "user", "content": ISSUE},
        ],
        "info": {"exit_status": "submitted", "submission": "\ndiff --git\n", "model_stats": {"api_calls": 2}},
    } | changes


def test_a_run_becomes_a_trajectory_of_unknown_outcome(files):
    read = files.only("swe-agent", files.json("a.traj", run()))
    assert read.task.description == "The parser fails.\nOn tabs."
    assert read.steps == (
        Step("Look around.", "ls", "a.py", {"state": '{"open_file": "n/a"}'}),
        Step("", "submit", "", {"response": "I give up"}),
    )
    assert read.outcome.success is None
    assert read.outcome.error_info is None
    assert read.metadata == {
        "source": "swe-agent",
        "environment": "main",
        "exit_status": "submitted",
        "submission": "\ndiff --git\n",
        "solution": "diff --git",
        "model_stats": {"api_calls": 2},
    }


def test_runs_on_the_same_issue_share_its_id(files):
    first = files.only("swe-agent", files.json("x/a.traj", run()))
    second = files.only("swe-agent", files.json("y/b.traj", run(trajectory=[])))
    assert first.task == second.task


def test_a_history_alone_gives_the_steps(files):
    history = [
        *run()["history"],
        {"role": "assistant", "content": "Look.", "thought": "Look.", "action": "ls"},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}]},
        {"role": "assistant", "content": "No command here."},
    ]
    read = files.only("swe-agent", files.json("a.traj", {"history": history}))
    assert read.steps == (
        Step("Look.", "ls", "a.py", {"observation_from": "tool"}),
        Step(action="No command here."),
    )


def test_how_a_run_broke_off_is_kept(files):
    read = files.only("swe-agent", files.json("a.traj", run(info={"exit_status": "exit_cost"})))
    assert read.outcome.error_info == "exit_cost"
    assert read.outcome.success is None


@pytest.mark.parametrize("as_text", [False, True])
def test_the_model_is_the_agent_where_the_file_says_it(files, as_text):
    config = '{"agent": {"model": {"name": "gpt-4o"}}}' if as_text else {"agent": {"model": {"name": "gpt-4o"}}}
    assert files.only("swe-agent", files.json("a.traj", run(replay_config=config))).agent_id == "gpt-4o"
    assert files.only("swe-agent", files.json("a.traj", run(replay_config="{"))).agent_id == ""


@pytest.mark.parametrize(
    ("prompt", "description"),
    [
        (ISSUE, "The parser fails.\nOn tabs."),
        ("ISSUE:\nNo instructions follow.", "No instructions follow."),
        ("We solve the following CTF challenge. Find it.\nFiles: a\n\nINSTRUCTIONS:\nGo", "Find it.\nFiles: a"),
        ("<pr_description>\nFix it\n</pr_description> You can use bash.", "Fix it"),
        ("Anything else.", "Anything else."),
    ],
)
def test_the_task_is_cut_out_of_the_prompt(prompt, description):
    assert describe(prompt) == description


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"history": [], "replay_config": None}, "expected a user message with the task in the field history"),
        ({"history": {}}, "expected a list for history, got type dict"),
        ({"history": ["x"]}, "expected an object for history[0], got 'x'"),
        ({"history": [{"role": 5}]}, "expected a string for history[0].role, got type int"),
        ({"trajectory": 5}, "expected a list for trajectory, got type int"),
        ({"trajectory": [None]}, "expected an object for trajectory[0], got nothing"),
        ({"trajectory": [{"action": ["ls"]}]}, "expected a string for trajectory[0].action, got type list"),
        ({"trajectory": [{"observation": "\x00"}]}, "observation contains a NUL character"),
        ({"info": []}, None),
        ({"info": "x"}, "expected an object for info, got 'x'"),
        ({"info": {"submission": 5}}, "expected a string for info.submission, got type int"),
        ({"environment": 5}, "expected a string for environment, got type int"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(files, changes, reason):
    [row] = files.read("swe-agent", files.json("a.traj", run(**changes)))
    assert (row.item is None) == (reason is not None)
    assert (reason or "") in row.reason
