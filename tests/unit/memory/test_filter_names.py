"""Filters of each memory: its fields are those that its records have, and names are checked at every search."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.core.filters import COMMON_NAMES
from atlas.memory.experience import ChromaExperienceMemory
from atlas.testing import HashEmbedder, MemoryVectorStore
from tests.support.everything import make_everything, opened, strategy
from tests.support.records import attempt

NOTE = "No record has 'meta.region' yet, so nothing passes the filter on it."


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as opened:
        yield opened


@pytest.mark.parametrize("name", ["experience", "concepts", "strategies", "journal", "conversations"])
def test_a_memory_names_a_misspelt_field_and_notes_a_key_that_no_record_has(memory, name):
    records = getattr(memory, name)
    with pytest.raises(
        InvalidInput, match="did you mean 'created_at'" if name != "conversations" else "'conversation'"
    ):
        records.retrieve("x", where={"creatd_at" if name != "conversations" else "conversaton": "x"})
    for found in (
        records.retrieve("x", where={"meta.region": "x"}),
        records.retrieve_words("x", where={"meta.region": "x"}),
    ):
        assert (found.hits, found.notes) == ([], (NOTE,))
    with pytest.raises(InvalidInput, match="did you mean"):
        records.search_words("x", where={"meta.title": "x"})


@pytest.mark.parametrize("name", ["experience", "concepts", "strategies", "journal"])
def test_a_misspelt_field_is_an_error_where_records_are_listed_or_counted(memory, name):
    records, where = getattr(memory, name), {"creatd_at": "x"}
    for look in (
        records.browse,
        records.count,
        records.ids,
        records.to_pandas,
        records.counts_by_day,
        lambda where: records.values("source", where),
        lambda where: records.column("source", where),
    ):
        with pytest.raises(InvalidInput, match="did you mean 'created_at'"):
            look(where)


def test_a_key_is_known_once_a_record_has_it_and_unknown_again_when_that_is_deleted(memory):
    first = memory.journal.add("task", "User asked: bake a quince cake", generation=1, metadata={"region": "north"})
    found = memory.journal.retrieve("quince cake", where={"meta.region": "north"}, threshold=0.0)
    assert ([hit.item.id for hit in found.hits], found.notes) == ([first], ())
    with pytest.raises(InvalidInput, match=r"did you mean 'meta\.region'"):
        memory.journal.retrieve("quince", where={"meta.regoin": "north"})
    memory.journal.delete([first])
    assert memory.journal.retrieve("quince", where={"meta.region": "north"}).notes == (NOTE,)


def test_the_fields_of_a_memory_are_those_that_its_records_have(tmp_path):
    make_everything(tmp_path / "store")
    with opened(tmp_path / "store") as memory:
        memory.strategies.add(strategy("the report"))
        memory.conversations.add("Which orders failed?", "Three of them.")
        for name in ("experience", "concepts", "strategies", "journal", "conversations"):
            records = getattr(memory, name)
            keys = {key for key in records.collection.keys() - COMMON_NAMES if not key.startswith("meta.")}
            assert (name, keys - records.fields) == (name, set())
            assert len(records.collection.keys()) > 1


def test_a_vector_store_of_ones_own_knows_its_keys_too():
    experience = ChromaExperienceMemory(HashEmbedder(), MemoryVectorStore())
    experience.store(attempt("bake a cake", kitchen="large"))
    with pytest.raises(InvalidInput, match="did you mean 'kitchen'"):
        experience.retrieve("cake", where={"kitchn": "large"})
    assert experience.retrieve("cake", where={"kitchen": "large"}).notes == ()
