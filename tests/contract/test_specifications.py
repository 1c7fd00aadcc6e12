"""What the specifications promise of the memories, one test a promise, over plain stores, ChromaDB's and ATLAS's own.

What is plugged in is what a stranger writes first: a vector store in a dict with `add`, `query`, `delete`, `get` and
`count`, an embedder with `encode` alone, and strategies that say what they were told to.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import pickle
from collections.abc import Iterator
from copy import copy
from dataclasses import FrozenInstanceError, asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings as ChromaSettings

import atlas
from atlas.core.codec import decode_concept, encode_concept
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.types import Experience, Strategy, Task, Trajectory
from atlas.infra.bridge import run
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.storage import ChromaVectorStore
from atlas.memory.strategies import BayesianUpdater, EMASuccessUpdater, SimpleAverageUpdater
from atlas.memory.system import MemoryQueryResult, MemorySystemImpl
from atlas.protocols.memory import ConceptLibrary, ExperienceMemory, StrategyBank
from tests.support.contract.plugged import (
    FLIGHT,
    GRID,
    HOTEL,
    NAMES,
    Abstracting,
    Parts,
    Scripted,
    WordEmbedder,
    Wording,
    attempt,
    concept,
    system_of,
)
from tests.support.memories import DictVectorStore, task


@pytest.fixture(params=["plain", "chromadb", "atlas"])
def parts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Parts]:
    if request.param == "plain":
        yield Parts(lambda name: DictVectorStore())
    elif request.param == "chromadb":
        client = chromadb.EphemeralClient(ChromaSettings(anonymized_telemetry=False))
        yield Parts(lambda name: ChromaVectorStore(client, f"{name}-{uuid4().hex}"))
    else:
        with atlas.open_memory(tmp_path / "store", embedder=WordEmbedder(), settings=atlas.Settings()) as memory:
            yield Parts(memory.storage.vector_store)


# ExperienceMemory stores and retrieves experiences


def test_an_experience_memory_implements_its_protocol(parts):
    assert isinstance(parts.experience(), ExperienceMemory)


def test_an_experience_gets_a_uuid_and_has_the_fields_of_its_model(parts):
    memory = parts.experience()
    ids = [memory.store(attempt(metadata={"source": "test"})) for _ in range(2)]
    assert len(set(ids)) == len(memory) == 2
    assert {UUID(hex=one).version for one in ids} == {4}
    kept = memory.get(ids[0])
    assert (kept.id, kept.task.description, kept.outcome.success, kept.embedding_text) == (ids[0], FLIGHT, True, FLIGHT)
    assert kept.trajectory_summary
    assert kept.created_at.tzinfo is not None
    assert kept.metadata == {"source": "test"}


def test_search_gives_the_most_similar_four_by_default(parts):
    memory = parts.experience()
    ids = {memory.store(attempt(f"{FLIGHT} number {n}")) for n in range(5)}
    memory.store(attempt(HOTEL))
    found = memory.search(task(FLIGHT))
    assert len(found) == 4
    assert {one.id for one in found} < ids
    assert [one.task.description for one in memory.search(task(HOTEL), k=1)] == [HOTEL]


def test_both_outcomes_are_stored_in_metadata_and_successes_come_first(parts):
    memory = parts.experience()
    ids = {success: memory.store(attempt(success=success)) for success in (False, True)}
    rows = run(memory.vector_store.get(list(ids.values())))
    assert {row["id"]: row["metadata"]["success"] for row in rows} == {ids[False]: False, ids[True]: True}
    assert [one.id for one in memory.search(task(FLIGHT))] == [ids[True], ids[False]]


def test_what_is_not_there_is_none(parts):
    assert (parts.experience().get("nobody"), len(parts.experience()), parts.experience().search(task(FLIGHT))) == (
        None,
        0,
        [],
    )


def test_the_extraction_strategy_chooses_what_is_found_by(parts):
    memory = parts.experience(extractor=Scripted("penguins"))
    memory.store(attempt())
    (found,) = memory.search(task("penguins"))
    assert found.embedding_text == f"penguins task of {FLIGHT}"


def test_refining_is_delegated_with_the_context(parts):
    strategy = Scripted()
    memory = parts.experience(refine_strategy=strategy)
    memory.store(attempt())
    memory.store(attempt(HOTEL))
    found = memory.search(task(FLIGHT))
    assert memory.refine(found) == found[::-1]
    assert memory.refine(found, context=task(FLIGHT)) == found[::-1]
    assert strategy.asked == [(found, None), (found, task(FLIGHT))]
    assert parts.experience().refine(found) == found


@pytest.mark.parametrize(
    ("criteria", "left"),
    [
        ({"min_success_rate": 0.5}, {"new", "old", "unlike"}),
        ({"max_age_days": 30}, {"new", "failed"}),
        ({"max_age_days": 30, "keep_diverse": True}, {"new", "failed", "unlike"}),
        ({"min_success_rate": 0.5, "max_age_days": 30}, {"new"}),
        ({}, {"new", "failed", "old", "unlike"}),
    ],
)
def test_pruning_removes_what_its_criteria_say_and_counts_it(parts, criteria, left):
    memory = parts.experience()
    ids = {
        "new": memory.store(attempt()),
        "failed": memory.store(attempt(success=False)),
        "old": memory.store(attempt(age_days=99)),
        "unlike": memory.store(attempt(HOTEL, age_days=99)),
    }
    assert memory.prune(criteria) == 4 - len(left)
    assert {name for name, one in ids.items() if memory.get(one)} == left
    assert len(memory) == len(left)


# ConceptLibrary indexes and searches code patterns


def test_a_concept_library_implements_its_protocol(parts):
    assert isinstance(parts.concepts(), ConceptLibrary)


def test_concepts_get_uuids_and_are_found_by_name_and_by_description(parts):
    library = parts.concepts()
    ids = [library.add(concept()), library.add(concept("fetch_page", "read what a server sends"))]
    assert {UUID(hex=one).version for one in ids} == {4}
    assert [library.search(query, k=1)[0].id for query in (GRID, "fetch_page", "what a server sends")] == [
        ids[0],
        ids[1],
        ids[1],
    ]
    assert library.get(ids[0]).code == concept().code
    assert (library.get("nobody"), len(library)) == (None, 2)


def test_primitives_are_loaded_when_it_is_made(parts):
    library = parts.concepts(primitive_loader=Scripted([concept(id="turn", source="primitive")]))
    assert [(one.id, one.source) for one in library.search("turn")] == [("turn", "primitive")]


def test_composing_is_delegated_to_a_strategy(parts):
    made = concept("both", "one after the other")
    strategy = Scripted(made)
    library = parts.concepts(composition_strategy=strategy)
    ids = [library.add(concept()), library.add(concept("flip", "mirror"))]
    assert library.compose(ids) == made
    assert strategy.asked == [ids]
    strategy.answer = None
    assert library.compose(ids) is None
    assert len(library) == 2, "what is composed is added by whoever wants it"


def test_compressing_is_delegated_with_the_successes(parts):
    strategy = Scripted([concept()])
    library = parts.concepts(compression_strategy=strategy)
    given = [attempt(success=success) for success in (True, False, None, True)]
    assert library.compress(given) == [strategy.answer[0]]
    assert strategy.asked == [[given[0].id, given[3].id]]


def test_without_a_strategy_nothing_is_composed_or_compressed(parts):
    library = parts.concepts()
    ids = [library.add(concept()), library.add(concept("flip", "mirror"))]
    assert library.compose(ids) is None
    assert library.compress([attempt()]) == []
    assert parts.concepts(composition_strategy=Scripted(concept())).compose(["nobody", "none"]) is None


def test_uses_of_a_concept_are_counted(parts):
    library = parts.concepts()
    used = library.add(concept())
    for success in (True, True, False, True):
        library.update_stats(used, success)
    assert (library.get(used).usage_count, library.get(used).success_rate) == (4, 0.75)
    assert library.search(GRID)[0].usage_count == 4


# StrategyBank manages abstract strategies


def test_a_strategy_bank_implements_its_protocol(parts):
    assert isinstance(parts.strategies(), StrategyBank)


def test_a_success_becomes_a_strategy_that_is_found_by_its_situation(parts):
    bank = parts.strategies()
    written = [bank.write(attempt()), bank.write(attempt(HOTEL))]
    assert {UUID(hex=one.id).version for one in written} == {4}
    assert [one.id for one in bank.read(task(HOTEL), k=1)] == [written[1].id]
    assert {one.id for one in bank.read(task(FLIGHT))} == {one.id for one in written}
    assert bank.get(written[0].id).situation == FLIGHT
    assert (bank.get("nobody"), len(bank)) == (None, 2)


def test_an_attempt_is_abstracted_once_also_by_an_abstractor_that_names_no_source(parts):
    abstractor, trajectory = Wording(), attempt()
    bank = parts.strategies(abstractor)
    first, again = bank.write(trajectory), bank.write(trajectory)
    assert (again, len(bank), len(abstractor.asked)) == (first, 1, 1)
    assert first.sources == (trajectory.id,)
    assert "variants" not in bank.get(first.id).metadata


def test_a_planned_write_names_its_sources_too(parts):
    abstractor, given = Wording(), [attempt(), attempt(HOTEL)]
    bank = parts.strategies(abstractor)
    bank.apply_write(bank.plan_write(given))
    assert {one.sources for one in bank.read(task(FLIGHT))} == {(given[0].id,), (given[1].id,)}
    assert bank.plan_write(given).n_known == 2


@pytest.mark.parametrize("success", [False, None])
def test_only_successes_are_abstracted(parts, success):
    abstractor = Abstracting()
    bank = parts.strategies(abstractor)
    assert bank.write(attempt(success=success)) is None
    assert (abstractor.asked, len(bank)) == ([], 0)


def test_what_cannot_be_abstracted_is_none(parts):
    abstractor = Abstracting(finds_nothing=True)
    bank = parts.strategies(abstractor)
    assert bank.write(attempt()) is None
    assert (len(abstractor.asked), len(bank)) == (1, 0)


@pytest.mark.parametrize(
    ("updater", "rate"),
    [
        (EMASuccessUpdater(), 0.1 + 0.9 * (0.9 * (0.1 + 0.9 * 0.5))),
        (EMASuccessUpdater(alpha=0.5), 0.5 + 0.5 * (0.5 * (0.5 + 0.5 * 0.5))),
        (SimpleAverageUpdater(), 2 / 3),
        (BayesianUpdater(), 3 / 5),
        (BayesianUpdater(prior_alpha=3.0, prior_beta=1.0), 5 / 7),
    ],
)
def test_success_rates_are_updated_as_the_strategy_says(parts, updater, rate):
    bank = parts.strategies(success_updater=updater)
    strategy = bank.write(attempt())
    for success in (True, False, True):
        bank.update_stats(strategy.id, success)
    assert (bank.get(strategy.id).usage_count, bank.get(strategy.id).success_rate) == (3, pytest.approx(rate))


# MemorySystem combines all three


COMBINATIONS = [names for n in range(4) for names in itertools.combinations(NAMES, n)]


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_any_component_may_be_missing(parts, names):
    system = system_of(parts, names)
    there = (system.experience_memory, system.concept_library, system.strategy_bank)
    assert [name for name, part in zip(NAMES, there, strict=True) if part is not None] == list(names)
    if system.concept_library is not None:
        system.concept_library.add(concept(description=FLIGHT))
    stored = system.store(attempt())
    assert set(stored) == set(names) - {"concepts"}
    result = asyncio.run(system.query(task(FLIGHT), k=5))
    assert isinstance(result, MemoryQueryResult)
    found = {"experience": result.experience_hits, "concepts": result.concept_hits, "strategies": result.strategy_hits}
    assert {name for name, hits in found.items() if hits} == set(names)
    assert result.errors == {}


@pytest.mark.parametrize("success", [True, False, None])
def test_a_success_goes_to_all_and_anything_else_to_the_experiences_alone(parts, success):
    system = system_of(parts)
    stored = system.store(attempt(success=success))
    assert system.experience.get(stored["experience"]).success is success
    assert ("strategies" in stored) == (len(system.strategies) == 1) == (success is True)
    assert len(system.concepts) == 0


def test_all_components_are_queried_at_once():
    """No store answers before all three have been asked."""
    asked: set[str] = set()
    all_asked: list[asyncio.Event] = []

    class Waiting(DictVectorStore):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        async def query(self, embedding: Any, k: int, where: Any = None) -> Any:
            asked.add(self.name)
            if all_asked:
                if len(asked) == 3:
                    all_asked[0].set()
                await asyncio.wait_for(all_asked[0].wait(), timeout=60)
            return await super().query(embedding, k, where)

    system = system_of(Parts(Waiting))
    system.store(attempt())
    system.concepts.add(concept(description=FLIGHT))

    async def ask() -> MemoryQueryResult:
        asked.clear()
        all_asked.append(asyncio.Event())
        return await system.query(task(FLIGHT))

    result = asyncio.run(ask())
    assert result.errors == {}
    assert [len(hits) for hits in (result.experience_hits, result.concept_hits, result.strategy_hits)] == [1, 1, 1]
    assert inspect.iscoroutinefunction(MemorySystemImpl.query)


class ListedExperiences:
    """The protocol of experience memory over a list, by somebody who knows nothing of ATLAS."""

    def __init__(self) -> None:
        self.held: list[Experience] = []

    def store(self, trajectory: Trajectory) -> str:
        made = {"id": uuid4().hex, "task": trajectory.task, "outcome": trajectory.outcome}
        said = {"trajectory_summary": "", "embedding_text": "", "created_at": datetime.now(UTC)}
        self.held.append(Experience(**made, **said))
        return self.held[-1].id

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        return self.held[:k]

    def get(self, experience_id: str) -> Experience | None:
        return next((one for one in self.held if one.id == experience_id), None)

    def refine(self, experiences: list[Experience]) -> list[Experience]:
        return experiences

    def prune(self, criteria: dict[str, Any]) -> int:
        return 0

    def __len__(self) -> int:
        return len(self.held)


def test_a_component_of_somebody_else_serves_as_well(parts):
    other = ListedExperiences()
    assert isinstance(other, ExperienceMemory)
    system = MemorySystemImpl(experience=other, strategies=parts.strategies())
    stored = system.store(attempt())
    assert other.get(stored["experience"]).task.description == FLIGHT
    result = asyncio.run(system.query(task(FLIGHT)))
    assert [hit.item.id for hit in result.experience_hits] == [stored["experience"]]
    assert len(result.strategy_hits) == 1


# The storage layer can be swapped


def test_a_store_without_a_count_is_told_of_it_in_words():
    class FourMethods:
        add, query, delete, get = (getattr(DictVectorStore, name) for name in ("add", "query", "delete", "get"))

    with pytest.raises(InvalidInput, match=r"`?count`?, "):
        len(ChromaExperienceMemory(WordEmbedder(), FourMethods()))


def test_editing_is_kept_whatever_the_store(parts):
    memory = parts.experience()
    kept = memory.store(attempt())
    changed = memory.edit(kept, solution_output="asked the desk")
    assert memory.get(kept) == changed == replace(changed, solution_output="asked the desk")


# The data classes of the memory pillar


def test_a_record_shows_its_embedding_once_a_memory_has_returned_it(parts):
    memory, library, bank = parts.experience(), parts.concepts(), parts.strategies()
    new = concept()
    assert (new.embedding, Strategy(situation=FLIGHT, suggestion="ask").embedding) == (None, None)
    kept = memory.get(memory.store(attempt()))
    learned, strategy = library.get(library.add(new)), bank.get(bank.write(attempt()).id)
    for found, held in ((kept, memory), (learned, library), (strategy, bank)):
        assert (found.embedding.shape, found.embedding.dtype) == ((512,), np.float32)
        assert np.linalg.norm(found.embedding) == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(held.embedding(found.id), found.embedding, atol=1e-6)
        np.testing.assert_array_equal(asyncio.run(held.aembedding(found.id)), held.embedding(found.id))
        with pytest.raises(NotFound, match="nobody"):
            held.embedding("nobody")
        with pytest.raises(ValueError, match="read-only"):
            found.embedding[0] = 1
    assert memory.search(task(FLIGHT))[0].embedding is not None
    assert memory.edit(kept.id, task=replace(kept.task, description=HOTEL)).embedding is None
    assert not np.allclose(memory.get(kept.id).embedding, kept.embedding)


def test_an_embedding_is_no_part_of_what_a_record_is(parts):
    library = parts.concepts()
    kept = library.get(library.add(concept(id="c")))
    assert "embedding" not in asdict(kept)
    assert kept == replace(kept)
    assert replace(kept, description="other").embedding is None
    assert pickle.loads(pickle.dumps(kept)) == copy(kept) == kept
    assert "embedding" not in repr(kept)
    with pytest.raises(FrozenInstanceError):
        kept.name = "other"
    with pytest.raises(InvalidInput, match="unknown fields of a concept: embedding"):
        decode_concept({**encode_concept(kept), "embedding": [1.0]})


# The concept library extracts from successes


def test_a_library_with_a_compression_strategy_extracts_from_each_success_at_once(parts):
    strategy = Scripted([concept()])
    library = parts.concepts(compression_strategy=strategy)
    system = MemorySystemImpl(parts.experience(), library)
    assert "concepts" not in system.store(attempt(success=False))
    success = attempt()
    stored = system.store(success)
    assert (strategy.asked, stored["concepts"]) == ([[success.id]], library.ids())
    assert library.get(stored["concepts"][0]).name == "turn"
    assert "immediately" in system.compression_status()
    strategy.answer = []
    assert "concepts" not in system.store(attempt(HOTEL))


def test_a_strategy_that_fails_costs_its_own_part_alone(parts):
    class Failing(Scripted):
        async def compress(self, trajectories: list[Trajectory]) -> Any:
            raise OSError("no disk")

    system = MemorySystemImpl(parts.experience(), parts.concepts(compression_strategy=Failing()))
    stored = system.store(attempt())
    assert stored["errors"] == {"concepts": "OSError: no disk"}
    assert len(system.experience) == 1


def test_a_library_without_a_strategy_and_one_for_looking_extract_nothing(parts):
    system = MemorySystemImpl(parts.experience(), parts.concepts(compression_strategy=Scripted([concept()])))
    looking = system.ranked_with(atlas.RankingWeights())
    assert "concepts" not in looking.store(attempt())
    plain = MemorySystemImpl(parts.experience(), parts.concepts())
    assert "concepts" not in plain.store(attempt())
    assert "needs a compression strategy" in plain.compression_status()
