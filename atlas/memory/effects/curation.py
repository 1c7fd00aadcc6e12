"""Measurement of the loss to agents if records are removed. Tasks are replayed with and without the records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.hits import MemoryQueryResult
from atlas.core.types import CodeConcept, Experience, Task
from atlas.core.words import FUNCTION_WORDS, shortened
from atlas.memory.base.memory import Memory
from atlas.memory.context.block import DEFAULT_K, TokenCounter, build_context, tools_of
from atlas.memory.effects.rightness import RecordTasks, replayable_tasks, tasks_of, worth
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.kinds.record_text import RecordText, Section
from atlas.memory.kinds.sections import known_sections
from atlas.memory.loss import CurationLoss, LostRecord
from atlas.memory.query import (
    AnyMemory,
    QueryFilters,
    combine_results,
    prepare_searches,
    result_or_error,
    search_memory,
)
from atlas.storage.store import Store

N_SAMPLED = 100
"""Largest number of records whose tasks are replayed. More would take seconds."""

N_TASKS = 40
"""Largest number of replayed tasks. This many take at most 3 s with 10,000 records."""

TITLE_CHARACTERS = 120

_CONDITION = re.compile(r"\b(?:if|when|unless|only|except|until|never|without|must|before|after)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one memory for a task, and the content of the context block."""

    hits: Mapping[str, Any]
    """Records of the hits, keyed by id, best first."""

    shown: tuple[str, ...]
    """Ids of this memory's records in the context block."""

    texts: tuple[str, ...]
    """Texts of the records of all memories in the block."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The answers to a task with all records, and without the records to remove."""

    task: Task
    before: Answer
    after: Answer


@dataclass(frozen=True, slots=True)
class LossMeter:
    """A meter of the loss to agents if records are removed from one memory."""

    memories: Mapping[str, AnyMemory]
    storage: Store
    counter: TokenCounter

    def measure(self, name: str, replacements: Mapping[str, str]) -> CurationLoss:
        """Return the loss to agents if records were removed. The store is not changed, and no retrieval is counted.

        Args:
            name: Name of the memory.
            replacements: The id of the record that a removed record is merged into, or an empty string, keyed by the
                removed record's id.

        Raises:
            InvalidInput: The system has no memory of ATLAS's own with this name, or its store keeps no history.
        """
        memory = self.memories.get(name)
        if not isinstance(memory, Memory):
            names = [memory_name for memory_name, records in self.memories.items() if isinstance(records, Memory)]
            raise InvalidInput(f"expected one of {', '.join(names)} for the memory, got {name!r}")
        sampled_ids = sample_evenly(list(replacements), N_SAMPLED)
        judgements = self.storage.judgements.all()
        with self.storage.reading():
            sampled_tasks = tasks_of(memory, memory.get_many(sampled_ids), self._experience, judgements)
            known_tasks = replayable_tasks(sampled_tasks, self._experience)
        tasks = sample_evenly(known_tasks, N_TASKS)
        memory_without = memory.exclude(list(replacements)) if tasks else memory
        sections = {name: _with_cache(section) for name, section in known_sections().items()}
        replays = [self._replay(name, memory_without, task, sections) for task in tasks]
        with self.storage.reading():
            hits = chain.from_iterable((replay.before.hits, replay.after.hits) for replay in replays)
            records = chain.from_iterable(records_by_id.values() for records_by_id in hits)
            hit_tasks = tasks_of(memory, records, self._experience, judgements)
            unproven_names = self._unprovable_names(name, replacements)
        return replace(
            _compute_loss(replacements, replays, hit_tasks),
            n_sampled=len(sampled_ids),
            n_known=len(known_tasks),
            unproven=tuple(sorted(unproven_names)),
        )

    @property
    def _experience(self) -> ChromaExperienceMemory | None:
        memory = self.memories.get("experience")
        return memory if isinstance(memory, ChromaExperienceMemory) else None

    def _replay(self, name: str, memory_without: AnyMemory, task: Task, sections: Mapping[str, Section]) -> Replay:
        """Return the answers to a task with all records, and without the removed records of one memory."""
        searches = prepare_searches(self.memories, task, DEFAULT_K, QueryFilters())
        with self.storage.reading():
            other_memories = {
                memory_name: result_or_error(search_memory, memory, searches[memory_name], task, DEFAULT_K, False)
                for memory_name, memory in self.memories.items()
                if memory_name != name
            }
            answers = [
                search_memory(memory, searches[name], task, DEFAULT_K, False)
                for memory in (self.memories[name], memory_without)
            ]
        results = [combine_results({**other_memories, name: answer}) for answer in answers]
        before = self._answer_task(name, results[0], task, sections)
        is_same = list(before.hits) == [hit.item.id for hit in answers[1].hits]
        return Replay(task, before, before if is_same else self._answer_task(name, results[1], task, sections))

    def _answer_task(self, name: str, result: MemoryQueryResult, task: Task, sections: Mapping[str, Section]) -> Answer:
        """Return the hits of one memory for a task, and the context block that the hits of all memories make."""
        block = build_context(result, self.counter, sections=sections, tools=tools_of(task))
        texts = []
        for memory_name, hits in result.hits.items():
            shown_ids = set(block.shown.get(memory_name, ()))
            texts += [sections[memory_name].text(hit.item) for hit in hits if hit.item.id in shown_ids]
        return Answer(
            hits={hit.item.id: hit.item for hit in result.hits.get(name, ())},
            shown=block.shown.get(name, ()),
            texts=tuple("\n".join(text.lines).partition("]")[2] for text in texts),  # without ids
        )

    def _unprovable_names(self, name: str, replacements: Mapping[str, str]) -> list[str]:
        """Return the names of proven concepts that are removed, or that lose the last attempt of their proof."""
        concepts = self.memories.get("concepts")
        if name not in ("concepts", "experience") or not isinstance(concepts, Memory):
            return []
        deleted_ids = {record_id for record_id, kept_id in replacements.items() if not kept_id}
        where = {"id" if name == "concepts" else "found_in": {"$in": sorted(deleted_ids)}}
        deleted_concepts: Sequence[CodeConcept] = concepts.get_many(
            concepts.collection.ids(where) if deleted_ids else []
        )
        if not deleted_concepts:
            return []
        from atlas.learning.strategies import PROVEN  # late: few stores have learned concepts

        proven = [concept for concept in deleted_concepts if concept.metadata.get(PROVEN) is True]
        if name == "concepts":
            return [concept.name for concept in proven]
        source_ids = [record_id for concept in proven for record_id in concept.found_in]
        memory = self.memories["experience"]
        remaining_ids = (
            memory.collection.existing_ids(source_ids) - deleted_ids if isinstance(memory, Memory) else set()
        )
        return [concept.name for concept in proven if not remaining_ids & set(concept.found_in)]


def _with_cache(section: Section) -> Section:
    """Return a section that caches the text of each record, because similar tasks have the same hits."""
    texts: dict[str, RecordText] = {}

    def text(record: Any) -> RecordText:
        if record.id not in texts:
            texts[record.id] = section.text(record)
        return texts[record.id]

    return Section(section.heading, text)


def sample_evenly(values: Sequence[Any], limit: int) -> list[Any]:
    """Return at most `limit` values, evenly spaced, in their order."""
    n_sampled = min(limit, len(values))
    return [values[index * len(values) // n_sampled] for index in range(n_sampled)]


def _compute_loss(replacements: Mapping[str, str], replays: Sequence[Replay], tasks: RecordTasks) -> CurationLoss:
    """Return the loss over the replayed tasks. The caller has to correct the counts if these are only a sample."""
    lost_records = _lost_records(replacements, replays, tasks)
    right_hits = [(_right_ids(replay.before.hits, replay, tasks), replay.after.hits) for replay in replays]
    right_in_blocks = [(_right_ids(replay.before.shown, replay, tasks), replay.after.shown) for replay in replays]
    return CurationLoss(
        n_removed=len(replacements),
        n_sampled=len(replacements),
        n_known=len(replays),
        n_tasks=len(replays),
        n_losing=sum(len(record_tasks) for _, record_tasks in lost_records),
        lost=tuple(
            LostRecord(id=record.id, title=_title(record), tasks=tuple(dict.fromkeys(record_tasks)))
            for record, record_tasks in lost_records
        ),
        n_in_hits=sum(len(ids) for ids, _ in right_hits),
        n_lost_from_hits=sum(_count_lost(ids, remaining_ids, replacements) for ids, remaining_ids in right_hits),
        n_in_blocks=sum(len(ids) for ids, _ in right_in_blocks),
        n_lost_from_blocks=sum(_count_lost(ids, remaining_ids, replacements) for ids, remaining_ids in right_in_blocks),
        words=tuple(sorted({word for replay in replays for word in _lost_words(replay)})),
        conditions=tuple(dict.fromkeys(condition for replay in replays for condition in _lost_conditions(replay))),
    )


def _lost_records(
    replacements: Mapping[str, str], replays: Sequence[Replay], tasks: RecordTasks
) -> list[tuple[Any, list[str]]]:
    """Return the removed records that are the best hits of tasks, each with the descriptions of these tasks.

    The best record comes first. If a task loses several equally good hits, only the one that is best for most tasks is
    returned, so that few records have to be kept.
    """
    records: dict[str, Any] = {}
    losing_tasks: list[tuple[str, list[str]]] = []
    for replay in replays:
        right_records = [replay.before.hits[record_id] for record_id in _right_ids(replay.before.hits, replay, tasks)]
        best_record = max(right_records, key=worth, default=None)
        if (
            best_record is not None
            and best_record.id in replacements
            and not _is_replaced(best_record, replay, replacements, tasks)
        ):
            equally_good = {
                record.id: record
                for record in right_records
                if record.id in replacements and worth(record) == worth(best_record)
            }
            records |= equally_good
            losing_tasks.append((replay.task.description, [*equally_good]))
    lost_records: list[tuple[Any, list[str]]] = []
    while losing_tasks:
        n_tasks_by_record = Counter(chain.from_iterable(ids for _, ids in losing_tasks))
        chosen_id = max(n_tasks_by_record, key=n_tasks_by_record.__getitem__)
        lost_records.append(
            (records[chosen_id], [description for description, ids in losing_tasks if chosen_id in ids])
        )
        losing_tasks = [(description, ids) for description, ids in losing_tasks if chosen_id not in ids]
    return sorted(lost_records, key=lambda pair: (-worth(pair[0]), -len(pair[1]), pair[0].id))


def _right_ids(ids: Iterable[str], replay: Replay, tasks: RecordTasks) -> list[str]:
    """Return the ids of hits that are right for the replayed task."""
    return [
        record_id for record_id in ids if record_id in replay.before.hits and tasks.is_right(record_id, replay.task)
    ]


def _count_lost(ids: Sequence[str], remaining_ids: Collection[str], replacements: Mapping[str, str]) -> int:
    """Return the number of lost records, which neither remain nor are merged into a remaining record."""
    return sum(
        record_id not in remaining_ids and replacements.get(record_id, "") not in remaining_ids for record_id in ids
    )


def _lost_words(replay: Replay) -> set[str]:
    return _distinct_words(replay.before.texts) - _distinct_words(replay.after.texts)


def _lost_conditions(replay: Replay) -> list[str]:
    remaining_conditions = set(_conditions(replay.after.texts))
    return [condition for condition in _conditions(replay.before.texts) if condition not in remaining_conditions]


def _is_replaced(lost_record: Any, replay: Replay, replacements: Mapping[str, str], tasks: RecordTasks) -> bool:
    """Return whether a hit as good as a lost record remains: a right one, or the one that it is merged into."""
    return any(
        worth(record) >= worth(lost_record)
        and (record_id == replacements[lost_record.id] or tasks.is_right(record_id, replay.task))
        for record_id, record in replay.after.hits.items()
    )


def _title(record: Any) -> str:
    text = record.task.description if isinstance(record, Experience) else record._caption()
    return shortened(" ".join(text.split()), TITLE_CHARACTERS)


def _distinct_words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text.lower())} - FUNCTION_WORDS


def _conditions(texts: Iterable[str]) -> list[str]:
    """Return the sentences of texts that state a condition."""
    sentences = (" ".join(sentence.split()) for text in texts for sentence in _SENTENCE_END.split(text))
    return [sentence for sentence in sentences if _CONDITION.search(sentence)]
