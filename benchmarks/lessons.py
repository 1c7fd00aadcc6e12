"""Retrieval of abstract lessons by the text of a task that they serve, as of strategies and reflections.

`lessons.json` has the lessons, each with its tasks. They were written for this benchmark and avoid the words of the
tasks. The tasks' texts are read from a directory with two public repositories:

    git clone --depth 1 https://github.com/sierra-research/tau-bench public/tau-bench
    git clone --depth 1 https://github.com/noahshinn/reflexion public/reflexion
    ATLAS_PUBLIC=public python -m benchmarks lessons
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import atlas
from atlas.embedding.foreign_queries import evaluation_queries
from atlas.embedding.sentence_transformers import BUNDLED, SentenceTransformerEmbedder
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import EMPTY_SHARE, HELPS
from atlas.evaluation.report import Report
from atlas.evaluation.split import Half
from atlas.evaluation.tasks import AGENT, evaluate_corpora
from benchmarks.measuring import Figure

PUBLIC = Path(os.environ.get("ATLAS_PUBLIC") or "absent")
"""ATLAS_PUBLIC: a directory with the clones of both repositories, or with their files."""

LESSONS = Path(__file__).with_name("lessons.json")
BASELINES = ("BM25", "RRF")
HALVES: tuple[Half, ...] = ("dev", "test")
HIT = "hit@10"
SEED = 0


def figures() -> Iterator[Figure]:
    texts = task_texts(PUBLIC)
    if not texts:
        print("no task texts: set ATLAS_PUBLIC to a directory with tau-bench and reflexion", file=sys.stderr)
        return
    for half in HALVES:
        yield from _figures(half, measured(texts, half))


def measured(texts: Mapping[str, str], half: Half) -> Report:
    """Return the report on one half of the tasks."""
    embedder = SentenceTransformerEmbedder(BUNDLED)
    return evaluate_corpora(
        [corpus_of(texts)], embedder, settings=atlas.Settings(), half=half, seed=SEED, watch=lambda _: lambda *_: None
    )


def corpus_of(texts: Mapping[str, str]) -> JudgedCorpus:
    """Return all lessons, and a query for each task of which there is a text."""
    lessons: list[tuple[str, list[str]]] = json.loads(LESSONS.read_text(encoding="utf-8"))
    serving: dict[str, dict[str, int]] = defaultdict(dict)
    for number, (_, tasks) in enumerate(lessons):
        for task in tasks:
            serving[task][f"lesson-{number}"] = HELPS
    queries = [
        JudgedQuery(text=texts[task], grades=grades, group=task) for task, grades in serving.items() if task in texts
    ]
    trajectories = [
        atlas.Trajectory(
            atlas.Task(f"lesson-{number}", "", lesson), (), atlas.Outcome(success=None), id=f"lesson-{number}"
        )
        for number, (lesson, _) in enumerate(lessons)
    ]
    about = "a task's text; a lesson that serves it counts as relevant"
    retrieval_task = RetrievalTask(name="a task → its lessons", about=about, queries=tuple(queries))
    return JudgedCorpus(
        name="lessons", trajectories=tuple(trajectories), tasks=(retrieval_task,), nonsense=evaluation_queries()
    )


def task_texts(public: Path) -> dict[str, str]:
    """Return the texts of the tasks by name: `tau/7`, the name of a problem of LeetCode, `HumanEval/7`."""
    texts: dict[str, str] = {}
    for path in public.rglob("gpt-4o-airline.json"):
        runs = json.loads(path.read_text(encoding="utf-8"))
        texts |= {f"tau/{run['task_id']}": run["info"]["task"]["instruction"] for run in runs}
    for path in public.rglob("*_reflexion_gpt4*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, prompt = _problem(json.loads(line))
            texts[name] = prompt
    return texts


def _problem(row: Mapping[str, Any]) -> tuple[str, str]:
    name = row.get("task_id") or row["name"]
    return name if str(name).startswith("HumanEval") else f"leetcode/{name}", row["prompt"]


def _figures(half: Half, report: Report) -> Iterator[Figure]:
    [result] = report.tasks
    rows = {row.name: row.estimates for row in result.rows}
    at = f"lessons, {half}, {result.n_queries} tasks"
    for name in BASELINES:
        what = f"{at}: {HIT} beside {name}"
        yield Figure(what=what, ours=rows[AGENT][HIT].mean, baseline=rows[name][HIT].mean, unit="", aim="")
    nothing = 100 * rows[AGENT][EMPTY_SHARE].mean
    yield Figure(what=f"{at}: given nothing", ours=nothing, baseline=None, unit="%", aim="")
    for foreign in report.foreign:
        percent = 100 * foreign.told_something[AGENT].mean
        what = f"lessons, {half}: {foreign.n_queries} foreign queries given something, {foreign.source}"
        yield Figure(what=what, ours=percent, baseline=None, unit="%", aim="")
