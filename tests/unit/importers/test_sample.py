"""The sample data: believable, working, and gone again with one click."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.core.exchange import decode_line
from atlas.core.settings import Settings
from atlas.importers.sample import is_new, load_sample, n_sample_experiences, n_sample_records, remove_sample
from atlas.testing import HashEmbedder
from tests.support.repository import REPOSITORY

SAMPLE = REPOSITORY / "sample_data"
FILES = sorted(SAMPLE.glob("*.jsonl"))
ALIKE = 0.5
"""Share of word triples from which two descriptions read like one template."""

RUN_TESTS = """
import json, sys
for solution, tests in json.load(sys.stdin):
    exec(compile(solution + "\\n" + tests, "<solution>", "exec"), {"__name__": "solution"})
"""


@pytest.fixture(scope="module")
def attempts() -> dict[str, list[atlas.Trajectory]]:
    """The attempts, by the file that they come from, which is a domain that no record names."""
    return {path.stem: list(attempts_in(path)) for path in FILES}


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(16), settings=Settings()) as opened:
        yield opened


def test_there_are_hundreds_of_attempts_in_many_domains_and_about_two_thirds_succeeded(attempts):
    outcomes = Counter(attempt.outcome.success for attempt in itertools.chain(*attempts.values()))
    assert len(attempts) >= 9
    assert outcomes.total() >= 240
    assert 0.6 <= outcomes[True] / (outcomes[True] + outcomes[False]) <= 0.7


def test_no_attempt_names_its_domain(attempts):
    assert {attempt.task.domain for attempt in itertools.chain(*attempts.values())} == {""}
    for name, held in attempts.items():
        assert not [attempt for attempt in held if name in json.dumps(attempt.metadata)]


def test_tasks_were_tried_again_over_weeks(attempts):
    by_task: dict[str, list[atlas.Trajectory]] = {}
    for attempt in itertools.chain(*attempts.values()):
        by_task.setdefault(attempt.task.id, []).append(attempt)
    again = [held for held in by_task.values() if len(held) > 1]
    learned = [held for held in again if {a.outcome.success for a in held} >= {True, False}]
    assert len(again) >= 40
    assert len(learned) >= 30


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_what_succeeded_passes_its_own_tests(path):
    programs = [
        (attempt.metadata["solution"], attempt.task.verification.parameters["tests"])
        for attempt in attempts_in(path)
        if attempt.outcome.success and attempt.task.verification.parameters.get("tests")
    ]
    run = subprocess.run([sys.executable, "-c", RUN_TESTS], input=json.dumps(programs), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_good_part_of_the_successes_is_tested_python(attempts):
    tested = [a for a in itertools.chain(*attempts.values()) if a.outcome.success and a.task.verification.parameters]
    assert len(tested) >= 60


def test_no_two_tasks_read_like_one_template(attempts):
    words_by_id = {
        attempt.task.id: triples(attempt.task.description) for attempt in itertools.chain(*attempts.values())
    }
    alike = [
        (one, other)
        for (one, words), (other, others) in itertools.combinations(words_by_id.items(), 2)
        if words and others and len(words & others) / min(len(words), len(others)) >= ALIKE
    ]
    assert alike == []


def test_loading_again_adds_nothing_and_removing_leaves_the_rest_as_it_was(memory):
    own = memory.experience.store(atlas.Trajectory(atlas.Task("t", "", "My own"), (), atlas.Outcome(success=True)))
    report = load_sample(memory, SAMPLE, Settings())
    assert report.added == n_sample_records(memory)
    assert report.added_attempts == n_sample_experiences(memory) >= 300
    again = load_sample(memory, SAMPLE, Settings())
    assert (again.added, again.operation_id) == (0, None)
    removal = remove_sample(memory)
    assert memory.experience.ids() == [own]
    assert [len(memory.strategies), len(memory.concepts), len(memory.journal), len(memory.conversations)] == [0] * 4
    assert removal is not None
    memory.undo(removal)
    assert n_sample_records(memory) == report.added


def test_a_new_store_has_judged_queries_which_go_with_the_sample_and_leave_those_of_people(memory):
    load_sample(memory, SAMPLE, Settings())
    query = memory.judgements()[0].query
    assert len({judgement.query for judgement in memory.judgements()}) == 113
    own = memory.experience.store(atlas.Trajectory(atlas.Task("t", "", "Ours"), (), atlas.Outcome(success=True)))
    memory.judge(query, own, True)
    remove_sample(memory)
    assert [(judgement.query, judgement.record_id) for judgement in memory.judgements()] == [(query, own)]


def test_what_is_undone_is_the_loading_itself_whatever_was_imported_since(memory):
    loaded = load_sample(memory, SAMPLE, Settings())
    attempt = atlas.Trajectory(atlas.Task("t", "", "Theirs"), (), atlas.Outcome(success=True))
    theirs = memory.experience.as_operation("import", "theirs").store(attempt)
    assert loaded.operation_id is not None
    memory.undo(loaded.operation_id)
    assert memory.experience.ids() == [theirs]
    assert n_sample_records(memory) == 0


def test_only_a_store_in_which_nothing_was_ever_stored_is_new(memory):
    assert is_new(memory)
    load_sample(memory, SAMPLE, Settings())
    remove_sample(memory)
    assert not is_new(memory)
    assert remove_sample(memory) is None


def test_a_directory_without_sample_data_is_refused(memory, tmp_path):
    with pytest.raises(atlas.AtlasError, match="no sample data"):
        load_sample(memory, tmp_path, Settings())


def attempts_in(path: Path) -> Iterator[atlas.Trajectory]:
    for line in path.read_text(encoding="utf-8").splitlines():
        attempt = decode_line(json.loads(line))
        assert isinstance(attempt, atlas.Trajectory)
        yield attempt


def triples(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z]+", text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))
