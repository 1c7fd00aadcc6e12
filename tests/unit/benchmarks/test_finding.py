"""The benchmark of finding: hits beside chance, their interval, the halves, and programs read from a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.extraction import programs_of
from benchmarks.learning.finding import Search, halves, hit_rate, learned_from_half, searches
from benchmarks.learning.programs_file import read_attempts


def search(task_id: str, used: str, found: str, n_concepts: int = 4) -> Search:
    return Search(task_id=task_id, used=frozenset(used), found=tuple(found), n_concepts=n_concepts)


def test_chance_is_that_of_drawing_concepts_without_putting_them_back() -> None:
    assert search("t", "a", "bcd").chance(1) == pytest.approx(1 / 4)
    assert search("t", "ab", "cd").chance(2) == pytest.approx(1 - (2 / 4) * (1 / 3))
    assert search("t", "a", "a").chance(5) == 1


def test_a_hit_is_a_used_concept_among_the_first() -> None:
    assert not search("t", "b", "ab").is_hit(1)
    assert search("t", "b", "ab").is_hit(2)


def test_the_interval_excludes_chance_only_where_many_tasks_agree() -> None:
    always = hit_rate([search(str(n), "a", "abcd") for n in range(30)], 1)
    assert (always.hits, always.chance, always.low, always.high) == (100, 25, 75, 75)
    mixed = hit_rate([search(str(n), "a", "abcd" if n % 4 == 0 else "bcda") for n in range(32)], 1)
    assert (mixed.hits, mixed.chance) == (25, 25)
    assert mixed.low < 0 < mixed.high


def test_searches_of_the_same_task_are_resampled_together() -> None:
    once = [search(str(n), "a", "abcd" if n % 2 else "bcda") for n in range(20)]
    assert hit_rate(once, 1).low == pytest.approx(hit_rate(once * 4, 1).low)


SLUG = "'-'.join(word.strip().lower() for word in text.replace('_', ' ').split() if word.isalnum())"


def written(path: Path, n: int) -> Path:
    rows = [
        {
            "task": f"Make a slug of a text, number {number}",
            "code": f"def slug{number}(text):\n    return {SLUG} + '{number}'",
            "test": f"assert slug{number}('Big_Red dog') == 'big-red-dog{number}'",
        }
        for number in range(n)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_a_file_of_tasks_code_and_tests_gives_programs_with_tests(tmp_path: Path) -> None:
    programs = programs_of(read_attempts(written(tmp_path / "programs.jsonl", 3))).programs
    assert [program.description for program in programs] == [f"Make a slug of a text, number {n}" for n in range(3)]
    assert all(f"assert slug{n}(" in program.tests for n, program in enumerate(programs))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "expected programs in .*empty"),
        ("{", "line 1: expected a JSON object"),
        ('{"task": "a", "code": "x = 1"}\n{"task": "a"}', "line 2: .*no string: code"),
        ('["a"]', "line 1: .*an object"),
        ('{"task": "a", "code": "x = 1", "test": 3}', "line 1: .*no string: test"),
    ],
)
def test_a_line_that_is_no_program_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "programs.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=message):
        read_attempts(path)


def test_halves_have_no_task_in_common(tmp_path: Path) -> None:
    attempts = read_attempts(written(tmp_path / "programs.jsonl", 7))
    split = halves([*attempts, attempts[0]], seed=1)
    learned_from, unseen = ({each.task.id for each in half} for half in (split.learned_from, split.unseen))
    assert not learned_from & unseen
    assert len(learned_from) == 4
    assert len(split.learned_from) + len(split.unseen) == 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")
def test_the_concept_of_an_unseen_solution_is_looked_for_in_the_library(tmp_path: Path) -> None:
    attempts = read_attempts(written(tmp_path / "programs.jsonl", 10))
    half = learned_from_half(attempts, seed=0)
    found = searches(half)
    assert len(found) == 5
    assert {(each.n_concepts, each.is_hit(1)) for each in found} == {(1, True)}
    other = CodeConcept(name="halve", description="Halve a number", code="def halve(n):\n    return n / 2")
    assert {(each.n_concepts, each.is_hit(1)) for each in searches(half, [other])} == {(2, True)}
