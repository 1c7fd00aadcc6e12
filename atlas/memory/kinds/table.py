"""The table of kinds, with their functions to check, add and show items."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from atlas.core.codec import encode_concept, encode_experience, encode_strategy, encode_trajectory
from atlas.core.errors import InvalidInput
from atlas.core.exchange import LINES, ExportedConcept, ExportedExperience, ExportedStrategy, LineKind
from atlas.core.journal_codec import encode_entry, validate_entry
from atlas.core.types import CodeConcept, JournalEntry, Task, Trajectory, Turn
from atlas.memory.concepts.records import validate
from atlas.memory.kinds.kind import ADDED_KINDS, MemoryKind
from atlas.memory.strategies.records import validate as validate_strategy


def _add_attempts(memory: Any, items: list[Any]) -> list[str]:
    stored_ids = memory.store_many([item for item in items if isinstance(item, Trajectory)], skip_known=True)
    return [*stored_ids, *memory.restore_many([item for item in items if isinstance(item, ExportedExperience)])]


def _add_concepts(library: Any, items: list[Any]) -> list[str]:
    added_ids = library.add_many([item for item in items if isinstance(item, CodeConcept)])
    return [*added_ids, *library.restore_many([item for item in items if isinstance(item, ExportedConcept)])]


def _check_attempt(item: Trajectory | ExportedExperience) -> None:
    if isinstance(item, ExportedExperience):
        encode_experience(item.experience)
        _check_task(item.experience.task)
    else:
        encode_trajectory(item)
        _check_task(item.task)


def _check_task(task: Task) -> None:
    if not task.description.strip():
        raise InvalidInput("expected a task.description that is not blank, because searches find attempts by it")


KINDS: Mapping[str, MemoryKind] = {
    "experience": MemoryKind(
        noun="experience",
        records=lambda memory: memory.experience,
        types=(Trajectory, ExportedExperience),
        add=_add_attempts,
        check=_check_attempt,
        id_of=lambda item: item.experience.id if isinstance(item, ExportedExperience) else item.id,
        summary=attrgetter("task.description"),
    ),
    "concepts": MemoryKind(
        noun="concept",
        records=lambda memory: memory.concepts,
        types=(CodeConcept, ExportedConcept),
        add=_add_concepts,
        check=lambda item: encode_concept(validate(item.concept if isinstance(item, ExportedConcept) else item)),
        id_of=lambda item: item.concept.id if isinstance(item, ExportedConcept) else item.id,
        summary=lambda concept: f"{concept.name}: {concept.description}",
    ),
    "journal": MemoryKind(
        noun="entry",
        records=lambda memory: memory.journal,
        types=(JournalEntry,),
        add=lambda journal, items: journal.add_entries(items),
        check=lambda item: encode_entry(validate_entry(item)),
        summary=attrgetter("content"),
    ),
    "strategies": MemoryKind(
        noun="strategy",
        records=lambda memory: memory.strategies,
        types=(ExportedStrategy,),
        add=lambda bank, items: bank.restore_many(items),
        check=lambda item: encode_strategy(validate_strategy(item.strategy, datetime.now(UTC))),
        id_of=attrgetter("strategy.id"),
        summary=lambda strategy: strategy.title or strategy.suggestion,
    ),
    "conversations": MemoryKind(  # turns need no check, because their fields were checked while reading
        noun="turn",
        records=lambda memory: memory.conversations,
        types=(Turn,),
        add=lambda conversations, items: conversations.add_turns(items),
        is_searchable=False,
    ),
}
"""The kinds of ATLAS, in the order in which an imported batch is added."""


def known_kinds() -> dict[str, MemoryKind]:
    """Return all kinds, keyed by the name of their memory. Kinds of plug-ins come last."""
    return {**KINDS, **ADDED_KINDS}


def searchable_kinds() -> dict[str, MemoryKind]:
    """Return the kinds that are offered for search, keyed by the name of their memory."""
    return {name: kind for name, kind in known_kinds().items() if kind.is_searchable}


def kind_of_item(item: Any) -> MemoryKind:
    """Return the kind of an imported item.

    Raises:
        InvalidInput: No memory accepts items of its type.
    """
    kinds = known_kinds().values()
    for kind in kinds:
        if isinstance(item, kind.types):
            return kind
    types = ", ".join(item_type.__name__ for kind in kinds for item_type in kind.types)
    raise InvalidInput(f"expected one of {types}, got {type(item).__name__}; return another item from the importer")


def known_lines() -> dict[str, LineKind]:
    """Return the kinds of lines in export files, keyed by the value of a line's `kind`."""
    return {**LINES, **{kind.noun: kind.line for kind in ADDED_KINDS.values() if kind.line is not None}}
