"""Importing into an experience memory: one bad row costs only itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import atlas
from atlas.core.codec import encode_trajectory
from atlas.core.exchange import ExportedConcept, encode_line
from atlas.core.operations import Marks, Usage
from atlas.core.settings import Settings
from atlas.core.types import CodeConcept
from atlas.importers import import_paths
from atlas.importers.sink import MemorySink
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.system import MemorySystemImpl
from atlas.testing import HashEmbedder, MemoryVectorStore
from tests.support.memories import attempt, memory_over


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
    assert report.rejections[0].reason.startswith("expected a task.description that is not blank")


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


def exported_concept(**changes):
    concept = CodeConcept(name="crop", description="cut", code="def crop(g):\n    return g[1:]\n", id="c1")
    line = json.loads(encode_line(ExportedConcept(concept=concept, marks=Marks(note="keep"), usage=Usage(n_uses=2))))
    return line | {"concept": line["concept"] | changes}


def test_a_damaged_concept_costs_only_itself_and_a_second_import_adds_none(tmp_path, files):
    damaged = [
        exported_concept(code="def crop(:"),
        exported_concept(name="x" * 201),
        exported_concept(calls=[7]),
        exported_concept(source="stolen"),
        {"kind": "concept", "concept": []},
    ]
    path = files.lines("a.jsonl", [*damaged, exported_concept()])
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=Settings()) as memories:
        report = import_paths(MemorySink(memories, "a test"), [path], settings=Settings())
        assert (report.added_concepts, report.rejected) == (1, 5)
        assert [one.reason.split(";")[0] for one in report.rejections] == [
            "the code of concept 'crop': expected Python, got 'invalid syntax' in line 1",
            "expected up to 200 characters for a concept's name, got 201",
            "expected a string for concept.calls[0], got 7",
            "expected one of primitive, learned, composed, imported for a concept's source, got 'stolen'",
            "expected an object for concept, got type list",
        ]
        assert memories.concepts.marks(["c1"])["c1"].note == "keep"
        assert memories.concepts.get("c1").usage_count == 2
        again = import_paths(MemorySink(memories, "a test"), [path], settings=Settings())
        assert (again.added, again.skipped) == (0, 1)
