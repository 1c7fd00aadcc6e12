"""The measurement that comes with the sample data: for a new store of exactly these, and what the job measures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.evaluation.job import EvaluationFile
from atlas.evaluation.judged import MAX_MISSES
from atlas.evaluation.report import OwnEvaluation, Report, as_json
from atlas.importers.sample import load_sample
from atlas.importers.sample_measurement import FILE, to_portable
from atlas.jobs.artefact import CACHE
from atlas.testing import FixedClock, HashEmbedder
from atlas.views.evaluation.misses import miss_rows
from atlas.views.evaluation.own import measured_caption, why_outdated
from atlas.views.evaluation.verdict import TO_FIND_MORE, verdict
from tests.support.records import attempt
from tests.support.sample_measurement import SAMPLE, measure

SETTINGS = atlas.Settings(embedding_model=BUNDLED)


@contextmanager
def loaded(path: Path, directory: Path = SAMPLE, **options) -> Iterator[atlas.MemorySystem]:
    """Open a new store with the sample data of a directory."""
    with atlas.open_memory(path / "store", **{"settings": SETTINGS, **options}) as memory:
        load_sample(memory, directory, memory.storage.settings)
        yield memory


def stored(memory: atlas.MemorySystem) -> OwnEvaluation | None:
    """Return the measurement of a store, as its pages read it."""
    return EvaluationFile(memory.storage.path / CACHE, memory.experience.collection_name).load()


def rounded(report: Report) -> Any:
    """Return a report as JSON values with rounded numbers, because processors differ in their last digit."""
    return json.loads(as_json(report), parse_float=lambda number: round(float(number), 9))


@pytest.fixture
def sample(tmp_path) -> Path:
    """A copy of the sample data."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "sample"))


def test_a_new_store_of_the_sample_data_has_a_verdict_that_came_with_them(tmp_path):
    with loaded(tmp_path) as memory:
        found = stored(memory)
        assert found is not None, "sample data or ranking changed: python -m tests.support.sample_measurement"
        assert measured_caption(memory, found).endswith(", when the sample data were made, with all-MiniLM-L6-v2.")
        again = replace(found, measured_at="2100-01-01T09:00:00+00:00")
        assert measured_caption(memory, again).startswith("Measured 1 Jan 2100, 09:00 UTC with")
        assert why_outdated(memory, found) == ""
        reason = "any stricter search would lose right hits of judged queries"
        assert verdict(found, 1.0).finding == f"Keep strictness 1: {reason}. {TO_FIND_MORE}"
        assert len(miss_rows(memory, found.report.missed)) == MAX_MISSES, "it names records of this store"
        tasks = {task.name: task for task in found.report.tasks}
        assert tasks["own attempts"].n_records == memory.experience.count()


def test_a_store_that_is_searched_otherwise_has_none(tmp_path):
    with loaded(tmp_path / "model", embedder=HashEmbedder(384)) as memory:
        assert stored(memory) is None
    with loaded(tmp_path / "words", settings=replace(SETTINGS, late_interaction=False)) as memory:
        assert stored(memory) is None


def test_a_store_with_other_records_has_none(tmp_path, sample):
    with atlas.open_memory(tmp_path / "store", settings=SETTINGS) as memory:
        memory.experience.store(attempt("polish a mirror"))
        load_sample(memory, SAMPLE, SETTINGS)
        assert stored(memory) is None
    (sample / "noise.jsonl").unlink()
    with loaded(tmp_path / "fewer", sample) as memory:
        assert stored(memory) is None


def test_a_damaged_one_is_left_out_with_a_warning(tmp_path, sample, caplog):
    (sample / FILE).write_text("{")
    with loaded(tmp_path, sample) as memory:
        assert stored(memory) is None
    assert f"{FILE} is left out, because it cannot be read" in caplog.text


@pytest.mark.slow  # measures for minutes
def test_it_is_what_the_job_measures(tmp_path):
    with loaded(tmp_path) as memory:
        found = to_portable(stored(memory), memory)
    assert rounded(measure().report) == rounded(found.report)


def test_the_measurement_is_not_later_than_a_store_whose_clock_is_set_back(tmp_path):
    then = datetime(2026, 1, 5, 9, tzinfo=UTC)
    with loaded(tmp_path, clock=FixedClock(then)) as memory:
        assert datetime.fromisoformat(stored(memory).measured_at) == memory.history(1)[0].created_at == then
