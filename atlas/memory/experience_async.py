"""The bodies of experience memory's methods, as coroutines. `atlas.memory.experience` has the class to use."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from atlas.core.codec import decode_experience
from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.exchange import ExportedExperience
from atlas.core.settings import RankingWeights
from atlas.core.types import (
    Experience,
    Hit,
    Marks,
    QueryResult,
    Task,
    Trajectory,
    Usage,
    Vector,
    Vectors,
    new_id,
)
from atlas.infra.clock import SystemClock
from atlas.memory import extraction
from atlas.memory.backing import backing
from atlas.memory.editing import check_changes
from atlas.memory.extraction import SimpleExperienceExtractor
from atlas.memory.pruning import PruneCriteria, PrunePlan, PruneSubject, plan_prune
from atlas.memory.ranking import Candidate, overfetch, rank
from atlas.memory.refinement import PassthroughRefineStrategy
from atlas.protocols.infra import Clock, Embedder, Progress, VectorStore, Where
from atlas.protocols.strategies import ExperienceExtractor, RefineStrategy

COLLECTION = "atlas_experiences"
STORE_BATCH = 256
"""Attempts that are embedded and committed together by `store_many`."""

PLAN_TRIES = 5


class AsyncExperienceMemory:
    """Attempts at tasks, in a vector store."""

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore,
        extractor: ExperienceExtractor = SimpleExperienceExtractor(),
        refine_strategy: RefineStrategy = PassthroughRefineStrategy(),
        collection_name: str = COLLECTION,
        *,
        weights: RankingWeights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        self.collection_name = collection_name
        self.embedder = embedder
        self._store = backing(vector_store, embedder.dimension)
        self._extractor = extractor
        self._refine_strategy = refine_strategy
        self._weights = weights
        self._clock = clock

    def within(self, kind: str, reason: str = "") -> Self:
        """This memory, all of whose writes are one operation in the history, undone as a whole."""
        return type(self)(
            self.embedder,
            self._store.within(kind, reason),
            self._extractor,
            self._refine_strategy,
            self.collection_name,
            weights=self._weights,
            clock=self._clock,
        )

    @property
    def operation_id(self) -> str | None:
        """The operation that `within` began."""
        return self._store.operation_id

    # Storing

    async def astore(self, trajectory: Trajectory) -> str:
        """Remember an attempt, a success or a failure; the id of its experience.

        Raises:
            InvalidInput: The attempt holds something that JSON cannot, or its task has no description.
        """
        return (await self.astore_many([trajectory]))[0]

    async def astore_many(self, trajectories: Iterable[Trajectory], on_progress: Progress | None = None) -> list[str]:
        """Remember attempts, in batches each of which is durable when the next begins; the ids of their experiences.

        Args:
            on_progress: Called after each batch with how many are stored, and of how many where that is known, else 0.
        """
        total = len(trajectories) if isinstance(trajectories, Sequence) else 0
        scoped = self if self.operation_id else self.within("store")
        ids: list[str] = []
        for batch in _batches(trajectories, STORE_BATCH):
            experiences = [self._to_experience(trajectory) for trajectory in batch]
            await scoped._add(experiences)
            ids += [experience.id for experience in experiences]
            if on_progress:
                on_progress(len(ids), total)
        return ids

    async def arestore_many(self, exported: Sequence[ExportedExperience]) -> None:
        """Put exported experiences back with their ids, marks and usage, and vectors where the model is the same."""
        experiences = [item.experience for item in exported]
        given = {
            item.experience.embedding_text: item.vectors
            for item in exported
            if item.vectors is not None and item.embedding_model == self.embedder.model_name
        }
        await self._add(experiences, given)
        await self._store.restore_marks({item.experience.id: item.marks for item in exported if item.marks != Marks()})
        await self._store.restore_usage({item.experience.id: item.usage for item in exported})

    def hashes(self, trajectories: Sequence[Trajectory]) -> list[str]:
        """What attempts that say the same have in common, whatever their ids."""
        return [extraction.content_hash(self._to_experience(trajectory)) for trajectory in trajectories]

    async def aknown(self, hashes: Sequence[str]) -> set[str]:
        """Those of the attempts' `hashes` that the memory holds."""
        return await self._store.known_hashes(hashes)

    # Finding

    async def asearch(self, task: Task, k: int = 4) -> list[Experience]:
        """The k experiences most useful for a task, best first, successes before failures among about equals.

        Fewer than k where the memory holds fewer; none for k = 0, an empty memory or a task without a description.
        """
        return [hit.item for hit in await self.asearch_hits(task.description, k)]

    async def asearch_hits(
        self, query: str, k: int = 4, *, where: Where | None = None, count_retrieval: bool = True
    ) -> list[Hit[Experience]]:
        """What `search` finds, each hit with its similarity and the signals that make up its rank value.

        Args:
            where: Only experiences that pass this filter; the result is that of ranking all of them by hand.
            count_retrieval: Whether the hits count as retrieved, which `prune` asks for; a person's browsing does not.
        """
        _check_k(k)
        if not k or not query.strip() or not await self._store.count():
            return []
        vector = await asyncio.to_thread(self._encode_query, query)
        found = await self._store.query(vector, overfetch(k), where)
        hits = await self._hits(found, k)
        if count_retrieval:
            self._store.note_retrievals([hit.item.id for hit in hits])
        return hits

    async def asearch_words(self, words: str, k: int = 20, *, where: Where | None = None) -> list[Experience]:
        """The experiences that hold any of these words in task, solution or feedback, most telling first (BM25)."""
        _check_k(k)
        found = await self._store.search_text(words, k, where)
        return [_decode(row["metadata"]) for row in await self._store.get(found.ids)]

    async def asimilar(self, experience_id: str, k: int = 4) -> list[Hit[Experience]]:
        """The k experiences nearest to one, without itself.

        Raises:
            NotFound: It is not there.
        """
        _check_k(k)
        rows = await self._store.get([experience_id])
        if not rows:
            raise _not_found(experience_id)
        vector = np.atleast_2d(rows[0]["embedding"])[0]
        found = await self._store.query(vector, overfetch(k) + 1)
        return await self._hits(found, k, without=experience_id)

    async def aget(self, experience_id: str) -> Experience | None:
        """One experience, or None."""
        rows = await self._store.get([experience_id])
        return _decode(rows[0]["metadata"]) if rows else None

    async def abrowse(
        self,
        where: Where | None = None,
        *,
        order_by: str = "created_at",
        descending: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Rows of experiences without their steps (`id`, `metadata`, `document`), for a table or a count by hand."""
        return await self._store.scan(where, order_by=order_by, descending=descending, limit=limit, offset=offset)

    async def acount(self, where: Where | None = None) -> int:
        """How many experiences pass a filter."""
        return await self._store.count(where)

    async def avalues(self, key: str, where: Where | None = None) -> dict[Any, int]:
        """How many experiences hold each value of a metadata key such as `source`, most frequent first."""
        return await self._store.count_by(key, where)

    # Changing

    async def aedit(self, experience_id: str, **changes: Any) -> Experience:
        """Change an experience and embed it anew if what is embedded has changed; the changed one.

        Args:
            changes: New values of `task`, `outcome`, `solution_output`, `feedback`, `steps`, `metadata` or `agent_id`.

        Raises:
            NotFound: It is not there.
            InvalidInput: Another field, or a value that cannot be stored.
        """
        check_changes(changes)
        rows = await self._store.get([experience_id])
        if not rows:
            raise _not_found(experience_id)
        changed = replace(_decode(rows[0]["metadata"]), **changes)
        trajectory = extraction.to_trajectory(changed)
        changed = replace(
            changed,
            embedding_text=self._embedding_text(trajectory),
            trajectory_summary=extraction.summarise(trajectory, changed.feedback),
        )
        ids, vectors, (metadata,), documents = await self._columns([changed])
        # Its hash stays that of the attempt as it was read, so that importing it again still finds it.
        await self._store.update(
            ids, vectors, [{**metadata, "content_hash": rows[0]["metadata"]["content_hash"]}], documents
        )
        return changed

    async def adelete(self, experience_ids: Sequence[str]) -> int:
        """Delete experiences; how many there were. They stay in the history, from which `undo` brings them back."""
        n_present = len(await self._store.get(list(experience_ids)))
        await self._store.delete(list(experience_ids))
        return n_present

    async def arefine(self, experiences: list[Experience], context: Task | None = None) -> list[Experience]:
        """What the refine strategy makes of the experiences; the memory itself is not changed."""
        return await self._refine_strategy.refine(experiences, context)

    async def arecord_use(self, experience_id: str, success: bool, *, task_id: str = "") -> None:
        """Say how a task went that this experience was used for.

        An experience's success rate is the mean of its own outcome and of the outcomes recorded here.

        Raises:
            NotFound: It is not there.
        """
        await self._store.record_use(experience_id, success, task_id)

    async def amarks(self, experience_ids: Sequence[str]) -> dict[str, Marks]:
        """Tags, pin and note of each experience."""
        return await self._store.marks(experience_ids)

    async def amark(self, marks: Mapping[str, Marks]) -> None:
        """Set tags, pin and note of experiences, as one operation; `NotFound` where one is not there."""
        await self._store.mark(marks)

    async def ausage(self, experience_ids: Sequence[str]) -> dict[str, Usage]:
        """How often each experience was retrieved and used, and how that went."""
        return await self._store.usage(experience_ids)

    # Pruning

    async def aplan_prune(self, criteria: Mapping[str, Any]) -> PrunePlan:
        """What `prune` would remove and save, and why; nothing is touched.

        Args:
            criteria: Any of `min_success_rate`, `max_age_days`, `never_retrieved_days`, `max_count`, `keep_diverse`;
                see `PruneCriteria`. Pinned experiences are never removed.

        Raises:
            InvalidInput: An unknown criterion, or an impossible value.
        """
        parsed = PruneCriteria.parse(criteria)
        await self._store.write_retrievals()
        moment = await self._store.moment()
        rows = await self._store.scan()
        ids = [row["id"] for row in rows]
        usage, marks = await self._store.usage(ids), await self._store.marks(ids)
        subjects = [_subject(row, usage[row["id"]], marks[row["id"]]) for row in rows]
        vectors = await self._first_vectors(ids) if parsed.keep_diverse else None
        return await asyncio.to_thread(plan_prune, subjects, vectors, parsed, self._clock.now(), moment)

    async def aapply_prune(self, plan: PrunePlan) -> int:
        """Remove exactly what a plan says; how many.

        Raises:
            PlanOutdated: The store has changed since the plan was made; nothing was removed.
        """
        ids = [decision.id for decision in plan.removals]
        if not ids:
            return 0
        now = await self._store.usage(ids)
        if any(now[record_id] != plan.usage[record_id] for record_id in ids):
            raise PlanOutdated(
                "experiences that the plan removes have been used since it was made; nothing was done. Plan anew"
            )
        reason = ", ".join(f"{name} {value}" for name, value in plan.criteria.given().items())
        scoped = self._store if self.operation_id else self._store.within("prune", reason)
        return await scoped.delete_unchanged(ids, plan.moment)

    async def aprune(self, criteria: dict[str, Any]) -> int:
        """Remove low-value experiences; how many. See `plan_prune` for the criteria; `undo` brings them back."""
        for _ in range(PLAN_TRIES - 1):
            try:
                return await self.aapply_prune(await self.aplan_prune(criteria))
            except PlanOutdated:
                continue  # somebody changed a record meanwhile: what goes is decided anew
        return await self.aapply_prune(await self.aplan_prune(criteria))

    async def aexport(self, experience_ids: Sequence[str], *, with_vectors: bool = False) -> list[ExportedExperience]:
        """Experiences with all that is known of them; `arestore_many` puts them back."""
        rows = await self._store.get(list(experience_ids))
        marks, usage = await self._store.marks(experience_ids), await self._store.usage(experience_ids)
        return [
            ExportedExperience(
                experience=_decode(row["metadata"]),
                marks=marks[row["id"]],
                usage=usage[row["id"]],
                vectors=np.atleast_2d(row["embedding"]) if with_vectors else None,
                embedding_model=self.embedder.model_name if with_vectors else "",
            )
            for row in rows
        ]

    # Steps of the above

    def _to_experience(self, trajectory: Trajectory) -> Experience:
        return extraction.to_experience(
            trajectory,
            experience_id=new_id(),
            embedding_text=self._embedding_text(trajectory),
            now=self._clock.now(),
        )

    def _embedding_text(self, trajectory: Trajectory) -> str:
        text = self._extractor.extract(trajectory)
        if not text.strip():
            raise InvalidInput(
                f"the task {trajectory.task.id!r} has no description, so nothing could find it again; give it one"
            )
        return text

    async def _add(self, experiences: Sequence[Experience], given: Mapping[str, Vectors] | None = None) -> None:
        await self._store.add(*await self._columns(experiences, given))

    async def _columns(
        self, experiences: Sequence[Experience], given: Mapping[str, Vectors] | None = None
    ) -> tuple[list[str], list[Vectors], list[dict[str, Any]], list[str]]:
        """What the vector store takes: ids, embeddings, metadatas, documents."""
        metadatas = [extraction.to_metadata(experience) for experience in experiences]
        documents = [experience.embedding_text for experience in experiences]
        vectors = await self._embed(documents, given or {})
        return [e.id for e in experiences], [vectors[document] for document in documents], metadatas, documents

    async def _embed(self, documents: Sequence[str], given: Mapping[str, Vectors]) -> dict[str, Vectors]:
        """Vectors by text: given ones, those the store has already, and the model's for the rest, each text once."""
        known = {**await self._store.vectors_of([text for text in documents if text not in given]), **given}
        missing = [text for text in dict.fromkeys(documents) if text not in known]
        made = await asyncio.to_thread(self.embedder.encode_batch, missing) if missing else np.zeros((0, 1), np.float32)
        return known | {text: vector[None] for text, vector in zip(missing, made, strict=True)}

    def _encode_query(self, text: str) -> Vector:
        encode = getattr(self.embedder, "encode_query", self.embedder.encode)
        vector: Vector = encode(text)
        return vector

    async def _hits(self, found: QueryResult, k: int, *, without: str = "") -> list[Hit[Experience]]:
        """The k best of what was found, in rank order; only those are read whole."""
        usage = await self._store.usage(found.ids)
        candidates = [
            _candidate(record_id, metadata, 1.0 - distance, usage[record_id])
            for record_id, distance, metadata in zip(found.ids, found.distances, found.metadatas, strict=True)
            if record_id != without
        ]
        ranked = rank(candidates, self._weights, self._clock.now())[:k]
        rows = {row["id"]: row["metadata"] for row in await self._store.get([hit.item for hit in ranked])}
        return [
            Hit(item=_decode(rows[hit.item]), similarity=hit.similarity, signals=hit.signals)
            for hit in ranked
            if hit.item in rows
        ]

    async def _first_vectors(self, ids: Sequence[str]) -> Vectors:
        vectors = await self._store.vectors()
        missing = np.zeros((1, self.embedder.dimension), np.float32)
        return np.stack([vectors.get(record_id, missing)[0] for record_id in ids]) if ids else missing[:0]


def _decode(metadata: Mapping[str, Any]) -> Experience:
    return decode_experience(json.loads(metadata["content"]))


def _candidate(record_id: str, metadata: Mapping[str, Any], similarity: float, usage: Usage) -> Candidate[str]:
    return Candidate(
        item=record_id,
        similarity=similarity,
        success=metadata.get("success"),
        created_at=datetime.fromisoformat(metadata["created_at"]),
        usage=usage,
    )


def _subject(row: Mapping[str, Any], usage: Usage, marks: Marks) -> PruneSubject:
    metadata = row["metadata"]
    return PruneSubject(
        id=row["id"],
        title=metadata["title"],
        success=metadata.get("success"),
        created_at=datetime.fromisoformat(metadata["created_at"]),
        usage=usage,
        pinned=marks.pinned,
    )


def _batches(trajectories: Iterable[Trajectory], size: int) -> Iterable[list[Trajectory]]:
    batch: list[Trajectory] = []
    for trajectory in trajectories:
        batch.append(trajectory)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _check_k(k: int) -> None:
    if k < 0:
        raise InvalidInput(f"k should be 0 or more, but is {k}")


def _not_found(experience_id: str) -> NotFound:
    return NotFound(f"there is no experience {experience_id!r}; it may have been deleted (see: atlas history)")
