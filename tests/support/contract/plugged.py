"""What a stranger plugs into the specified memories: an embedder with `encode` alone, strategies that are told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from atlas.core.types import CodeConcept, Experience, Outcome, Step, Strategy, Task, Trajectory
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.memory.system import MemorySystemImpl

FLIGHT, HOTEL, GRID = "cancel a flight with a certificate", "book a hotel by the sea", "rotate the symbols of a grid"


class WordEmbedder:
    """Hashes words into so many numbers: plain lists, of any length."""

    def encode(self, text: str) -> list[float]:
        numbers = [0.0] * 512
        for word, n in Counter(re.findall(r"\w+", text.lower())).items():
            numbers[sum(ord(letter) * 31**place for place, letter in enumerate(word)) % 512] += n
        return numbers


@dataclass
class Parts:
    """Makes memories over stores of one kind."""

    store: Callable[[str], Any]

    def experience(self, **plugged: Any) -> ChromaExperienceMemory:
        return ChromaExperienceMemory(WordEmbedder(), self.store("atlas_experiences"), **plugged)

    def concepts(self, **plugged: Any) -> ChromaConceptLibrary:
        return ChromaConceptLibrary(WordEmbedder(), self.store("atlas_concepts"), **plugged)

    def strategies(self, abstractor: Any = None, **plugged: Any) -> ChromaStrategyBank:
        return ChromaStrategyBank(
            WordEmbedder(), self.store("atlas_strategies"), abstractor or Abstracting(), **plugged
        )


def attempt(description: str = FLIGHT, success: bool | None = True, age_days: float = 0, **fields: Any) -> Trajectory:
    return Trajectory(
        task=Task(f"task of {description}", "", description),
        steps=(Step(thought="think", action=f"act on {description}", observation="seen"),),
        outcome=Outcome(success),
        timestamp=datetime.now(UTC) - timedelta(days=age_days),
        **fields,
    )


def concept(name: str = "turn", description: str = GRID, **fields: Any) -> CodeConcept:
    code = f"def {name}(grid):\n    return ['{name}', grid]\n"
    return CodeConcept(name=name, description=description, code=code, **fields)


class Abstracting:
    """Makes a strategy of every attempt that it is asked about, and keeps which."""

    def __init__(self, *, finds_nothing: bool = False) -> None:
        self.finds_nothing = finds_nothing
        self.asked: list[Trajectory] = []

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        self.asked.append(trajectory)
        return None if self.finds_nothing else Strategy(situation=trajectory.task.description, suggestion="look it up")


class Wording(Abstracting):
    """Puts it differently each time, as a language model does."""

    async def abstract(self, trajectory: Trajectory) -> Strategy | None:
        made = await super().abstract(trajectory)
        return made and replace(made, suggestion=f"look it up, answer {len(self.asked)}")


class Scripted:
    """Every other strategy: says what was asked of it, and gives what it was told."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def load(self) -> dict[str, CodeConcept]:
        return {one.name: one for one in self.answer}

    def extract(self, trajectory: Trajectory) -> str:
        return f"{self.answer} {trajectory.task.id}"

    async def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        self.asked.append((experiences, context))
        return experiences[::-1]

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        self.asked.append([one.id for one in concepts])
        return self.answer

    async def compress(self, trajectories: list[Trajectory]) -> list[CodeConcept]:
        self.asked.append([one.id for one in trajectories])
        return self.answer


NAMES = ("experience", "concepts", "strategies")


def system_of(parts: Parts, names: tuple[str, ...] = NAMES) -> MemorySystemImpl:
    """A system of those of the three memories."""
    return MemorySystemImpl(**{name: getattr(parts, name)() for name in names})


COLLECTIONS = ("atlas_experiences", "atlas_concepts", "atlas_strategies")


def memories_over(
    store: Any, names: tuple[str, str, str] = COLLECTIONS
) -> tuple[ChromaExperienceMemory, ChromaConceptLibrary, ChromaStrategyBank]:
    """The three memories over one store."""
    experience = ChromaExperienceMemory(WordEmbedder(), store, collection_name=names[0])
    concepts = ChromaConceptLibrary(WordEmbedder(), store, collection_name=names[1])
    return experience, concepts, ChromaStrategyBank(WordEmbedder(), store, Abstracting(), collection_name=names[2])
