"""Importing into an experience memory: one bad row costs only itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from atlas.core.codec import encode_trajectory
from atlas.core.exchange import encode_line
from atlas.core.settings import Settings
from atlas.importers import import_paths
from atlas.importers.sink import MemorySink
from atlas.memory.concepts import ChromaConceptLibrary
from atlas.memory.system import MemorySystemImpl
from atlas.testing import MemoryVectorStore
from tests.unit.memory.conftest import attempt, memory_over


@pytest.fixture
def memory(tmp_path):
    with memory_over("ledger", tmp_path) as made:
        yield made


def run(memory, path):
    memories = MemorySystemImpl(memory, ChromaConceptLibrary(memory.embedder, MemoryVectorStore()))
    return import_paths(MemorySink(memories, "a test"), [path], settings=Settings())


def trajectory_line(description):
    return {"kind": "trajectory", "trajectory": encode_trajectory(attempt(description))}


def test_an_attempt_without_a_description_is_refused_and_the_others_are_stored(memory, files):
    report = run(memory, files.lines("a.jsonl", [trajectory_line("one"), trajectory_line(" "), trajectory_line("two")]))
    assert (report.added, report.rejected) == (2, 1)
    assert report.rejections[0].reason.startswith("task.description is blank")


def test_vectors_that_the_model_cannot_have_made_are_made_anew(memory, files, tmp_path):
    with memory_over("ledger", tmp_path / "other") as other:
        ids = other.store_many([attempt("one"), attempt("two"), attempt("three")])
        good, short, zero = other.export(ids, with_vectors=True)
    lines = [good, replace(short, vectors=np.eye(1, 3, dtype=np.float32)), replace(zero, vectors=zero.vectors * 0)]
    path = files.lines("a.jsonl", [json.loads(encode_line(line)) for line in lines])
    assert run(memory, path).added == 3
    assert memory.embedder.texts == ["two", "three"]
    assert (run(memory, path).added, run(memory, path).skipped) == (0, 3)


def test_an_experience_without_a_text_to_embed_is_found_by_its_description(memory, files):
    experience = {
        "id": "e1",
        "task": {"id": "t", "description": "cancel a flight"},
        "outcome": {"success": True},
        "created_at": "2026-05-01T00:00:00Z",
    }
    run(memory, files.lines("a.jsonl", [{"kind": "experience", "experience": experience}]))
    assert [hit.item.id for hit in memory.search_hits("cancel a flight", 1)] == ["e1"]
