"""Retrieval tasks on small files as their sources write them."""

from __future__ import annotations

import json
import sqlite3

import pytest

from atlas.core.codec import encode_trajectory
from atlas.core.errors import ImportFailed
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Task, Trajectory
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora import find_corpora
from atlas.importers.corpora.reflexion import plain_first_sentence


def corpora(*paths):
    return find_corpora(paths, Settings())


def tasks(corpus):
    return {task.name: task for task in corpus.tasks}


def with_first_message(run, text):
    """A τ-bench row whose customer begins so."""
    return run | {"traj": [*run["traj"][:1], {"role": "user", "content": text}, *run["traj"][2:]]}


def line(task_id, text="a task", id="t1"):
    """A line of ATLAS JSONL."""
    trajectory = Trajectory(task=Task(task_id, "", text), steps=(), outcome=Outcome(None), id=id)
    return {"kind": "trajectory", "trajectory": encode_trajectory(trajectory)}


@pytest.fixture
def tau_file(files, tau_row):
    rows = [with_first_message(tau_row(task_id=n // 2, trial=n % 2), f"Hello from {n}") for n in range(4)]
    return files.json("airline.json", rows)


def test_a_first_message_asks_for_the_other_trials(tau_file):
    [corpus] = corpora(tau_file)
    queries = tasks(corpus)["τ-bench airline, first message"].queries
    assert [query.text for query in queries] == [f"Hello from {n}" for n in range(4)]
    assert queries[0].grades == {"tau-bench/airline/0#1": SAME}
    assert queries[0].excluded == {"tau-bench/airline/0#0"}
    assert [query.group for query in queries] == [f"tau-bench/airline/{n // 2}" for n in range(4)]


def test_an_instruction_asks_for_its_trials_which_do_not_hold_it(tau_file):
    [corpus] = corpora(tau_file)
    first, second = tasks(corpus)["τ-bench airline, instruction"].queries
    assert (first.text, second.group) == ("Cancel booking R1.", "tau-bench/airline/1")
    assert first.grades == {"tau-bench/airline/0#0": SAME, "tau-bench/airline/0#1": SAME}
    assert [run.task.description for run in corpus.trajectories] == [f"Hello from {n}" for n in range(4)]
    assert {run.metadata["solution"] for run in corpus.trajectories} == {'cancel({"id": "R1"})\n\nIt is cancelled.'}


def test_a_run_that_its_customer_does_not_begin_is_refused(files, tau_row):
    spoken_first = tau_row(traj=[{"role": "assistant", "content": "How may I help?"}])
    with pytest.raises(ImportFailed, match="a run of tau-bench/airline/3 does not begin with a user message"):
        corpora(files.json("airline.json", [spoken_first]))


def test_a_reflection_asks_for_all_attempts_at_its_problem_and_no_record_holds_it(files, mbpp_row):
    simple = mbpp_row()
    del simple["reflections"]
    other = mbpp_row(name="mbpp_2_triple", reflections=[])
    files.lines("reflexion.jsonl", [mbpp_row(), other])
    files.lines("simple.jsonl", [simple])
    [corpus] = corpora(files.directory)
    [query] = tasks(corpus)["Reflexion, reflection"].queries
    assert query.text == "I added instead."
    assert query.grades == {"mbpp_9_double#0": SAME, "mbpp_9_double#1": SAME}
    assert query.excluded == frozenset()
    assert len(corpus.trajectories) == 3
    assert "I added" not in json.dumps([encode_trajectory(run) for run in corpus.trajectories])
    assert corpus.trajectories[0].metadata == {"solution": "def double(n):\n    return 2 * n"}


def test_each_problem_is_asked_for_once_by_its_sentence(files, mbpp_row):
    files.lines("a.jsonl", [mbpp_row()])
    files.lines("b.jsonl", [mbpp_row()])
    [corpus] = corpora(files.directory)
    [query] = tasks(corpus)["Reflexion, sentence"].queries
    assert (query.text, len(query.grades), query.group) == ("double .", 2, "mbpp_9_double")


def test_household_trials_have_no_text_to_be_found_by(files):
    files.json("alfworld.json", [{"name": "env_0", "memory": ["I should look."], "is_success": False}])
    with pytest.raises(ImportFailed, match="the files contain no query"):
        corpora(files.directory)


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("Write a function to sum a list.\n\ndef total(xs) -> int", "sum a list."),
        ("Write a python function to find the n'th item.\n\ndef nth(n)", "find the 'th item."),
        ("Check whether has_close_elements holds.\n>>> f(1)\nTrue\n\ndef f(x)", "Check whether holds."),
        ("Insert a 'delimeter' between `numbers'\n>>> x([], 4)\n[]\n\ndef x(n)", "Insert a between"),
        ("You are given a tree with n nodes. It has roots.\n\ndef f(n)", "You are given a tree with nodes."),
        ("Add them. For example: 2", "Add them."),
        ("Round it\n\nThe rest.\n\ndef f()", "Round it"),
        ("x_1", "x_1"),
    ],
)
def test_other_words_are_the_first_sentence_without_code(description, words):
    assert plain_first_sentence(description) == words


def run_on(issue, patch):
    prompt = f"We're solving this.\nISSUE:\n{issue}\n\nINSTRUCTIONS:\nNow go."
    return {
        "environment": "swe_main",
        "trajectory": [{"thought": "t", "action": "ls", "observation": "o", "response": "t"}],
        "history": [{"role": "user", "content": prompt}],
        "info": {"exit_status": "submitted", "submission": patch},
    }


def test_an_issue_asks_for_the_other_runs_and_single_runs_only_distract(files):
    for n, issue in enumerate(["Colon is missing", "Colon is missing", "Another thing"]):
        files.json(f"run{n}.traj", run_on(issue, f"patch {n}"))
    [corpus] = corpora(files.directory)
    [task] = corpus.tasks
    assert len(corpus.trajectories) == 3
    assert [query.text for query in task.queries] == ["Colon is missing"] * 2
    first = task.queries[0]
    assert first.excluded == {corpus.trajectories[0].id}
    assert first.grades == {corpus.trajectories[1].id: SAME}
    assert corpus.trajectories[1].metadata["solution"] == "patch 1"


@pytest.fixture
def log_file(tmp_path):
    path = tmp_path / "memory.sqlite"
    rows = [
        (1, 1, "task", "User asked: add"),
        (2, 1, "crash_log", "Gen 1 died: AssertionError in add"),
        (3, 1, "reflection", "It subtracts."),
        (4, 1, "reflection", "It still subtracts."),
        (5, 2, "reflection", "All is well."),
        (6, 3, "crash_log", "Gen 3 died: TypeError"),
        (7, 3, "reflection", "It mixes types."),
        (8, 2, "reflection", "It mixes types."),
    ]
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE memory (id INTEGER, generation INTEGER, entry_type TEXT, content TEXT)")
        connection.executemany("INSERT INTO memory VALUES (?, ?, ?, ?)", rows)
    connection.close()
    return path


def test_a_reflection_asks_for_the_crash_of_its_generation(log_file):
    crashes, _ = corpora(log_file)
    queries = crashes.tasks[0].queries
    assert [record.id for record in crashes.trajectories] == ["protea#2", "protea#6"]
    assert [query.text for query in queries] == ["It subtracts.", "It still subtracts.", "It mixes types."]
    assert [query.grades for query in queries] == [{"protea#2": SAME}] * 2 + [{"protea#6": SAME}]
    assert [query.group for query in queries] == ["protea/1", "protea/1", "protea/3"]


def test_in_the_whole_log_what_else_its_generation_says_and_its_repetitions_are_left_out(log_file):
    _, whole = corpora(log_file)
    assert len(whole.trajectories) == 8
    assert whole.tasks[0].queries[0].excluded == {"protea#1", "protea#3", "protea#4"}
    assert whole.tasks[0].queries[2].excluded == {"protea#7", "protea#8"}
    assert whole.tasks[0].queries[0].grades == {"protea#2": SAME}


def test_another_database_is_passed_over(tmp_path, files, tau_file):
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE memory (id INTEGER)")
    connection.close()
    assert [corpus.name for corpus in corpora(tmp_path)] == ["τ-bench airline"]


def test_a_damaged_database_is_named(files):
    damaged = files.raw("damaged.sqlite", b"SQLite format 3\x00" + b"\xff" * 5_000)
    with pytest.raises(ImportFailed, match=r"damaged.sqlite is a SQLite file that cannot be read"):
        corpora(damaged)


def judged(**changes):
    row = {"id": "q1", "kind": "symptom", "query": "It is slow", "grades": {"index": 3, "cache": 1}}
    return {"about": "…", "queries": [row | changes], "nonsense": ["qqqq"]}


def test_a_grade_is_that_of_every_attempt_at_its_task(files):
    files.lines("a.jsonl", [line("index", id="i1"), line("cache", id="c1")])
    files.lines("b.jsonl", [line("index", id="i2"), line("other", id="o1")])
    files.json("queries.json", judged())
    [corpus] = corpora(files.directory)
    [task] = corpus.tasks
    [query] = task.queries
    assert query.grades == {"i1": 3, "i2": 3, "c1": 1}
    assert (query.text, query.group, corpus.nonsense) == ("It is slow", "index", ("qqqq",))
    assert len(corpus.trajectories) == 4


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"grades": {"indexx": 3}}, r"queries.json: queries\[0\].grades names the task 'indexx', but no attempt"),
        ({"grades": {"index": 4}}, r"expected the grade 0, 1, 2 or 3 for 'index' in .*grades, got 4"),
        ({"grades": {"index": True}}, r"for 'index' in .*grades, got True"),
        ({"grades": {"index": "3"}}, r"for 'index' in .*grades, got '3'"),
        ({"grades": {}}, r"queries\[0\].grades is empty; move a query without relevant tasks"),
        ({"grades": None}, r"expected an object for queries\[0\].grades, got nothing"),
        ({"query": " "}, r"expected a string for queries\[0\].query, got an empty one"),
    ],
)
def test_judgements_that_cannot_be_meant_are_refused(files, changes, problem):
    files.lines("a.jsonl", [line("index"), line("cache")])
    files.json("queries.json", judged(**changes))
    with pytest.raises(ImportFailed, match=problem):
        corpora(files.directory)


def test_a_row_that_cannot_be_read_stops_it_as_a_part_is_not_the_whole(files, tau_row):
    broken = files.json("airline.json", [tau_row(), tau_row(traj="nothing")])
    with pytest.raises(ImportFailed, match=r"airline.json, row 2: expected a list for traj"):
        corpora(broken)


def test_a_path_with_nothing_to_evaluate_on_is_told_what_is_looked_for(files, tau_file):
    files.raw("elsewhere/notes.txt", "nothing of use")
    with pytest.raises(ImportFailed, match=r"elsewhere has no data to evaluate on; looked for τ-bench runs, Reflex"):
        corpora(tau_file, files.directory / "elsewhere")


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(ImportFailed, match="absent does not exist"):
        corpora(tmp_path / "absent")


def test_a_file_that_is_given_twice_counts_once(files, tau_file):
    assert len(corpora(tau_file, files.directory)) == 1
