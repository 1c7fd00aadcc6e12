"""Writing concepts: additions without duplicates of code or name, and edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.operations import NO_MARKS
from atlas.core.types import CodeConcept
from atlas.memory.base.memory import not_found_error
from atlas.memory.base.records import drop_duplicates, encode_entries
from atlas.memory.concepts.calls import read_concepts, with_calls
from atlas.memory.concepts.records import PYTHON, to_entry, usage_from_fields, validate, with_time
from atlas.protocols.infra import Clock, WholeEmbedder
from atlas.storage.collection import Collection
from atlas.storage.records import RestoredHistory


@dataclass(frozen=True, slots=True)
class ConceptWriter:
    """A writer of concepts into one view of a library's collection."""

    store: Collection
    embedder: WholeEmbedder
    clock: Clock

    def add(
        self,
        concepts: Sequence[CodeConcept],
        histories: Mapping[str, RestoredHistory],
        reason: str = "",
        *,
        unique_key: str = "",
    ) -> list[str]:
        """Add concepts with their usage, and return the ids of the new ones. Known ids and known code are skipped."""
        dated = [with_time(concept, self.clock.now()) for concept in concepts]
        existing_ids = self.store.existing_ids([concept.id for concept in dated])
        entries = drop_duplicates(
            [to_entry(concept) for concept in dated if concept.id not in existing_ids], self.store
        )
        if not entries:
            return []
        new_ids = {entry.id for entry in entries}
        new_concepts = with_calls(self.store, [concept for concept in dated if concept.id in new_ids])
        operation_store = self.store.ensure_operation("store", reason)
        arguments = encode_entries([to_entry(concept) for concept in new_concepts], self.store, self.embedder, {})
        return operation_store.add_missing(*arguments, histories, unique_key=unique_key)

    def add_alone(self, concept: CodeConcept) -> list[str]:
        """Add one concept, and return its id in a list. Raise `PlanOutdated` if a concurrent write took its name."""
        if concept.id not in self.store.existing_ids([concept.id]):
            self._check_code_is_new(concept)
            self._check_name(concept)
        histories = {concept.id: RestoredHistory(marks=NO_MARKS, usage=usage_from_fields(concept))}
        return self.add([concept], histories, unique_key="title")

    def edit(self, concept_id: str, changes: Mapping[str, Any]) -> CodeConcept:
        """Edit a concept and return it, or raise `PlanOutdated` if a concurrent write has changed it."""
        with self.store.reading():
            moment, rows = self.store.moment(), self.store.get([concept_id])
            if not rows:
                raise not_found_error("concept", concept_id)
            [before] = read_concepts(self.store, rows)
        changed = validate(replace(before, **changes))
        if changed.code != before.code:
            changed = with_calls(self.store, [replace(changed, calls=())])[0]
        if changed.name != before.name:
            self._check_name(changed)
        self._check_code_is_new(changed)
        arguments = encode_entries([to_entry(changed)], self.store, self.embedder, {})
        self.store.update(*arguments, unchanged_since=moment)
        return changed

    def _check_code_is_new(self, concept: CodeConcept) -> None:
        """Raise `InvalidInput` if the library already has the code of a concept."""
        content_hash = to_entry(with_time(concept, self.clock.now())).metadata["content_hash"]
        existing_id = self.store.ids_by_hash([content_hash]).get(content_hash, concept.id)
        if existing_id != concept.id:
            raise InvalidInput(
                f"the library already has the code of {concept.name!r}, except for layout and comments: "
                f"concept {existing_id!r}; edit that concept, or delete it first"
            )

    def _check_name(self, concept: CodeConcept) -> None:
        """Raise `InvalidInput` unless the name of a concept is an identifier that no other concept has."""
        if concept.language == PYTHON and not concept.name.isidentifier():
            raise InvalidInput(
                f"expected a Python identifier as the name, got {concept.name!r}; use the name of its function"
            )
        titles = self.store.column("title")
        namesakes = [
            concept_id for concept_id, name in titles.items() if name == concept.name and concept_id != concept.id
        ]
        if namesakes:
            raise InvalidInput(
                f"concept {namesakes[0]!r} is already named {concept.name!r}, so calls of the name would be ambiguous; "
                "use another name, or edit the existing concept"
            )
