"""A trial: the same tasks with other blocks, one run after the other, and the figures on them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import atlas
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.settings import Settings
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell, distinct_tasks, read_arm, read_tasks, shuffled_cells
from atlas.evaluation.trial.figures import TrialReport, build_report, differing_runs
from atlas.evaluation.trial.forks import store_hash
from atlas.evaluation.trial.journal import FinishedCell, TrialJournal
from atlas.evaluation.trial.report import as_json, as_markdown, as_text, failure_lines, read_report
from atlas.evaluation.trial.run import Budget, TrialPlan, run_trial
from atlas.testing import HashEmbedder
from atlas.views.evaluation.trial import trial_page
from atlas.views.evaluation.trial_tasks import differing_tasks, traces_as_json
from atlas.views.trace.conversation import START
from tests.support.repository import REPOSITORY

AGENT = str(REPOSITORY / "tests" / "support" / "trial_agent.py")
EMBEDDER = HashEmbedder(32)
DESIGN = {"tasks": [{"id": f"t{n}", "description": f"task {n}"} for n in range(20)], "command": ["agent"], "seed": 0}


def task(number: int) -> atlas.Task:
    words = " ".join(f"word{number}{letter}" for letter in "abcdef")
    return atlas.Task(f"t{number}", "", f"cancel the order {words}", {"answer": f"ANSWER{number}Z"})


@pytest.fixture
def store(tmp_path) -> Settings:
    """A store with the answers of six tasks, and a strategy."""
    settings = Settings(store=tmp_path / "store")
    with atlas.open_memory(settings=settings, embedder=EMBEDDER) as memory:
        for number in range(6):
            step = atlas.Step(action=task(number).context["answer"])
            memory.experience.store(atlas.Trajectory(task(number), (step,), atlas.Outcome(True)))
        memory.strategies.add(atlas.Strategy(situation="cancel the order", suggestion="ask first"))
    return settings


def plan(*arms: str, mode: str = "line", n_tasks: int = 8, **options) -> TrialPlan:
    return TrialPlan(
        command=(sys.executable, AGENT, mode),
        arms=tuple(map(read_arm, arms or ("nothing", "memory"))),
        tasks=tuple(map(task, range(n_tasks))),
        **options,
    )


def run(chosen: TrialPlan, store: Settings, directory: Path) -> TrialReport:
    return run_trial(chosen, store, directory, embedder=EMBEDDER)


def successes(report: TrialReport) -> dict[str, int]:
    return {arm.name: arm.every.n_succeeded for arm in report.arms}


def untimed(report: TrialReport) -> TrialReport:
    """A report without what no two trials have in common: times of runs, and ids of attempts stored on the way."""
    cells = tuple(
        replace(
            cell,
            result=replace(cell.result, seconds=0.0),
            shown={name: len(ids) for name, ids in cell.shown.items()},
        )
        for cell in report.cells
    )
    return replace(report, cells=cells, arms=tuple(replace(arm, seconds=0.0) for arm in report.arms))


def content(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*.sqlite"))}


def test_what_the_block_has_is_what_an_arm_succeeds_with(store, tmp_path):
    arms = ("nothing", "memory", "placebo", "memory,without=experience", "memory,budget=0")
    report = run(plan(*arms), store, tmp_path / "trial")
    assert successes(report) == dict(zip(arms, (0, 6, 0, 0, 0), strict=True))
    memory = report.arms[1]
    assert (memory.seen.n, memory.seen.n_succeeded, memory.new.n, memory.new.n_succeeded) == (6, 6, 2, 0)
    assert (memory.cost, memory.models) == (0.5, ("scripted",))
    assert memory.tokens > report.arms[0].tokens == 10
    gain = report.comparisons[0]
    assert (gain.first, gain.second) == ("memory", "nothing")
    assert (gain.every.n_won, gain.every.n_lost, gain.every.difference) == (6, 0, 0.75)
    assert gain.every.chance == 2 / 2**6
    assert (gain.new.difference, gain.seen.difference) == (0.0, 1.0)
    assert set(gain.won) == set(range(6))


def test_nothing_in_the_store_changes(store, tmp_path):
    before = content(store.store)
    run(plan(n_tasks=3, is_stream=True), store, tmp_path / "trial")
    assert content(store.store) == before


def test_a_stream_finds_what_it_stored_in_its_own_arm_alone(store, tmp_path):
    report = run(plan("nothing", "memory", n_repeats=2, is_stream=True), store, tmp_path / "trial")
    assert successes(report) == {"nothing": 0, "memory": 14}
    assert (report.arms[1].new.n, report.arms[1].seen.n_succeeded) == (2, 14)


@pytest.mark.parametrize(
    ("mode", "judge", "n_succeeded", "n_errors"),
    [("code", (), 6, 0), ("judged", (sys.executable, AGENT, "judge"), 6, 0), ("crash", (), 0, 8)],
)
def test_a_run_is_judged_by_its_code_or_by_a_judge(store, tmp_path, mode, judge, n_succeeded, n_errors):
    report = run(plan(mode=mode, judge=judge), store, tmp_path / "trial")
    memory = report.arms[1]
    assert (memory.every.n_succeeded, memory.n_errors) == (n_succeeded, n_errors)


def test_a_run_that_takes_too_long_is_ended_and_failed(store, tmp_path):
    report = run(plan(mode="hang", n_tasks=1, timeout_seconds=0.5), store, tmp_path / "trial")
    assert {cell.result.error for cell in report.cells} == {"the command took longer than 0.5 seconds"}


def test_the_task_and_the_block_are_in_no_command_line_and_the_arm_nowhere(store, tmp_path):
    spy = tmp_path / "spy.py"
    spy.write_text("import json, os, sys; print(json.dumps([sys.argv, dict(os.environ)]))")
    chosen = replace(plan(n_tasks=1), command=(sys.executable, str(spy)))
    run(chosen, store, tmp_path / "trial")
    for output in (tmp_path / "trial" / "runs").glob("*/output.txt"):
        arguments, environment = json.loads(output.read_text())
        assert arguments == [str(spy)]
        seen = json.dumps(environment)
        assert task(0).context["answer"] not in seen
        assert "memory" not in seen.replace(str(tmp_path), "")
        assert environment["ATLAS_STORE"].startswith(str(output.parent))


def test_a_command_runs_where_the_trial_was_started(store, tmp_path, monkeypatch):
    (tmp_path / "my_agent.py").write_text("raise SystemExit(0)\n")
    monkeypatch.chdir(tmp_path)
    report = run(replace(plan(n_tasks=2), command=(sys.executable, "my_agent.py")), store, Path("trial"))
    assert successes(report) == {"nothing": 2, "memory": 2}
    assert failure_lines(report) == []


def test_a_trial_of_errors_alone_names_an_output(store, tmp_path):
    report = run(replace(plan(n_tasks=2), command=(sys.executable, "no_such_file.py")), store, tmp_path / "trial")
    [line] = failure_lines(report)
    file = tmp_path / "trial" / "runs" / report.cells[0].cell.directory / "output.txt.errors"
    assert f"runs/{file.parent.name}/output.txt" in line
    assert "The first: the command ended with the code 2" in line
    assert "no_such_file.py" in file.read_text()
    page = trial_page(report, TrialJournal(tmp_path / "trial").trace)
    assert all("Every run ended with an error" in text for text in (as_text(report), as_markdown(report), page))


def test_equal_stores_have_equal_hashes_and_others_do_not(store, tmp_path):
    def hash_of(path: Path) -> str:
        with atlas.open_memory(settings=Settings(store=path), embedder=EMBEDDER) as memory:
            return store_hash(memory)

    copy = Path(shutil.copytree(store.store, tmp_path / "copy"))
    assert hash_of(copy) == hash_of(store.store)
    with atlas.open_memory(settings=Settings(store=copy), embedder=EMBEDDER) as memory:
        memory.strategies.add(atlas.Strategy(situation="pay the order", suggestion="look it up"))
    assert hash_of(copy) != hash_of(store.store)


def test_an_output_that_no_file_can_hold_is_kept_without_what_cannot_be_written(store, tmp_path):
    spoiler = tmp_path / "spoiler.py"
    numbers = '"success": true, "tokens": 1e999, "cost": 1' + "0" * 400
    texts = r'"model": "a\ud800b", "solution": "one\u2028two", "steps": [{"action": "\udfff"}]'
    spoiler.write_text(f"print({'{' + numbers + ', ' + texts + '}'!r})")
    chosen = replace(plan(n_tasks=1, is_stream=True), command=(sys.executable, str(spoiler)))
    report = run(chosen, store, tmp_path / "trial")
    [_, result] = [cell.result for cell in report.cells]
    assert (result.success, result.tokens, result.cost, result.model) == (True, 0, 0.0, "a?b")
    assert result.solution == "one\u2028two"
    n_lines = (tmp_path / "trial" / "cells.jsonl").read_text().count("\n")
    assert run(chosen, store, tmp_path / "trial") == report
    assert (tmp_path / "trial" / "cells.jsonl").read_text().count("\n") == n_lines


def test_a_trial_that_is_killed_goes_on_to_the_same_report(store, tmp_path):
    chosen = plan("nothing", "memory", mode="slow", n_repeats=2, is_stream=True, n_tasks=4)
    whole = run(chosen, store, tmp_path / "whole")
    script = tmp_path / "trial.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from tests.unit.evaluation.test_trial import *\n"
        "chosen = plan('nothing', 'memory', mode='slow', n_repeats=2, is_stream=True, n_tasks=4)\n"
        "run(chosen, Settings(store=Path(sys.argv[2])), Path(sys.argv[3]))\n"
    )
    arguments = [str(script), str(REPOSITORY), str(store.store), str(tmp_path / "killed")]
    process = subprocess.Popen([sys.executable, *arguments], start_new_session=True)
    cells = tmp_path / "killed" / "cells.jsonl"
    while process.poll() is None and (not cells.exists() or cells.read_text().count("\n") < 5):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    n_before = cells.read_text().count("\n")
    assert 5 <= n_before < 16
    with cells.open("a") as file:
        file.write('{"cell": {"task": 1, "rep')
    resumed = run(chosen, store, tmp_path / "killed")
    assert untimed(resumed) == untimed(whole)
    assert resumed.n_done == resumed.n_cells == 16
    assert cells.read_text().count("\n") == 17  # the line that was cut off is one


def test_another_design_is_refused_where_a_trial_was_begun(store, tmp_path):
    run(plan(n_tasks=2), store, tmp_path / "trial")
    with pytest.raises(InvalidInput, match="its seed differ; choose another directory"):
        run(plan(n_tasks=2, seed=1), store, tmp_path / "trial")


def test_a_budget_ends_a_trial_between_pairs_and_more_of_it_goes_on(store, tmp_path):
    report = run(plan(budget=Budget(cost=1.5)), store, tmp_path / "trial")
    assert (report.n_done, report.n_cells, report.stopped_by) == (4, 16, "cost")
    assert report.comparisons[0].every.n_tasks == 2
    report = run(plan(), store, tmp_path / "trial")
    assert (report.n_done, report.stopped_by) == (16, "")


def test_an_arm_may_leave_out_a_tag_or_a_strategy_or_come_from_another_store(store, tmp_path):
    with atlas.open_memory(settings=store, embedder=EMBEDDER) as memory:
        memory.experience.change_marks(memory.experience.ids()[:4], add_tags=["early"])
        [strategy] = memory.strategies.ids()
    other = Settings(store=tmp_path / "other")
    with atlas.open_memory(settings=other, embedder=EMBEDDER):
        pass
    arms = ("memory", "memory,without-tag=early", f"memory,without-strategy={strategy}", f"memory,store={other.store}")
    report = run(plan(*arms), store, tmp_path / "trial")
    assert list(successes(report).values()) == [6, 2, 6, 0]
    shown = {
        arm: {i for cell in report.cells if cell.cell.arm == arm for i in cell.shown.get("strategies", ())}
        for arm in arms
    }
    assert shown[arms[0]] == {strategy}
    assert shown[arms[2]] == set()
    with pytest.raises(NotFound, match="no strategy 'x' to leave out"):
        run(plan("memory", "memory,without-strategy=x"), store, tmp_path / "another")


def test_a_placebo_is_nearly_as_long_and_on_other_tasks(tmp_path):
    settings = Settings(store=tmp_path / "store")
    with atlas.open_memory(settings=settings, embedder=EMBEDDER) as memory:
        memory.experience.store_many(
            [atlas.Trajectory(task(n), (atlas.Step(action="done"),), atlas.Outcome(True)) for n in range(120)]
        )
    report = run(plan("memory", "placebo"), settings, tmp_path / "trial")
    memory, placebo = report.arms
    assert memory.block_tokens * 0.85 <= placebo.block_tokens <= memory.block_tokens
    blocks = {cell.cell.task: cell.shown["experience"] for cell in report.cells if cell.cell.arm == "placebo"}
    with atlas.open_memory(settings=settings, embedder=EMBEDDER) as memory:
        for number, ids in blocks.items():
            assert ids
            assert task(number).id not in {record.task.id for record in memory.experience.get_many(list(ids))}


def test_every_cell_is_run_once_pairs_together_and_in_an_order_of_the_seed():
    def order(seed: int) -> list[tuple[Cell, ...]]:
        return list(shuffled_cells(5, ["a", "b", "c"], 2, seed))

    assert order(1) == order(1) != order(2)
    assert len({cell for cells in order(1) for cell in cells}) == 30
    assert all(len({(cell.task, cell.repeat) for cell in cells}) == 1 for cells in order(1))
    assert len({tuple(cell.arm for cell in cells) for cells in order(1)}) > 1


def cell(number: int, arm: str, success: bool, repeat: int = 0) -> FinishedCell:
    result = RunResult(success=success, seconds=1.0)
    return FinishedCell(
        cell=Cell(task=number, repeat=repeat, arm=arm), is_seen=False, block_tokens=0, shown={}, result=result
    )


def test_mcnemars_test_is_of_the_tasks_that_differ():
    first = {n: n < 9 for n in range(20)}
    second = {n: n < 1 or n >= 18 for n in range(20)}
    cells = [cell(n, arm, went[n]) for arm, went in (("b", second), ("a", first)) for n in range(20)]
    pair = build_report(DESIGN, ["b", "a"], list(map(task, range(20))), cells, 40).comparisons[0].every
    # scipy.stats.binomtest(2, 10).pvalue
    assert (pair.n_won, pair.n_lost, pair.chance) == (8, 2, pytest.approx(0.109375))
    assert pair.difference == pytest.approx(0.3)
    assert pair.interval.low < 0.3 < pair.interval.high


def test_repeats_of_a_task_count_as_one_task():
    cells = [cell(0, arm, arm == "a", repeat) for arm in "ab" for repeat in range(50)]
    pair = build_report(DESIGN, ["b", "a"], [task(0)], cells, 100).comparisons[0].every
    assert (pair.n_tasks, pair.n_won, pair.chance, pair.interval) == (1, 1, 1.0, None)


def test_an_unfinished_pair_is_compared_nowhere():
    report = build_report(DESIGN, ["b", "a"], [task(0)], [cell(0, "a", True)], 2)
    assert report.comparisons[0].every is None
    assert "a − b" in as_text(replace(report, design=full_design()))


def full_design() -> dict:
    return DESIGN | {
        "arms": ["b", "a"],
        "store_hash": "s" * 64,
        "code_hash": "c" * 64,
        "embedding_model": "m",
        "atlas": "1",
    }


def test_the_report_is_the_same_figures_as_text_markdown_json_and_a_page(store, tmp_path):
    report = run(plan(n_tasks=3), store, tmp_path / "trial")
    assert json.loads(as_json(report)) == json.loads(json.dumps(asdict(report)))
    assert as_json(read_report(as_json(report))) == as_json(report)
    for text in (as_text(report), as_markdown(report), trial_page(report, TrialJournal(tmp_path / "trial").trace)):
        assert "memory − nothing" in text
        assert "100%" in text
        assert report.design["store_hash"][:12] in text


def test_a_report_that_is_none_is_refused(tmp_path):
    saved = json.loads(as_json(build_report(full_design(), ["b", "a"], [task(0)], [cell(0, "a", True)], 2)))
    for changes, message in (
        (
            {"cells": [{**saved["cells"][0], "cell": {"task": 20, "repeat": 0, "arm": "a"}}]},
            "expected runs of the report's own tasks and arms",
        ),
        ({"design": {**saved["design"], "command": []}}, "expected a command in"),
        ({"cells": 7}, "cells"),
    ):
        with pytest.raises(InvalidInput, match=message):
            read_report(json.dumps(saved | changes))
    with pytest.raises(InvalidInput, match="got a text that is not JSON"):
        read_report("[" * 100_000)


def test_the_runs_shown_of_a_task_are_those_that_decided_it():
    went = {"a": (False, True, True), "b": (True, False, False)}
    cells = [cell(0, arm, success, repeat) for arm in went for repeat, success in enumerate(went[arm])]
    report = build_report(full_design(), ["b", "a"], [task(0)], cells, 6)
    first, second = differing_runs(report, report.comparisons[0], 0)
    assert (first.cell.arm, first.cell.repeat, second.cell.repeat) == ("a", 1, 1)


def test_both_runs_of_a_task_are_conversations_and_what_was_shown_is_not_called_used():
    won, lost = cell(0, "a", True), cell(0, "b", False)
    won = replace(won, shown={"experience": ("e",)}, block_tokens=7, result=replace(won.result, solution="pay first"))
    lost = replace(lost, result=replace(lost.result, steps=({"thought": "hm", "action": "ask"},), error="late"))
    report = build_report(full_design(), ["b", "a"], [task(0)], [won, lost], 2)
    assert [each.label for each in differing_tasks(report, report.comparisons[0])] == ["won: task 0"]
    first, second = traces_as_json(report, report.comparisons[0], 0, START)["traces"]
    assert (first["heading"], second["heading"]) == ("a · 1 record shown, 7 tokens", "b · 0 records shown, 0 tokens")
    assert (first["n"], second["n"], second["ending"]) == (1, 1, "late")
    assert "pay first" in json.dumps(first["steps"])
    assert "used" not in first


def test_the_page_has_both_traces_and_no_markup_of_theirs(store, tmp_path):
    hostile = tmp_path / "hostile.py"
    hostile.write_text(
        "import os, sys\nblock = open(os.environ['ATLAS_TRIAL_BLOCK']).read()\n"
        "print('<script>alert(1)</script>', len(block))\nsys.exit(0 if block else 1)\n"
    )
    report = run(replace(plan(n_tasks=1), command=(sys.executable, str(hostile))), store, tmp_path / "trial")
    page = trial_page(report, TrialJournal(tmp_path / "trial").trace)
    assert "<script" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    assert "won: cancel the order" in page


def test_tasks_are_read_from_lines_or_are_the_stores_own(store, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"description": "a"}\n\n{"id": "b", "description": "b", "context": {"x": 1}}\n')
    assert read_tasks(file) == [atlas.Task("", "", "a"), atlas.Task("b", "", "b", {"x": 1})]
    with atlas.open_memory(settings=store, embedder=EMBEDDER) as memory:
        assert sorted(own.id for own in distinct_tasks(memory.experience)) == [f"t{n}" for n in range(6)]
    for text, message in (
        ("nonsense", r"line 1: expected a task as JSON"),
        ('{"id": "a"}', "expected a task such as"),
        ('{"description": "a"}\n' * 2, "two tasks have the id or description 'a'"),
        ("", "a trial needs tasks"),
    ):
        file.write_text(text)
        with pytest.raises(InvalidInput, match=message):
            read_tasks(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all", "expected an arm that begins with one of nothing, memory, placebo, recency"),
        ("memory,budget", "expected NAME=VALUE for an arm's option"),
        ("memory,colour=red", "as an arm's option, got 'colour=red'"),
        ("memory,without=ideas", "expected one of experience"),
        ("memory,budget=many", "expected a number of tokens for `budget`"),
    ],
)
def test_an_arm_that_there_is_not_is_refused(text, message):
    with pytest.raises(InvalidInput, match=message):
        read_arm(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arms": (read_arm("memory"),)}, "two arms or more"),
        ({"arms": (read_arm("memory"),) * 2}, "expected each arm once"),
        ({"command": ()}, "needs the command"),
        ({"n_repeats": 0}, "expected 1 repeat or more, got 0"),
        ({"timeout_seconds": 0}, "expected a timeout above 0 seconds, got 0"),
        ({"command": ("no-such-program-here",)}, "'no-such-program-here' cannot be started"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(store, tmp_path, changes, message):
    with pytest.raises(InvalidInput, match=message):
        run(replace(plan(n_tasks=1), **changes), store, tmp_path / "trial")
