"""`atlas evaluate` measures on given files with the bundled model, or on the store itself without writing to it."""

from __future__ import annotations

import json

import pytest

import atlas
from atlas.cli import main
from atlas.core.codec import encode_trajectory
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.testing import HashEmbedder

TASKS = {
    "slow-list": "The list of orders takes six seconds to load since the table has grown",
    "lost-parcel": "A customer has not received the parcel that was sent two weeks ago",
    "grid": "Turn every blue cell of the grid that touches a red one",
}
QUERIES = {"an index for the orders query": "slow-list", "where is my package?": "lost-parcel"}


def attempt(task_id, text, n=0):
    task = atlas.Task(task_id, "", text)
    return atlas.Trajectory(task=task, steps=(), outcome=atlas.Outcome(n % 2 == 0), id=f"{task_id} {n}")


@pytest.fixture
def judged(tmp_path):
    """A directory with attempts and two queries about them."""
    directory = tmp_path / "judged"
    directory.mkdir()
    lines = [{"kind": "trajectory", "trajectory": encode_trajectory(attempt(*task))} for task in TASKS.items()]
    (directory / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    queries = [{"query": text, "grades": {task_id: 3}} for text, task_id in QUERIES.items()]
    (directory / "queries.json").write_text(json.dumps({"about": "…", "queries": queries, "nonsense": ["qqq"]}))
    return directory


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def fill(n_trials=2):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store_many([attempt(*task, n) for task in TASKS.items() for n in range(n_trials)])


def test_it_measures_on_judged_queries_without_touching_the_store(judged, store, tmp_path, capsys):
    file = tmp_path / "figures.json"
    status = main(["evaluate", str(judged), "--half", "both", "--model", BUNDLED, "--json", str(file)])
    assert status == 0
    said = capsys.readouterr().out
    assert f"both halves together (split by task, seed 4); embedding model {BUNDLED}" in said
    assert "judged queries, judged: 2 queries about 2 tasks" in said
    [task] = json.loads(file.read_text())["tasks"]
    dense = next(row for row in task["rows"] if row["name"] == "dense")
    assert dense["estimates"]["hit@1"]["mean"] == 1
    assert task["chance"]["hit@1"] == pytest.approx(1 / 3)
    assert not store.exists()


def test_it_measures_on_the_stores_own_attempts_read_only(store, capsys):
    fill()
    before = {path: path.read_bytes() for path in store.rglob("*") if path.name.endswith((".sqlite", ".json"))}
    assert main(["evaluate", "--markdown", "-"]) == 0
    said = capsys.readouterr().out
    assert "### own attempts: 6 queries about 3 tasks" in said
    assert "100% of the queries are one word for word" in said
    assert "6 attempts at 3 tasks, 50% of them successes." in said
    assert {path: path.read_bytes() for path in before} == before


def test_a_path_without_runs_is_told_what_is_looked_for(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("nothing of use")
    assert main(["evaluate", str(tmp_path)]) == 1
    assert "has no data to evaluate on; looked for τ-bench runs" in capsys.readouterr().err


def test_a_store_without_a_task_tried_twice_and_without_outcomes_says_so(store, capsys):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store(atlas.Trajectory(task=atlas.Task("a", "", "a"), steps=(), outcome=atlas.Outcome(None)))
    assert main(["evaluate"]) == 1
    assert "or evaluate files: atlas evaluate PATH" in capsys.readouterr().err


def test_another_model_for_the_store_itself_is_refused_with_the_way_to_change_it(store, capsys):
    fill()
    assert main(["evaluate", "--model", "other"]) == 1
    assert "atlas reembed --model other" in capsys.readouterr().err
