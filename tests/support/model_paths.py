"""The paths on which a language model is asked, each as a store with all that it needs, and the asking itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import atlas
from atlas.core.errors import LLMError
from atlas.core.types import Strategy
from atlas.infra.bridge import run
from atlas.jobs.compaction import plan_now as plan_compaction
from atlas.jobs.compression import choose_strategy, compress_now
from atlas.jobs.refinement import plan_now as plan_refinement
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.llm.prompts.abstraction import ABSTRACTION
from atlas.llm.prompts.attempt_summary import ATTEMPT_SUMMARY
from atlas.llm.prompts.autodoc import AUTODOC
from atlas.llm.prompts.composition import COMPOSITION
from atlas.llm.prompts.demonstration import DEMONSTRATION
from atlas.llm.prompts.domain_names import DOMAIN_NAMES
from atlas.llm.prompts.journal_summary import JOURNAL_SUMMARY
from atlas.llm.prompts.prompt import Prompt
from atlas.llm.prompts.refinement import REFINEMENT
from atlas.llm.prompts.strategy import STRATEGY
from atlas.llm.prompts.strategy_merge import STRATEGY_MERGE
from atlas.llm.prompts.warning import WARNING_PROMPT
from atlas.llm.trial import run_trial
from atlas.maps.suggesting import UnnamedDomain, suggest_names
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import LLMClient
from atlas.testing import HashEmbedder
from tests.support.learning.builders import concept
from tests.support.memories import attempt

TASK = "Cancel my flight with a full refund, my reservation number is PEP4E0"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
STORED = Strategy(title="Refunds", situation="A flight is to be cancelled", suggestion="Check it", rationale="Policy")
EVENS = "def fn_0(x0):\n    return [x for x in x0 if x % 2 == 0]"
FARE = {"name": "fare", "type": "str", "description": "What was paid for the flight."}
USES = [("Even ones.", "def solve(numbers: list[int]):\n    return fn_0(numbers)")]
AVERAGE = "def solve(xs):\n    total = sum(xs)\n    return total / len(xs)"
HALF = "def half(n: int) -> int:\n    return n // 2"
NEXT = "def next_one(n: int) -> int:\n    return n + 1"
NOTES = ("The parser broke on tabs", "Tabs broke it again", "Spaces work", "It was mended", "All pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of asking: a result, or why there is none."""

    result: Any = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPath:
    """One path."""

    prompt: Prompt
    ask: Callable[[MemorySystem, LLMClient], Outcome]
    answer: Mapping[str, Any] | str
    """A good answer: an object, or text."""

    fill: Callable[[MemorySystem], object] = lambda memory: None
    """Puts into a store what the path reads."""

    stores: bool = False
    """Whether asking stores something with or without an answer, as one operation."""


@contextmanager
def prepared(path: ModelPath, directory: Path, llm: LLMClient) -> Iterator[MemorySystem]:
    """Yield a memory with what a path reads, whose every step asks a model."""
    with atlas.open_memory(directory, embedder=HashEmbedder()) as memory:
        path.fill(memory)
    extractor = LLMSummarizingExtractor(llm)
    with atlas.open_memory(directory, embedder=HashEmbedder(), llm=llm, extractor=extractor) as memory:
        yield memory


def contents(memory: MemorySystem) -> dict[str, dict[str, Any]]:
    """Return all records of a memory, by kind and id."""
    kinds = {
        "experience": memory.experience,
        "concepts": memory.concepts,
        "strategies": memory.strategies,
        "journal": memory.journal,
    }
    return {name: {item.id: item for item in kind.get_many(kind.ids())} for name, kind in kinds.items()}


def _asked(question: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(result=question())
    except LLMError as error:
        return Outcome(reason=str(error))


def _summed_up(memory: MemorySystem, llm: LLMClient) -> Outcome:
    stored = memory.experience.store(attempt(TASK, success=None))
    failures = memory.experience._extractor.failures
    return Outcome(result=memory.experience.get(stored).embedding_text, reason="".join(failures))


def _abstracted(memory: MemorySystem, llm: LLMClient) -> Outcome:
    plan = memory.strategies.plan_write([attempt(TASK)])
    return Outcome(result=plan.added, reason="".join(plan.problems))


def _warned(memory: MemorySystem, llm: LLMClient) -> Outcome:
    plan = memory.strategies.plan_write([attempt(TASK, success=False)])
    return Outcome(result=plan.added, reason="".join(plan.problems))


def _combined(memory: MemorySystem, llm: LLMClient) -> Outcome:
    other = replace(STORED, suggestion="Ask for the fare first")
    return _asked(lambda: run(LLMStrategyAbstractor(llm).combined(STORED, other)))


def _refined(memory: MemorySystem, llm: LLMClient) -> Outcome:
    plan = plan_refinement(memory, llm=llm)
    return Outcome(result=plan.decisions, reason="".join(plan.failures))


def _compacted(memory: MemorySystem, llm: LLMClient) -> Outcome:
    [draft] = plan_compaction(memory, 0).summaries
    assert draft.content, "a summary is never lost"
    return Outcome(result=draft.content, reason=draft.problem)


def _documented(memory: MemorySystem, llm: LLMClient) -> Outcome:
    documented = asyncio.run(LLMAutoDocumenter(llm).document(concept(EVENS), USES))
    assert documented.name, "a function always has a name"
    texts = (documented.name, documented.description, documented.guidance)
    return Outcome(result=texts, reason=str(documented.metadata.get("undocumented_because", "")))


def _composed(memory: MemorySystem, llm: LLMClient) -> Outcome:
    composed = memory.concepts.explain_composition(memory.concepts.ids())
    return Outcome(result=composed.concept, reason=composed.why_not)


def _compressed(memory: MemorySystem, llm: LLMClient) -> Outcome:
    return _asked(lambda: compress_now(memory, strategy=choose_strategy(llm)))


def _named(memory: MemorySystem, llm: LLMClient) -> Outcome:
    domains = [UnnamedDomain(number=n, terms=("flight", "cancel"), tasks=(TASK,)) for n in range(2)]
    return _asked(lambda: run(suggest_names(llm, domains)))


def _demonstrated(memory: MemorySystem, llm: LLMClient) -> Outcome:
    trial = run_trial(llm, TASK, "memories")
    return Outcome(result=(trial.without.text, trial.with_block.text), reason=trial.with_block.problem)


def _store_attempts(*descriptions: str, solution: str = "") -> Callable[[MemorySystem], object]:
    attempts = [attempt(description, solution=solution) for description in descriptions]
    return lambda memory: memory.experience.store_many(attempts)


def _note(memory: MemorySystem) -> object:
    notes = (
        atlas.JournalEntry(entry_type="observation", content=text, generation=1, created_at=LONG_AGO) for text in NOTES
    )
    return memory.journal.add_entries([*notes])


PATHS: Mapping[str, ModelPath] = {
    path.prompt.name: path
    for path in (
        ModelPath(
            prompt=ATTEMPT_SUMMARY,
            ask=_summed_up,
            answer={"task": "Cancel a flight", "key_steps": ["Looked it up"], "outcome": "No refund was given."},
            stores=True,
        ),
        ModelPath(
            prompt=STRATEGY,
            ask=_abstracted,
            answer={
                "reusable": True,
                "reason": "It holds for every flight.",
                "title": "Check the fare before a refund",
                "situation": "The user wants to cancel a flight.",
                "suggestion": "Look up the reservation first.",
                "rationale": "Refunds depend on the fare.",
                "parameters": [FARE],
            },
        ),
        ModelPath(
            prompt=WARNING_PROMPT,
            ask=_warned,
            answer={
                "reusable": True,
                "reason": "It holds for every flight.",
                "title": "Do not promise a refund before the fare is known",
                "situation": "The user wants to cancel a flight.",
                "suggestion": "Do not cancel at once.",
                "rationale": "The refund was refused.",
                "parameters": [FARE],
            },
        ),
        ModelPath(
            prompt=STRATEGY_MERGE,
            ask=_combined,
            answer={"same": True, "reason": "Both are about cancelling.", "suggestion": "Check it, ask for the fare."},
        ),
        ModelPath(
            prompt=REFINEMENT,
            ask=_refined,
            answer={
                "decisions": [{"id": name, "action": "keep", "reason": "It helps."} for name in ("e1", "e2", "e3")]
            },
            fill=_store_attempts(TASK, "Cancel a flight", "Change a seat"),
        ),
        ModelPath(
            prompt=JOURNAL_SUMMARY,
            ask=_compacted,
            answer={"points": [{"text": "Tabs broke the parser.", "entries": ["1", "2"]}]},
            fill=_note,
        ),
        ModelPath(
            prompt=AUTODOC,
            ask=_documented,
            answer={
                "name": "evens",
                "description": "Keeps the even ones.",
                "parameters": [{"name": "numbers", "type": "list[int]"}],
                "returns": "list[int]",
                "guidance": "For even numbers.",
            },
        ),
        ModelPath(
            prompt=COMPOSITION,
            ask=_composed,
            answer={
                "name": "half_of_next",
                "description": "Halves the number after one.",
                "code": "def half_of_next(n: int) -> int:\n    return half(next_one(n))",
                "examples": [{"call": "half_of_next(3)", "result": "2"}],
                "guidance": "To split what follows.",
            },
            fill=lambda memory: memory.concepts.add_many(
                [concept(HALF, ("half(4)", "2")), concept(NEXT, ("next_one(4)", "5"))]
            ),
        ),
        ModelPath(
            prompt=ABSTRACTION,
            ask=_compressed,
            answer={"functions": []},
            fill=_store_attempts("Average one", "Average two", solution=AVERAGE),
        ),
        ModelPath(
            prompt=DOMAIN_NAMES,
            ask=_named,
            answer={"names": [{"group": 0, "name": "Cancelled flights"}, {"group": 1, "name": "Refunds"}]},
        ),
        ModelPath(prompt=DEMONSTRATION, ask=_demonstrated, answer="The flight is cancelled."),
    )
}
"""The paths, by the name of their prompt."""
