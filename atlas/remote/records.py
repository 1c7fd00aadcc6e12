"""The records of one memory that another process serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import GenericAlias
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from atlas.core.errors import NotFound
from atlas.core.hits import Hit, Retrieval, limit_of_list
from atlas.core.operations import Marks, Usage, Use
from atlas.core.types import CodeConcept, JournalEntry, Link, Strategy
from atlas.infra.secrets import report
from atlas.infra.twin import twin
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.protocols.infra import Where
from atlas.remote.http import Server, value_of

T = TypeVar("T")


class RemoteRecords(Generic[T]):
    """One memory: found, read, marked, and how its uses went."""

    def __init__(self, server: Server, name: str, kind: type[T]) -> None:
        self._server = server
        self._name = name
        self._kind = kind
        self._retrieval = GenericAlias(Retrieval, (kind,))

    def retrieve(
        self,
        query: str,
        k: int = 4,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
    ) -> Retrieval[T]:
        """Return the records that have to do with a query, best first, as a memory that is open here does."""
        body = {
            "query": query,
            "k": k,
            "where": where,
            "threshold": threshold,
            "distinct": distinct,
            "diversity": diversity,
        }
        found: Retrieval[T] = self._server.ask("POST", f"{self._name}/search", self._retrieval, body=body)
        return found

    aretrieve = twin(retrieve)

    def search_hits(self, query: str, k: int = 4, *, where: Where | None = None) -> list[Hit[T]]:
        """Return the k best hits, however little they have to do with the query."""
        return self.retrieve(query, k, where=where, threshold=0.0).hits if limit_of_list(k) else []

    asearch_hits = twin(search_hits)

    def search_words(self, words: str, k: int = 20, *, where: Where | None = None) -> list[T]:
        """Return the records that hold any of these words, most telling first."""
        return [hit.item for hit in self.retrieve_words(words, k, where=where).hits] if limit_of_list(k) else []

    asearch_words = twin(search_words)

    def retrieve_words(self, query: str, k: int = 4, *, where: Where | None = None) -> Retrieval[T]:
        """Return the hits of `search_words` for a query. How relevant they are is not known."""
        body = {"query": query, "k": k, "where": where, "by_words": True}
        found: Retrieval[T] = self._server.ask("POST", f"{self._name}/search", self._retrieval, body=body)
        return found

    aretrieve_words = twin(retrieve_words)

    def get(self, record_id: str) -> T | None:
        """Return one of them, or None."""
        try:
            record: T = self._told(record_id)["record"]
        except NotFound:
            return None
        return record

    aget = twin(get)

    def marks(self, ids: Sequence[str]) -> dict[str, Marks]:
        """Return tags, pin and note of each record."""
        return {one: self._told(one)["marks"] for one in ids}

    amarks = twin(marks)

    def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """Return how often each record was retrieved and used, and how that went."""
        return {one: self._told(one)["usage"] for one in ids}

    ausage = twin(usage)

    def record_use(self, record_id: str, success: bool, *, task_id: str = "", trajectory_id: str = "") -> None:
        """Say how an attempt at a task went that this record was used for. An attempt counts once."""
        body = {"success": success, "task_id": task_id, "trajectory_id": trajectory_id}
        self._server.ask("POST", f"{self._path(record_id)}/uses", None, body=body)

    arecord_use = twin(record_use)

    def change_marks(
        self,
        ids: Sequence[str],
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        pinned: bool | None = None,
        buried: bool | None = None,
        note: str | None = None,
    ) -> int:
        """Change some marks of records as one operation. Return how many records changed."""
        body = {
            "ids": list(ids),
            "add_tags": list(add_tags),
            "remove_tags": list(remove_tags),
            "pinned": pinned,
            "buried": buried,
            "note": note,
        }
        n_changed: int = self._server.ask("POST", f"{self._name}/marks", int, body=body)
        return n_changed

    achange_marks = twin(change_marks)

    def _told(self, record_id: str, *, also: str = "") -> dict[str, Any]:
        """Return a record with its marks and usage, and what else is asked for."""
        told: dict[str, Any] = self._server.ask(
            "GET", self._path(record_id), dict[str, Any], query={"with": also} if also else None
        )
        kinds = {
            "record": self._kind,
            "marks": Marks,
            "usage": Usage,
            "uses": list[Use] | None,
            "rate": StrategyRate | None,
        }
        return {name: value_of(kind, told[name]) for name, kind in kinds.items()}

    def _path(self, record_id: str) -> str:
        return f"{self._name}/{quote(record_id, safe='')}"


class RemoteConcepts(RemoteRecords[CodeConcept]):
    """The concept library."""

    def add(self, concept: CodeConcept) -> str:
        """Add a concept, and return its id."""
        body = {name: value for name, value in asdict(concept).items() if name in _CONCEPT_FIELDS}
        added: str = self._server.ask("POST", self._name, str, body=body)
        return added

    aadd = twin(add)


class RemoteStrategies(RemoteRecords[Strategy]):
    """The strategy bank."""

    def add(self, strategy: Strategy) -> str:
        """Add a strategy, and return its id."""
        body = {name: value for name, value in asdict(strategy).items() if name in _STRATEGY_FIELDS}
        added: str = self._server.ask("POST", self._name, str, body=body)
        return added

    aadd = twin(add)

    def rate(self, strategy_id: str) -> StrategyRate:
        """Return how well a strategy works, on how many tries, and how sure that is."""
        rate: StrategyRate = self._told(strategy_id, also="rate")["rate"]
        return rate

    arate = twin(rate)

    def attempts(self, strategy_id: str) -> list[Use]:
        """Return every attempt that a strategy was used for, oldest first."""
        uses: list[Use] = self._told(strategy_id, also="uses")["uses"]
        return uses

    aattempts = twin(attempts)


class RemoteJournal(RemoteRecords[JournalEntry]):
    """The agent's notes."""

    def add(
        self,
        entry_type: str,
        content: str,
        *,
        generation: int,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        links: Sequence[Link | tuple[str, str]] = (),
    ) -> str | None:
        """Write an entry. Return its id, or None where a gate kept it out."""
        pairs = [(link.type, link.target_id) if isinstance(link, Link) else link for link in links]
        body = {
            "entry_type": entry_type,
            "content": content,
            "generation": generation,
            "importance": importance,
            "metadata": dict(metadata or {}),
            "links": pairs,
        }
        answer = self._server.ask("POST", self._name, dict[str, Any], body=body)
        report(answer.get("scrubbed", {}))
        added: str | None = answer["id"]
        return added

    aadd = twin(add)


_CONCEPT_FIELDS = (
    "id",
    "name",
    "description",
    "code",
    "signature",
    "examples",
    "language",
    "guidance",
    "metadata",
)
_STRATEGY_FIELDS = ("id", "title", "situation", "suggestion", "parameters", "rationale", "sources", "metadata")
