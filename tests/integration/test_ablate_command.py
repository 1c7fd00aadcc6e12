"""Ablation from the command line, on what `atlas import` reads."""

from __future__ import annotations

import json

import pytest

from atlas.cli import main
from atlas.core.codec import encode_trajectory
from atlas.core.types import Outcome, Task, Trajectory


@pytest.fixture
def runs(tmp_path):
    """A directory of runs: two attempts at each of two tasks, and a file that is none."""
    made = [
        Trajectory(Task(task, "", f"Mend the {task}"), (), Outcome(n == 1))
        for n in range(2)
        for task in ("bridge", "window")
    ]
    rows = [{"kind": "trajectory", "trajectory": encode_trajectory(one)} for one in made]
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "runs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "runs" / "LICENSE").write_text("free")
    return tmp_path / "runs"


def test_the_table_is_printed_and_written(runs, tmp_path, capsys):
    arguments = ["ablate", str(runs), "--config", "experience-only", "--config", "no-memory"]
    assert main([*arguments, "--json", str(tmp_path / "found.json")]) == 0
    said = capsys.readouterr().out
    assert "4 attempts at 2 tasks, 50% of them successes" in said
    assert "experience-only" in said
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["n_repeated"] == 2
    assert [row["hit_k"]["mean"] for row in found["rows"]] == [1.0, 0.0]


def test_a_row_that_cannot_be_read_is_refused(runs, capsys):
    with (runs / "runs.jsonl").open("a") as file:
        file.write('\n{"kind": "trajectory", "trajectory": {"task": 3}}\n')
    assert main(["ablate", str(runs)]) == 1
    assert "runs.jsonl, row 5" in capsys.readouterr().err


def test_a_directory_without_runs_is_refused(tmp_path, capsys):
    (tmp_path / "LICENSE").write_text("free")
    assert main(["ablate", str(tmp_path)]) == 1
    assert "expected at least one attempt to replay" in capsys.readouterr().err


def test_ways_to_curate_are_benched_over_runs(runs, tmp_path, capsys):
    assert main(["bench", "curation", str(runs), "--json", str(tmp_path / "found.json")]) == 0
    assert "4 attempts, 2 tasks with a success" in capsys.readouterr().out
    rows = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert {(row["share"], row["n_records"]) for row in rows if row["policy"] == "keep the newest"} == {
        (1.0, 4), (0.5, 2), (0.25, 1), (0.1, 1),
    }  # fmt: skip
    assert [row["found"]["mean"] for row in rows if row["share"] == 1.0] == [1.0] * 6
