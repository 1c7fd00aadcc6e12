"""Experience memory: attempts at tasks, found again for similar tasks, successes first (ReMem)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from atlas.core.codec import decode_experience
from atlas.core.errors import InvalidInput
from atlas.core.settings import RankingWeights
from atlas.core.types import Experience, Outcome, Task, Trajectory, Vectors, new_id
from atlas.infra.actor import assign_actor_scope
from atlas.infra.bridge import call
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.llm.budget import operation
from atlas.memory.base.edits import Editable, check_changes
from atlas.memory.base.memory import Memory, Row, Weights, not_found_error
from atlas.memory.base.merging import parse_groups
from atlas.memory.base.records import EncodedEntries, Entry, drop_duplicates, encode_entries, first_vectors, retry
from atlas.memory.experience import extraction
from atlas.memory.experience.refinement import PassthroughRefineStrategy
from atlas.protocols.infra import Clock, Embedder, Progress, VectorStore
from atlas.protocols.strategies import (
    ExperienceExtractor,
    ExtractedText,
    RecordedExtractor,
    RefineStrategy,
    Reranker,
)
from atlas.storage.collection import Collection
from atlas.storage.damage import decode_content

if TYPE_CHECKING:  # curation and export are imported late, because a search does not need them
    from atlas.core.exchange import ExportedExperience
    from atlas.memory.experience.merging import MergePlan
    from atlas.memory.experience.outcomes import OutcomePlan
    from atlas.memory.experience.pruning import PrunePlan
    from atlas.memory.experience.refinement import ExplainingStrategy
    from atlas.memory.experience.refinement.plan import RefinePlan

COLLECTION = "atlas_experiences"
EDITABLE: Editable = {
    "task": Task,
    "outcome": Outcome,
    "solution_output": str,
    "feedback": str,
    "steps": (tuple, list),
    "metadata": Mapping,
    "agent_id": str,
}

STORE_BATCH = 256
"""Batch size of `store_many`, which embeds and commits a batch together."""


class ChromaExperienceMemory(Memory[Experience]):
    """Attempts at tasks, in a vector store. Each method has an async twin, with an `a` before its name."""

    noun = "experience"
    fields = extraction.FIELDS
    content_field = "trajectory_summary"

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        extractor: ExperienceExtractor = extraction.SimpleExperienceExtractor(),
        refine_strategy: RefineStrategy = PassthroughRefineStrategy(),
        collection_name: str = COLLECTION,
        *,
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
        reranker: Reranker | None = None,
    ) -> None:
        super().__init__(embedder, vector_store, collection_name, weights, clock, reranker)
        self._extractor = extractor
        self._refine_strategy = refine_strategy

    def _to_records(self, rows: Sequence[Row]) -> list[Experience]:
        return [decode_content(decode_experience, row["metadata"]) for row in rows]

    # Storing

    def store(self, trajectory: Trajectory) -> str:
        """Store an attempt, successful or not, and return the id of its experience.

        Raises:
            InvalidInput: The attempt contains a value that JSON cannot encode, or its task has no description.
        """
        return self.store_many([trajectory])[0]

    astore = twin(store)

    @operation()
    def store_many(
        self, trajectories: Iterable[Trajectory], on_progress: Progress | None = None, *, skip_known: bool = False
    ) -> list[str]:
        """Store attempts, committed in batches, and return the ids of their experiences.

        Args:
            on_progress: Called after each batch with the number done and the total, which is 0 if unknown.
            skip_known: Skip attempts that are stored already or repeated in the batch.
        """
        total = len(trajectories) if isinstance(trajectories, Sequence) else 0
        view = self if self.operation_id else self.as_operation("store")
        ids: list[str] = []
        n_done, iterator = 0, iter(trajectories)
        while batch := list(islice(iterator, STORE_BATCH)):
            experiences = list(map(self._to_experience, batch))
            ids += view._store_batch(experiences, skip_known)
            n_done += len(batch)
            if on_progress:
                on_progress(n_done, total)
        return ids

    astore_many = twin(store_many)

    @operation()
    def restore_many(self, exported: Sequence[ExportedExperience]) -> list[str]:
        """Restore exported experiences with ids, marks and usage, and return the ids of the restored ones.

        Vectors are restored too if the model is the same. Experiences whose id or content is stored already are
        skipped.
        """
        from atlas.memory.base.export import restored_history
        from atlas.memory.experience.export import reusable_vectors

        existing_ids = self._store.existing_ids([item.experience.id for item in exported])
        new_by_id = {item.experience.id: item for item in exported if item.experience.id not in existing_ids}
        if not new_by_id:
            return []
        experiences = [self._with_embedding_text(assign_actor_scope(item.experience)) for item in new_by_id.values()]
        known_vectors = reusable_vectors(exported, self.embedder)
        ids, vectors, metadatas, documents = self._encode(experiences, known_vectors)
        for metadata, item in zip(metadatas, new_by_id.values(), strict=True):
            metadata["content_hash"] = item.content_hash or metadata["content_hash"]
        histories = {record_id: restored_history(item) for record_id, item in new_by_id.items()}
        return self._store.add_missing(ids, vectors, metadatas, documents, histories)

    arestore_many = twin(restore_many)

    # Finding

    def search(self, task: Task, k: int = 4) -> list[Experience]:
        """Return the k experiences most useful for a task, best first. Successes rank above similar failures.

        The list is shorter if the memory has fewer experiences, and empty for k = 0 or a task without a description.
        """
        return [hit.item for hit in self.search_hits(task.description, k)]

    asearch = twin(search)

    # Changing

    def edit(self, /, experience_id: str, **changes: Any) -> Experience:
        """Change an experience and return it. A changed text is embedded again.

        Without changes, the text to embed is extracted again, for example after the model's summary timed out.

        Args:
            changes: New values of `task`, `outcome`, `solution_output`, `feedback`, `steps`, `metadata` or `agent_id`.

        Raises:
            NotFound: The experience does not exist.
            InvalidInput: Another field, or a value that cannot be stored.
            PlanOutdated: Concurrent changes outlasted the retries; the store was not changed.
        """
        check_changes(changes, EDITABLE)
        changes = self._replace_secrets(changes)
        return retry(lambda: self._edit(experience_id, changes))

    aedit = twin(edit)

    def plan_outcomes(self, ids: Sequence[str], success: bool | None) -> OutcomePlan:
        """Return a plan to set the same outcome for several experiences. The store is not changed."""
        from atlas.memory.experience.outcomes import plan_outcomes

        return plan_outcomes(self._store, ids, success)

    aplan_outcomes = twin(plan_outcomes)

    def apply_outcomes(self, plan: OutcomePlan) -> int:
        """Set the planned outcomes as one operation, and return the number of changed experiences.

        Raises:
            PlanOutdated: An experience has changed since; the store was not changed.
        """
        from atlas.memory.experience.outcomes import apply_outcomes

        return apply_outcomes(self._store.ensure_operation("outcome", plan.reason), plan)

    aapply_outcomes = twin(apply_outcomes)

    def report_outcomes(self, outcomes: Mapping[str, bool | None], *, reason: str = "") -> int:
        """Set the outcomes of experiences as one operation, and return the number of changed ones.

        Args:
            outcomes: True for a success, False for a failure or None for unknown, keyed by the experience's id.
            reason: Reason to show in the history.

        Raises:
            NotFound: One of the ids does not exist; the store was not changed.
        """
        existing_ids = self._store.existing_ids(list(outcomes))
        for experience_id in outcomes:
            if experience_id not in existing_ids:
                raise not_found_error(self.noun, experience_id)
        view = self if self.operation_id else self.as_operation("outcome", reason)
        n_changed = 0
        for success in (True, False, None):
            ids = [experience_id for experience_id, outcome in outcomes.items() if outcome is success]
            n_changed += view.apply_outcomes(view.plan_outcomes(ids, success))
        return n_changed

    areport_outcomes = twin(report_outcomes)

    def _edit(self, experience_id: str, changes: Mapping[str, Any]) -> Experience:
        """Edit an experience and return it, or raise `PlanOutdated` after a concurrent change. See `edit`."""
        with self._store.reading():
            moment, row = self._store.moment(), self._existing_row(experience_id)
        before = self._to_records([row])[0]
        changed = extraction.with_changes(before, changes, self._extract)
        if not changes and changed == before:
            return before
        ids, vectors, metadatas, documents = self._encode([changed])
        # Keep the hash of the original attempt, so that importing it again finds the record.
        metadatas[0]["content_hash"] = row["metadata"]["content_hash"]
        self._store.update(ids, vectors, metadatas, documents, unchanged_since=moment)
        return changed

    def refine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """Return those of the given experiences that the refine strategy keeps, in the strategy's order."""
        with operation():
            return call(self._refine_strategy.refine, experiences, context)

    arefine = twin(refine)

    # Pruning

    def plan_prune(
        self, criteria: Mapping[str, Any], among: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> PrunePlan:
        """Return a plan with the reasons to remove or keep each record. The store is not changed.

        Args:
            criteria: Any of `min_success_rate`, `max_age_days`, `never_retrieved_days`, `max_count`, `keep_diverse` and
                `tag`; see `PruneCriteria`. Pinned experiences are never removed, and a criterion ignores records that
                lack its value.
            among: Ids of the only records that may be removed. Without criteria, all of these are removed.
            keep: Ids of records that are kept in any case. They do not change the decisions on other records.

        Raises:
            InvalidInput: An unknown criterion or an invalid value.
        """
        from atlas.memory.experience.candidates import read_prune_candidates
        from atlas.memory.experience.pruning import PruneCriteria, plan_prune

        parsed_criteria = PruneCriteria.parse(criteria)
        self._store.write_retrievals()
        with self._store.reading():
            moment, n_total = self._store.moment(), self._store.count()
            # Records outside of `among` only matter as neighbours, so they are read only for `keep_diverse`.
            candidates = read_prune_candidates(self._store, None if parsed_criteria.keep_diverse else among)
            vectors = None
            if parsed_criteria.keep_diverse:
                vectors = first_vectors(
                    [candidate.id for candidate in candidates], self._store, self.embedder.dimension
                )
        now = self._clock.now()
        return plan_prune(
            candidates, vectors, parsed_criteria, now, n_total=n_total, moment=moment, among=among, keep=frozenset(keep)
        )

    aplan_prune = twin(plan_prune)

    def apply_prune(self, plan: PrunePlan) -> int:
        """Apply a plan and return how many records were removed.

        Raises:
            PlanOutdated: The store or the usage has changed since the plan was made. No record was removed.
        """
        ids = [decision.id for decision in plan.removals]
        if not ids:
            return 0
        operation_store = self._store.ensure_operation("prune", plan.reason)
        return operation_store.delete_unchanged(ids, plan.moment, plan.usage)

    aapply_prune = twin(apply_prune)

    def plan_merge(self, groups: Sequence[Sequence[str]]) -> MergePlan:
        """Return a plan to merge groups of duplicate experiences. The store is not changed.

        The best attempt of each group stays, under its own id. Its metadata lists the merged ids under `merged_from`
        and counts all outcomes under `merged_outcomes`. It takes over the uses, tags and notes of the others. It is
        pinned if any attempt of the group is, and buried or sample data if all are.

        Raises:
            InvalidInput: A group has fewer than two experiences, or an experience is in two groups or does not exist.
        """
        from atlas.memory.experience.candidates import read_merge_candidates
        from atlas.memory.experience.merging import plan_merge

        distinct_groups = parse_groups(groups)
        ids = [record_id for group in distinct_groups for record_id in group]
        with self._store.reading():
            moment, n_total = self._store.moment(), self._store.count()
            candidates = read_merge_candidates(self._store, ids)
        return plan_merge(distinct_groups, candidates, n_total=n_total, moment=moment)

    aplan_merge = twin(plan_merge)

    def apply_merge(self, plan: MergePlan) -> list[Experience]:
        """Apply a plan as one operation, and return the experiences that stay.

        Raises:
            PlanOutdated: An experience or its marks have changed since; the store was not changed.
        """
        from atlas.memory.experience.candidates import build_merges

        if not plan.groups:
            return []
        operation_store = self._store.ensure_operation("merge", plan.reason)
        operation_store.merge(build_merges(self._store, plan.groups), plan.moment)
        return [group.merged for group in plan.groups]

    aapply_merge = twin(apply_merge)

    def merge(self, ids: Sequence[str]) -> Experience:
        """Merge duplicate experiences, and return the best one, which stays. See `plan_merge`. `undo` reverts this."""
        return retry(lambda: self.apply_merge(self.plan_merge([ids]))[0])

    amerge = twin(merge)

    def plan_refine(
        self, ids: Sequence[str], strategy: ExplainingStrategy, on_progress: Progress | None = None
    ) -> RefinePlan:
        """Return a plan to refine these experiences. The store is not changed.

        The strategy judges the experiences in sets of similar ones. A set whose judgement fails is kept. After
        `FAILURES_IN_A_ROW` failures no further set is judged. The plan is outdated when it would change an experience
        that has changed since.

        Args:
            ids: Ids in the current order, such as newest first; unknown ids are skipped.
            on_progress: Called after each set with the number of experiences judged, and the total.
        """
        from atlas.memory.experience.refining import plan_refine

        return plan_refine(self._store, ids, strategy, self.embedder.dimension, on_progress)

    aplan_refine = twin(plan_refine)

    def check_refine(self, plan: RefinePlan) -> None:
        """Raise `PlanOutdated` if an experience that the plan changes or removes has changed since it was made."""
        self._store.check_unchanged(plan.changed_ids, plan.moment)

    acheck_refine = twin(check_refine)

    def apply_refine(self, plan: RefinePlan) -> int:
        """Apply a plan as one operation, and return the number of removed experiences.

        The refined order is not stored, because every search ranks by its query.

        Raises:
            PlanOutdated: An experience of the plan or its marks have changed since; the store was not changed.
        """
        from atlas.memory.experience.refining import apply_refine

        return apply_refine(self._store.ensure_operation("refine", plan.reason), plan)

    aapply_refine = twin(apply_refine)

    def prune(self, criteria: dict[str, Any]) -> int:
        """Remove low-value experiences and return the number of removed ones.

        See `plan_prune` for the criteria. `undo` restores them.
        """
        return retry(lambda: self.apply_prune(self.plan_prune(criteria)))

    aprune = twin(prune)

    def export(self, experience_ids: Sequence[str], *, with_vectors: bool = False) -> list[ExportedExperience]:
        """Return experiences with their marks and usage, for `restore_many`."""
        from atlas.memory.experience.export import to_exported

        with self._store.reading():
            rows = self._store.get(list(experience_ids))
            marks, usage = self._store.marks(experience_ids), self._store.usage(experience_ids)
            uses = self._store.uses(experience_ids)
        model = self.embedder.model_name if with_vectors else ""
        return [to_exported(row, marks[row["id"]], usage[row["id"]], uses[row["id"]], model) for row in rows]

    aexport = twin(export)

    # Private steps

    def _to_experience(self, trajectory: Trajectory) -> Experience:
        trajectory = self._prepare_new(trajectory)
        extracted = self._extract(trajectory)
        experience = extraction.to_experience(
            trajectory, experience_id=new_id(), embedding_text=extracted.text, now=self._clock.now()
        )
        return extraction.with_embedding_text(experience, extracted)

    def _extract(self, trajectory: Trajectory) -> ExtractedText:
        if isinstance(self._extractor, RecordedExtractor):
            extracted = self._extractor.extract_recorded(trajectory)
        else:
            extracted = ExtractedText(text=self._extractor.extract(trajectory))
        if not extracted.text.strip():
            raise InvalidInput(
                f"the task {trajectory.task.id!r} has no description, so no search could find it; give it one"
            )
        return extracted

    def _with_embedding_text(self, experience: Experience) -> Experience:
        """Return an experience with a text to embed. A missing text is extracted."""
        if experience.embedding_text.strip():
            return experience
        return extraction.with_embedding_text(experience, self._extract(extraction.to_trajectory(experience)))

    def _store_batch(self, experiences: Sequence[Experience], skip_known: bool) -> list[str]:
        """Store experiences, and return the ids of the stored ones.

        Args:
            skip_known: Whether to skip experiences whose content is stored already or repeated in the batch.
        """
        if not skip_known:
            self._store.add(*self._encode(experiences))
            return [experience.id for experience in experiences]
        new_entries = drop_duplicates([_to_entry(experience) for experience in experiences], self._store)
        return (
            self._store.add_missing(*encode_entries(new_entries, self._store, self.embedder, {})) if new_entries else []
        )

    def _encode(
        self, experiences: Sequence[Experience], known_vectors: Mapping[str, Vectors] | None = None
    ) -> EncodedEntries:
        """Return experiences as arguments for the store's `add` and `update`, with the vectors of their texts.

        Args:
            known_vectors: Vectors to reuse, keyed by text.
        """
        return encode_entries(
            [_to_entry(experience) for experience in experiences], self._store, self.embedder, known_vectors or {}
        )


def _to_entry(experience: Experience) -> Entry:
    return Entry(experience.id, experience.embedding_text, extraction.to_metadata(experience))
