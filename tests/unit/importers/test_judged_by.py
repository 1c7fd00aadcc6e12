"""An import says which scores it took as outcomes, whether somebody named them or the format did."""

from __future__ import annotations

from typing import Any

import pytest

from atlas.core.settings import Settings
from atlas.importers import import_paths

ATIF = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s1",
    "agent": {"name": "terminus-2", "version": "2.0"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "List the files"},
        {"step_id": 2, "source": "agent", "message": "There is a.py."},
    ],
}


def judged(sink, path) -> dict[str, int]:
    return dict(import_paths(sink, [path], settings=Settings()).judged)


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ({"reward": 0.0}, {"reward ≥ 1": 1}),
        ({"tests passed": 1.0}, {"tests passed ≥ 1": 1}),
        ({"reward": 1.0, "style": 0.2}, {"reward ≥ 1": 1}),
        ({"a": 1.0, "b": 0.0}, {}),
        ({}, {}),
    ],
)
def test_the_reward_of_a_trajectory_is_named(files, sink, rewards: dict[str, Any], expected):
    files.json("result.json", {"task_name": "list", "verifier_result": {"rewards": rewards}})
    assert judged(sink, files.json("trajectory.json", ATIF)) == expected


def test_the_reward_of_runs_is_named_and_those_that_it_does_not_decide_are_not_counted(files, sink, tau_row):
    rows = [tau_row(reward=reward) for reward in (1.0, 0.0, 0.5)]
    assert judged(sink, files.json("runs.json", rows)) == {"reward = 1": 2}


def test_the_scorers_that_decide_are_named(files, sink, inspect_log, sample):
    exact, both = {"exact": {"value": "C"}, "length": {"value": 0.4}}, {"exact": {"value": "I"}, "model": {"value": 1}}
    log = inspect_log(sample(scores=exact), sample(id=2, scores=both), sample(id=3, scores={"length": {"value": 0.4}}))
    assert judged(sink, files.json("log.json", log)) == {"exact = C or 1": 1, "exact and model = C or 1": 1}
