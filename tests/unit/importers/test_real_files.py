"""The importers over runs that nobody here wrote."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from atlas.core.json_values import to_text
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.importers import Limits, all_formats, detect, import_paths
from atlas.importers.logs import LogOptions, SuccessRule


def trajectories(path: Path) -> list[Trajectory]:
    rows = list(detect(path).read(path, Limits()))
    assert [(row.position, row.reason) for row in rows if row.item is None] == []
    return [row.item for row in rows if isinstance(row.item, Trajectory)]


def outcomes(path: Path) -> Counter[bool | None]:
    return Counter(trajectory.outcome.success for trajectory in trajectories(path))


def test_tau_bench_gives_all_its_runs(real_data):
    runs = trajectories(real_data / "tau_bench" / "gpt-4o-airline.json")
    assert len(runs) == 200
    assert Counter(run.outcome.success for run in runs) == {True: 84, False: 116}
    assert Counter(Counter(run.task.id for run in runs).values()) == {4: 50}
    assert {run.metadata["trial"] for run in runs} == {0, 1, 2, 3}
    assert sum(len(run.steps) for run in runs) == 2_654


def test_nothing_of_a_tau_bench_conversation_is_lost_but_the_system_prompt(real_data):
    path = real_data / "tau_bench" / "gpt-4o-airline.json"
    for run, row in zip(trajectories(path), json.loads(path.read_text(encoding="utf-8")), strict=True):
        told = "".join(step.thought + step.action + step.observation for step in run.steps)
        for message in row["traj"][1:]:
            assert (message["content"] or "") in told
            assert all(call["function"]["arguments"] in told for call in message.get("tool_calls") or [])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mbpp_py_reflexion_gpt4.jsonl", {True: 306, False: 91}),
        ("mbpp_py_simple_gpt4.jsonl", {True: 318, False: 79}),
        ("humaneval_py_reflexion_gpt4.jsonl", {True: 150, False: 14}),
        ("leetcode_hard_py_reflexion_gpt4.jsonl", {True: 2, False: 38}),
        ("alfworld_reflexion_trial_0.json", {True: 84, False: 50}),
        ("alfworld_reflexion_trial_5.json", {True: 118, False: 16}),
        ("alfworld_reflexion_trial_14.json", {True: 134}),
    ],
)
def test_reflexion_gives_every_attempt_with_its_outcome(real_data, name, expected):
    attempts = trajectories(real_data / "reflexion" / name)
    assert Counter(attempt.outcome.success for attempt in attempts) == expected
    benchmark = name.partition("_")[0]
    assert {attempt.metadata["source"] for attempt in attempts} == {f"reflexion/{benchmark}"}
    assert len({attempt.task.id for attempt in attempts}) == len(attempts)


def test_every_programming_task_is_described_in_words(real_data):
    for path in sorted((real_data / "reflexion").glob("*.jsonl")):
        for attempt in trajectories(path):
            assert '"""' not in attempt.task.description
            assert "def " in attempt.task.description


def test_swe_agent_gives_every_run_with_an_unknown_outcome(real_data):
    paths = sorted((real_data / "swe_agent").glob("*.traj"))
    runs = [run for path in paths for run in trajectories(path)]
    assert len(runs) == 22
    assert {run.outcome.success for run in runs} == {None}
    assert all(run.steps and run.task.description for run in runs)
    assert not any("INSTRUCTIONS:" in run.task.description for run in runs)
    assert sum("solution" in run.metadata for run in runs) == 21


def test_inspect_gives_every_sample_and_refuses_the_invalid_log(real_data, sink):
    directory = real_data / "inspect_ai"
    report = import_paths(sink, [directory], settings=Settings())
    refused = {rejection.path.name: rejection.reason for rejection in report.rejections}
    assert set(refused) == {"log__test_eval_log__log_invalid.txt"}
    assert report.unclaimed == 1  # the licence
    assert "header cannot be read: the file ends in the middle" in refused["log__test_eval_log__log_invalid.txt"]
    assert (report.read, report.added) == (32, 32)
    assert outcomes(next(directory.glob("*mj7k*.eval"))) == {True: 8, False: 2}
    assert trajectories(directory / "log__test_eval_log__log_with_nan.txt") == []
    assert all(";base64," not in to_text(item.task.context) + str(item.steps) for item in sink.items)


def test_importing_the_real_files_twice_adds_nothing(real_data, sink):
    paths = [real_data / "tau_bench", real_data / "reflexion" / "mbpp_py_reflexion_gpt4.jsonl"]
    first = import_paths(sink, paths, settings=Settings())
    second = import_paths(sink, paths, settings=Settings())
    assert (first.added, first.skipped) == (597, 0)
    assert (second.added, second.skipped) == (0, 597)


def test_other_real_files_are_not_mistaken_for_runs(real_data, sink):
    report = import_paths(sink, [real_data / "voyager" / "LICENSE"], settings=Settings())
    assert report.added == 0
    assert report.rejected == report.files


READ_HERE = (
    "tau_bench",
    "reflexion",
    "swe_agent",
    "mini_swe_agent",
    "inspect_ai",
    "voyager",
    "protea",
    "claude_code",
    "openhands",
    "agentviz",
    "langfuse",
)
"""Folders of the real data that hold runs in the formats that ATLAS reads."""


def test_every_format_reads_something_real(real_data):
    found = {
        detect(path).name
        for folder in READ_HERE
        for path in (real_data / folder).rglob("*")
        if path.suffix in (".json", ".jsonl", ".traj", ".eval", ".sqlite")
    }
    not_here = {"atlas", "atif", "codex", "gemini-cli", "aider", "langsmith", "openinference", "messages", "otlp"}
    assert found == set(all_formats()) - not_here


@pytest.mark.parametrize(
    ("name", "n_steps"),
    [
        ("mini_swe_agent/github_issue.traj.json", [10]),
        ("openhands/basic.json", [2]),
        ("openhands/wrong_initial_state.json", [4]),
        ("agentviz/test-copilot.jsonl", [3, 3, 1]),
        ("agentviz/test-vscode-chat.json", [7, 4, 2]),
    ],
)
def test_runs_of_coding_agents_are_read_once_with_their_steps(real_data, sink, name, n_steps):
    attempts = trajectories(real_data / name)
    assert [len(attempt.steps) for attempt in attempts] == n_steps
    assert {attempt.outcome.success for attempt in attempts} == {None}
    first = import_paths(sink, [real_data / name], settings=Settings())
    second = import_paths(sink, [real_data / name], settings=Settings())
    assert (first.added, second.added, second.skipped) == (len(n_steps), 0, len(n_steps))


def test_claude_code_gives_an_attempt_for_each_request_that_was_answered(real_data, sink):
    files = sorted((real_data / "claude_code").glob("*.json*"))
    report = import_paths(sink, files, settings=Settings())
    assert (report.added, report.rejected) == (12, 7)
    attempts = [item.experience for item in sink.items]
    assert {one.outcome.success for one in attempts} == {None}
    assert all(one.created_at.year == 2025 for one in attempts)
    assert {one.path.name for one in report.rejections} == {"edge_cases.jsonl"}
    assert import_paths(sink, files, settings=Settings()).added == 0


def test_tokens_and_cost_of_real_logs_are_kept(real_data):
    [agno] = trajectories(real_data / "langfuse" / "agno-2025-06-11.json")
    assert agno.metadata["tokens"]["input"] >= 1_568
    assert agno.metadata["cost_usd"] >= 0.000489
    [run] = trajectories(real_data / "openhands" / "basic.json")
    assert run.metadata["tokens"]["input"] > 4_646
    session = trajectories(real_data / "claude_code" / "session_b.jsonl")
    assert session[0].metadata["tokens"] == {"input": 20, "output": 35}


def test_langfuse_gives_an_attempt_for_each_trace_with_its_scores(real_data, sink):
    files = sorted((real_data / "langfuse").glob("*.json"))
    report = import_paths(sink, files, settings=Settings())
    assert (report.added, report.rejected) == (9, 0)
    attempts = [item.experience for item in sink.items]
    assert {one.outcome.success for one in attempts} == {None}
    assert sum("scores" in one.metadata for one in attempts) == 3
    assert {"What is Langfuse?", "Say 'Hello World!'", "hi"} <= {one.task.description for one in attempts}
    assert all(one.steps for one in attempts)
    assert import_paths(sink, files, settings=Settings()).added == 0


def test_a_rule_judges_real_scores(real_data, sink):
    rule = LogOptions(success=SuccessRule.parse("hallucination<=0.1"))
    import_paths(sink, sorted((real_data / "langfuse").glob("*.json")), log_options=rule, settings=Settings())
    assert Counter(item.experience.outcome.success for item in sink.items) == {None: 6, True: 2, False: 1}
