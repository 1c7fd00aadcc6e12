"""The set of abstract lessons: each serves a task, and becomes the record that the task's text should find."""

from __future__ import annotations

import json

from benchmarks.lessons import LESSONS, corpus_of, task_texts


def test_there_are_a_hundred_different_lessons_and_each_serves_a_task():
    lessons = json.loads(LESSONS.read_text(encoding="utf-8"))
    assert len({lesson for lesson, _ in lessons}) == len(lessons) >= 100
    assert all(tasks and len(set(tasks)) == len(tasks) for _, tasks in lessons)


def test_a_task_with_a_text_asks_for_the_lessons_that_serve_it():
    corpus = corpus_of({"tau/28": "give up all bookings of mine", "tau/1000": "nothing serves this"})
    [query] = corpus.tasks[0].queries
    lessons = json.loads(LESSONS.read_text(encoding="utf-8"))
    assert {corpus.texts[record_id] for record_id in query.grades} == {
        lesson for lesson, tasks in lessons if "tau/28" in tasks
    }


def test_texts_are_read_by_the_names_of_the_tasks(tmp_path):
    runs = [{"task_id": 7, "info": {"task": {"instruction": "Move my flight"}}}]
    (tmp_path / "gpt-4o-airline.json").write_text(json.dumps(runs), encoding="utf-8")
    rows = [{"name": "next-greater", "prompt": "def a"}, {"task_id": "HumanEval/3", "prompt": "def b"}]
    problems = "\n".join(map(json.dumps, rows))
    (tmp_path / "leetcode_hard_py_reflexion_gpt4.jsonl").write_text(problems, encoding="utf-8")
    assert task_texts(tmp_path) == {
        "tau/7": "Move my flight",
        "leetcode/next-greater": "def a",
        "HumanEval/3": "def b",
    }
