"""Classes that are derived from the specifications' protocols, with no more than the methods that those name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Protocol
from uuid import uuid4

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept, Experience, Strategy, Task, Trajectory
from atlas.embedding.sentence_transformers import Embedder
from atlas.infra.vector_index import VectorIndex
from atlas.memory.concepts import (
    ChromaConceptLibrary,
    CompositionStrategy,
    CompressionStrategy,
    ConceptDocumenter,
    PrimitiveLoader,
)
from atlas.memory.experience import ChromaExperienceMemory, ExperienceExtractor, RefineStrategy
from atlas.memory.storage import QueryResult, VectorStore
from atlas.memory.strategies import ChromaStrategyBank, StrategyAbstractor, SuccessRateUpdater
from atlas.memory.system import MemorySystemImpl
from atlas.protocols.memory import ConceptLibrary, ExperienceMemory, MemorySystem, StrategyBank
from tests.support.contract.plugged import FLIGHT, GRID, HOTEL, Abstracting, WordEmbedder, attempt, concept
from tests.support.contract.specified_names import NAMES
from tests.support.memories import DictVectorStore, task


class OwnEmbedder(Embedder):
    def encode(self, text: str) -> list[float]:
        return WordEmbedder().encode(text)


class OwnStore(VectorStore):
    def __init__(self) -> None:
        self.held = DictVectorStore()

    async def add(self, ids: Any, embeddings: Any, metadatas: Any, documents: Any) -> None:
        await self.held.add(ids, embeddings, metadatas, documents)

    async def query(self, embedding: Any, k: int, where: Any = None) -> QueryResult:
        return await self.held.query(embedding, k, where)

    async def delete(self, ids: list[str]) -> None:
        await self.held.delete(ids)

    async def get(self, ids: list[str]) -> list[dict[str, Any]]:
        return await self.held.get(ids)


class OwnExtractor(ExperienceExtractor):
    def extract(self, trajectory: Trajectory) -> str:
        return f"penguins {trajectory.task.description}"


class OwnRefining(RefineStrategy):
    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        return experiences[::-1]


class OwnLoader(PrimitiveLoader):
    def load(self) -> dict[str, CodeConcept]:
        return {"base": concept("base", "begin again", id="base", source="primitive")}


class OwnComposition(CompositionStrategy):
    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        return replace(concepts[0], name="composed")


class OwnDocumenter(ConceptDocumenter):
    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        return replace(concept, description="documented")


class OwnCompression(CompressionStrategy):
    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        return [await OwnDocumenter().document(concept(), [])]


class OwnAbstractor(StrategyAbstractor):
    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        return await Abstracting().abstract(trajectory)


class OwnUpdater(SuccessRateUpdater):
    def update(self, current_rate: float, current_count: int, success: bool) -> tuple[float, int]:
        return 0.75, current_count + 1


class OwnExperiences(ExperienceMemory):
    def __init__(self) -> None:
        self.held: list[Experience] = []

    def store(self, trajectory: Trajectory) -> str:
        said = {"trajectory_summary": "", "embedding_text": "", "created_at": datetime.now(UTC)}
        self.held.append(Experience(id=uuid4().hex, task=trajectory.task, outcome=trajectory.outcome, **said))
        return self.held[-1].id

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        return self.held[:k]

    def get(self, experience_id: str, /) -> Experience | None:
        return next((one for one in self.held if one.id == experience_id), None)

    def refine(self, experiences: list[Experience]) -> list[Experience]:
        return experiences

    def prune(self, criteria: dict[str, Any]) -> int:
        return 0

    def __len__(self) -> int:
        return len(self.held)


class OwnConcepts(ConceptLibrary):
    def add(self, concept: CodeConcept) -> str:
        return "c"

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        return [concept(id="c")]

    def get(self, concept_id: str, /) -> CodeConcept | None:
        return None

    def compose(self, concept_ids: list[str]) -> CodeConcept | None:
        return None

    def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        return []

    def update_stats(self, concept_id: str, success: bool) -> None:
        pass


class OwnStrategies(StrategyBank):
    def write(self, trajectory: Trajectory) -> Strategy | None:
        return Strategy(id="s", situation=FLIGHT, suggestion="ask")

    def read(self, task: Task, k: int = 5) -> list[Strategy]:
        return [Strategy(id="s", situation=FLIGHT, suggestion="ask")]

    def get(self, strategy_id: str, /) -> Strategy | None:
        return None

    def update_stats(self, strategy_id: str, success: bool) -> None:
        pass


def test_experiences_over_derived_parts_are_stored_found_edited_and_refined():
    memory = ChromaExperienceMemory(OwnEmbedder(), OwnStore(), extractor=OwnExtractor(), refine_strategy=OwnRefining())
    ids = [memory.store(attempt(text)) for text in (FLIGHT, HOTEL)]
    found = memory.search(task("penguins"))
    assert {one.id for one in found} == set(ids)
    assert memory.refine(found) == found[::-1]
    assert memory.edit(ids[0], solution_output="asked") == memory.get(ids[0])
    assert memory.get(ids[0]).solution_output == "asked"
    memory.delete([ids[0]])
    assert [one.id for one in memory.search(task(FLIGHT))] == [ids[1]]


def test_concepts_over_derived_parts_are_loaded_found_counted_composed_and_compressed():
    library = ChromaConceptLibrary(
        OwnEmbedder(),
        OwnStore(),
        primitive_loader=OwnLoader(),
        composition_strategy=OwnComposition(),
        compression_strategy=OwnCompression(),
    )
    added = library.add(concept())
    library.update_stats(added, success=True)
    assert library.search(GRID, k=1)[0].usage_count == 1
    assert {one.id for one in library.search(GRID)} == {added, "base"}
    assert library.compose([added, "base"]).name == "composed"
    assert [one.description for one in library.compress([attempt()])] == ["documented"]


def test_strategies_over_derived_parts_are_written_read_and_counted():
    bank = ChromaStrategyBank(OwnEmbedder(), OwnStore(), OwnAbstractor(), OwnUpdater())
    written = bank.write(attempt())
    bank.update_stats(written.id, success=True)
    (found,) = bank.read(task(FLIGHT))
    assert (found.id, found.usage_count, found.success_rate) == (written.id, 1, 0.75)


def test_a_system_of_derived_memories_stores_and_answers():
    system = MemorySystemImpl(experience=OwnExperiences(), concepts=OwnConcepts(), strategies=OwnStrategies())
    stored = system.store(attempt())
    assert set(stored) == {"experience", "strategies"}
    result = asyncio.run(system.query(task(FLIGHT)))
    hits = (result.experience_hits, result.concept_hits, result.strategy_hits)
    assert [[hit.item.id for hit in found] for found in hits] == [[stored["experience"]], ["c"], ["s"]]
    assert result.errors == {}
    assert "[strategy s]" in system.build_context(task(FLIGHT)).text


def test_a_derived_store_that_lacks_a_method_is_told_so():
    class Lacking(VectorStore):
        async def add(self, ids: Any, embeddings: Any, metadatas: Any, documents: Any) -> None:
            pass

    with pytest.raises(InvalidInput, match="'Lacking'"):
        ChromaExperienceMemory(OwnEmbedder(), Lacking())


def test_a_derived_embedder_without_encode_is_told_so():
    class Lacking(Embedder):
        pass

    with pytest.raises(InvalidInput, match="'Lacking'"):
        ChromaExperienceMemory(Lacking(), OwnStore())


def test_every_protocol_that_somebody_can_plug_in_is_derived_from_here():
    """Nothing takes an index or a whole memory system of somebody else's."""
    specified = {getattr(import_module(module), name) for module, names in NAMES.items() for name in names}
    protocols = {one for one in specified if Protocol in getattr(one, "__bases__", ())} - {VectorIndex, MemorySystem}
    derived = {base for one in globals().values() if isinstance(one, type) for base in one.__bases__}
    assert protocols <= derived
