"""Concept library: reusable code, found by description, as in Stitch and LILO."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from atlas.core.codec import decode_concept
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.exchange import ExportedConcept
from atlas.core.operations import NO_MARKS
from atlas.core.settings import RankingWeights
from atlas.core.types import CodeConcept, Trajectory
from atlas.infra.actor import assign_actor_scope
from atlas.infra.bridge import call
from atlas.infra.clock import SystemClock
from atlas.infra.secrets import SCRUBBED_FIELDS
from atlas.infra.twin import twin
from atlas.llm.budget import operation
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.export import restored_history, stored_at
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.merging import parse_groups
from atlas.memory.base.records import encode_entries, parse_ids, retry
from atlas.memory.base.success_rates import SimpleAverageUpdater
from atlas.memory.base.versions import ItemVersion, item_versions
from atlas.memory.concepts.calls import ConceptUses, collect_callees, find_callers, read_concepts
from atlas.memory.concepts.merging import ConceptMergeCandidate, ConceptMergePlan, build_merges, plan_concept_merge
from atlas.memory.concepts.plugged import check_plugged, select_successes, with_default_lookup
from atlas.memory.concepts.primitives import find_updates, mark_shipped
from atlas.memory.concepts.records import (
    FIELDS,
    to_entry,
    usage_from_fields,
    validate,
)
from atlas.memory.concepts.writing import ConceptWriter
from atlas.protocols.infra import Clock, Embedder, VectorStore
from atlas.protocols.strategies import (
    ComposedConcept,
    CompositionStrategy,
    CompressionStrategy,
    ExplainingComposition,
    PrimitiveLoader,
)
from atlas.storage.collection import Collection
from atlas.storage.records import RestoredHistory

logger = logging.getLogger(__name__)

COLLECTION = "atlas_concepts"

MAX_REASONS = 100
"""Number of logged reasons for an empty result that are remembered, so that each is logged once."""

EDITABLE: Editable = {
    "name": str,
    "description": str,
    "code": str,
    "signature": str,
    "guidance": str,
    "examples": (tuple, list),
    "metadata": Mapping,
}


class ChromaConceptLibrary(Memory[CodeConcept]):
    """Reusable code, in a vector store. Each method has an async twin, with an `a` before its name."""

    noun = "concept"
    fields = FIELDS
    content_field = "signature"

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        primitive_loader: PrimitiveLoader | None = None,
        composition_strategy: CompositionStrategy | None = None,
        compression_strategy: CompressionStrategy | None = None,
        collection_name: str = COLLECTION,
        *,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open a library.

        Args:
            primitive_loader: Loader of concepts. Concepts that the library lacks are added on opening.

        Raises:
            InvalidInput: A plugged-in part lacks a method, which the message names.
        """
        super().__init__(
            embedder, vector_store, collection_name, weights, clock, success_updater=SimpleAverageUpdater()
        )
        self._warn_once = lru_cache(maxsize=MAX_REASONS)(logger.warning)
        check_plugged(CompositionStrategy, composition_strategy, "composition_strategy", "compose")
        check_plugged(CompressionStrategy, compression_strategy, "compression_strategy", "compress")
        check_plugged(PrimitiveLoader, primitive_loader, "primitive_loader", "load")
        self.composition_strategy = with_default_lookup(composition_strategy, self.get)
        self.compression_strategy = compression_strategy
        if primitive_loader is not None:
            self.load_primitives(primitive_loader)

    # Adding

    def add(self, concept: CodeConcept) -> str:
        """Add a concept and return its id. Empty `calls` are filled in from the names that the code calls.

        Raises:
            InvalidInput: The code is empty or does not parse, the name is not an identifier, or the library has a
                concept with the same code, id or name. Concepts added in a batch, such as an import, may share a name.
        """
        concept = self._prepare_new(validate(concept))
        added_ids = retry(lambda: self._writer.add_alone(concept))
        if not added_ids:
            raise InvalidInput(
                f"the library already has a concept with the id {concept.id!r}; edit it, or use another id"
            )
        return added_ids[0]

    aadd = twin(add)

    def add_many(self, concepts: Sequence[CodeConcept], reason: str = "") -> list[str]:
        """Add concepts as one operation, and return the ids of the new ones. Known ids and known code are skipped.

        Raises:
            InvalidInput: A concept is invalid; none was added.
        """
        valid_concepts = [assign_actor_scope(validate(concept)) for concept in concepts]
        histories = {
            concept.id: RestoredHistory(marks=NO_MARKS, usage=usage_from_fields(concept)) for concept in valid_concepts
        }
        return self._writer.add(valid_concepts, histories, reason)

    aadd_many = twin(add_many)

    def load_primitives(self, loader: PrimitiveLoader) -> list[str]:
        """Add a loader's concepts as one operation, and return the ids of the new ones."""
        return self.add_many([mark_shipped(concept) for concept in loader.load().values()], "primitives")

    aload_primitives = twin(load_primitives)

    def update_primitives(self, loader: PrimitiveLoader) -> list[str]:
        """Update the primitives that `primitive_updates` returns, as one operation, and return their ids."""
        updates = self.primitive_updates(loader)
        if updates:
            arguments = encode_entries([to_entry(concept) for concept in updates], self._store, self.embedder, {})
            operation_store = self._store.ensure_operation("edit", "primitives")
            operation_store.update(*arguments)
        return [concept.id for concept in updates]

    aupdate_primitives = twin(update_primitives)

    def primitive_updates(self, loader: PrimitiveLoader) -> list[CodeConcept]:
        """Return the loader's version of each primitive that differs from the library's, in the form that is stored.

        Primitives edited since they were loaded are left out.
        """
        return find_updates(loader, self.get_many, lambda concept: bool(self._store.versions(concept.id)))

    aprimitive_updates = twin(primitive_updates)

    # Changing

    def edit(self, /, concept_id: str, **changes: Any) -> CodeConcept:
        """Change a concept and return it. A new name or description is embedded again.

        Earlier versions stay in the history; see `versions`.

        Args:
            changes: New values of `name`, `description`, `code`, `signature`, `guidance`, `examples` or `metadata`.

        Raises:
            NotFound: The concept does not exist.
            InvalidInput: Another field, a value that cannot be stored, or code that another concept has.
            PlanOutdated: Concurrent changes outlasted the retries; the store was not changed.
        """
        check_changes(changes, EDITABLE)
        texts = {name: self._replace_secrets(changes[name]) for name in SCRUBBED_FIELDS[CodeConcept] if name in changes}
        return retry(lambda: self._writer.edit(concept_id, changes | texts))

    aedit = twin(edit)

    def update_stats(self, concept_id: str, success: bool) -> None:
        """Record the outcome of a task that used this concept, or raise `NotFound` if it does not exist."""
        self.record_use(concept_id, success)

    aupdate_stats = twin(update_stats)

    # Merging

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> ConceptMergePlan:
        """Return a plan to merge groups of duplicate concepts. The store is not changed.

        The most used concept of each group, or the oldest in a tie, stays with its own code. It takes over the sources,
        parts, uses, tags and notes of the removed concepts, and the examples that call a function of its name. Calls of
        a removed concept become calls of the kept one if the caller's code uses the kept name. The plan lists the
        callers that would break.

        Raises:
            InvalidInput: A group has fewer than two concepts, or a concept is in two groups or does not exist.
        """
        distinct_groups = parse_groups(groups)
        ids = [concept_id for group in distinct_groups for concept_id in group]
        with self._store.reading():
            moment, n_total = self._store.moment(), self._store.count()
            candidates = {candidate.concept.id: candidate for candidate in self._read_merge_candidates(ids)}
            callers = self._read_merge_candidates(find_callers(self._store, ids))
        return plan_concept_merge(distinct_groups, candidates, callers, n_total=n_total, moment=moment)

    aplan_merge = twin(plan_merge)

    def apply_merge(self, plan: ConceptMergePlan) -> list[CodeConcept]:
        """Apply a plan as one operation, and return the concepts that stay.

        Raises:
            PlanOutdated: A concept or its marks have changed since; the store was not changed.
        """
        if not plan.groups:
            return []
        changed_ids = [
            *(group.kept_id for group in plan.groups),
            *(candidate.concept.id for candidate in plan.relinked_callers),
        ]
        rows = {row["id"]: row for row in self._store.get(changed_ids)}
        operation_store = self._store.ensure_operation("merge", plan.reason)
        operation_store.merge(build_merges(plan, rows), plan.moment)
        return [group.merged for group in plan.groups]

    aapply_merge = twin(apply_merge)

    def merge(self, ids: Sequence[str]) -> CodeConcept:
        """Merge concepts, and return the most used one, which stays. See `plan_merge`. `undo` reverts this."""

        def plan_and_apply() -> CodeConcept:
            return self.apply_merge(self.plan_merge([ids]))[0]

        return retry(plan_and_apply)

    amerge = twin(merge)

    # Composing and compressing

    def compose(self, concept_ids: Sequence[str]) -> CodeConcept | None:
        """Return a new concept that the strategy composes of several, or None. The library is not changed.

        Store the concept with `add`. The reason for None is logged. The result is also None if `composable` raises.
        """
        try:
            composed = self.explain_composition(concept_ids)
        except (InvalidInput, NotFound) as reason:
            self._warn_once(str(reason))
            return None
        if composed.why_not:
            self._warn_once(composed.why_not)
        return composed.concept

    acompose = twin(compose)

    def explain_composition(self, concept_ids: Sequence[str]) -> ComposedConcept:
        """Return the concept composed of several, or the strategy's reason why there is none.

        Raises:
            NotFound, InvalidInput: See `composable`.
        """
        strategy, concepts = self._require_composition(), self.composable(concept_ids)
        with operation():
            if isinstance(strategy, ExplainingComposition):
                return call(strategy.compose_with_reason, concepts)
            return ComposedConcept(concept=call(strategy.compose, concepts))

    aexplain_composition = twin(explain_composition)

    def composable(self, concept_ids: Sequence[str]) -> list[CodeConcept]:
        """Return the distinct concepts with these ids, which `compose` passes to the composition strategy.

        Raises:
            NotFound: A concept does not exist.
            InvalidInput: There are fewer than two ids, or the library has no composition strategy.
        """
        self._require_composition()
        selected_ids = [concept_ids] if isinstance(concept_ids, str) else list(dict.fromkeys(concept_ids))
        if len(selected_ids) < 2:
            raise InvalidInput(f"expected at least two concepts to compose, got {len(selected_ids)}; choose more")
        return [self._existing_concept(concept_id) for concept_id in selected_ids]

    acomposable = twin(composable)

    def compress(self, trajectories: Sequence[Trajectory]) -> list[CodeConcept]:
        """Return the concepts that the compression strategy finds in successful attempts. `add_many` stores them.

        A library without a strategy logs a warning, and returns an empty list.

        Raises:
            InvalidInput: An item is not an attempt.
        """
        succeeded = select_successes(trajectories)
        if self.compression_strategy is None:
            self._warn_once("this library has no compression strategy; pass one as compression_strategy")
            return []
        with operation():
            return call(self.compression_strategy.compress, succeeded)

    acompress = twin(compress)

    # Export and import

    def export(self, concept_ids: Sequence[str]) -> list[ExportedConcept]:
        """Return concepts with their lineage, marks and recorded uses, for `restore_many`.

        Unknown ids are skipped. Earlier versions of edited concepts are not exported.
        """
        with self._store.reading():
            marks, uses = self._store.marks(concept_ids), self._store.uses(concept_ids)
            usage, rows = self._store.usage(concept_ids), self._store.get(list(concept_ids))
            concepts = self._to_records(rows)
        return [
            ExportedConcept(
                concept=replace(concept, usage_count=0, success_rate=0.0),
                marks=marks[concept.id],
                usage=usage[concept.id],
                uses=tuple(replace(use, record_id=concept.id) for use in uses[concept.id]),
                stored_at=stored_at(row),
            )
            for row, concept in zip(rows, concepts, strict=True)
        ]

    aexport = twin(export)

    def restore_many(self, exported: Sequence[ExportedConcept]) -> list[str]:
        """Restore exported concepts with their ids, lineage, marks and uses, and return the restored ids.

        Concepts whose id or code is stored already are skipped.

        Raises:
            InvalidInput: A concept is invalid; none was restored.
        """
        exported_by_id = {item.concept.id: item for item in exported}
        histories = {concept_id: restored_history(item) for concept_id, item in exported_by_id.items()}
        return self._writer.add(
            [assign_actor_scope(validate(item.concept)) for item in exported_by_id.values()], histories
        )

    arestore_many = twin(restore_many)

    # Reading

    def search(self, query: str, k: int = 5) -> list[CodeConcept]:
        """Return the k concepts most relevant to a query, best first."""
        return [hit.item for hit in self.search_hits(query, k)]

    asearch = twin(search)

    def versions(self, concept_id: str) -> list[ItemVersion[CodeConcept]]:
        """Return the earlier versions of a concept, latest first. Empty if the concept was never edited."""
        return item_versions(self._store.versions(concept_id), decode_concept)

    aversions = twin(versions)

    # Lineage

    def uses(self, concept_id: str) -> ConceptUses:
        """Return the origins, callers and uses of a concept, or raise `NotFound`."""
        with self._store.reading():
            concept = self._existing_concept(concept_id)
            usage = self._store.usage([concept_id])[concept_id]
            callers = self.get_many(find_callers(self._store, [concept_id]))
            return ConceptUses(
                found_in=concept.found_in,
                called_by=tuple(caller.id for caller in callers if concept_id in caller.calls),
                part_of=tuple(self._store.ids({"composed_of": concept_id})),
                n_uses=usage.n_uses,
                n_successes=usage.n_successes,
            )

    auses = twin(uses)

    def depends_on(self, concept_id: str) -> list[CodeConcept]:
        """Return the transitive dependencies of a concept, nearest first: concepts that it calls or was composed of.

        Deleted concepts are left out.

        Raises:
            NotFound: The concept does not exist.
        """
        with self._store.reading():
            return collect_callees(self._existing_concept(concept_id), self.get_many)

    adepends_on = twin(depends_on)

    def dependents(self, concept_ids: Sequence[str]) -> list[CodeConcept]:
        """Return the other concepts that call one of these concepts, or were composed of one."""
        given_ids = set(parse_ids(concept_ids))
        with self._store.reading():
            return self.get_many(
                [concept_id for concept_id in find_callers(self._store, concept_ids) if concept_id not in given_ids]
            )

    adependents = twin(dependents)

    # Private steps

    def _to_records(self, rows: Sequence[Row]) -> list[CodeConcept]:
        return read_concepts(self._store, rows)

    def _existing_concept(self, concept_id: str) -> CodeConcept:
        return self._to_records([self._existing_row(concept_id)])[0]

    def _require_composition(self) -> CompositionStrategy:
        if self.composition_strategy is None:
            raise InvalidInput("this library cannot compose concepts; open it with a composition_strategy")
        return self.composition_strategy

    @property
    def _writer(self) -> ConceptWriter:
        return ConceptWriter(self._store, self.embedder, self._clock)

    def _read_merge_candidates(self, ids: Sequence[str]) -> list[ConceptMergeCandidate]:
        """Return the concepts that exist, each with the data that a merge needs."""
        rows = self._store.get(list(ids))
        marks = self._store.marks(ids)
        return [
            ConceptMergeCandidate(concept=concept, marks=marks[row["id"]], content_hash=row["metadata"]["content_hash"])
            for row, concept in zip(rows, self._to_records(rows), strict=True)
        ]
