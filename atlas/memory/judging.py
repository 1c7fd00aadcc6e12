"""Relevance judgements of hits, by people or agents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from atlas.core.errors import InvalidInput, NotFound
from atlas.infra.actor import refuse_under_review
from atlas.infra.twin import twin
from atlas.memory.query import AnyMemory
from atlas.storage.marks.judgements import Judgement
from atlas.storage.store import Store


class JudgementMixin(ABC):
    """Mixin of a memory system with relevance judgements."""

    @property
    @abstractmethod
    def storage(self) -> Store:
        """The store that the memories share."""

    @property
    @abstractmethod
    def _memories(self) -> Mapping[str, AnyMemory]:
        """The memories that exist, keyed by name."""

    def judge(self, query: str, record_id: str, right: bool | None, *, memory: str = "") -> None:
        """Store a judgement whether a query should find a record. `atlas evaluate` uses judgements.

        Args:
            query: The query, such as a task's description.
            record_id: The id of a hit.
            right: True if the query should find it, False if it should not, None to remove a judgement.
            memory: The memory of the record: `experience`, `concepts`, `strategies` or `journal`. Needed
                only if several memories have the id.

        Raises:
            NotFound: There is no such record. The judgement of a deleted record can still be removed.
            InvalidInput: The query is empty, there is no such memory, or several memories have the id.
            ReadOnlyStore: The store was opened for reading only.
            NotAllowed: The actor writes under review.
        """
        refuse_under_review("judge hits")
        collections = self._judged_collections(memory)
        if right is not None:
            collections = [name for name in collections if self.storage.collection(name).existing_ids([record_id])]
            if not collections:
                raise NotFound(f"there is no record {record_id!r} to judge; give the id of a hit")
            if len(collections) > 1:
                raise InvalidInput(f"several memories have a record {record_id!r}; name one with memory=…")
        for name in collections:
            self.storage.judgements.judge(query, name, record_id, is_right=right)

    ajudge = twin(judge)

    def judgements(self) -> list[Judgement]:
        """Return all judgements of records for queries, oldest first."""
        return self.storage.judgements.all()

    ajudgements = twin(judgements)

    def _judged_collections(self, memory: str) -> list[str]:
        names = {name: records.collection_name for name, records in self._memories.items() if records.collection_name}
        if memory and memory not in names:
            raise InvalidInput(f"expected one of {', '.join(names)} for the memory, got {memory!r}")
        return [names[memory]] if memory else list(names.values())
