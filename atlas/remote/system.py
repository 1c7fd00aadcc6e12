"""The memory system of a server, as one object."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, cast

from atlas.core.hits import MemoryQueryResult
from atlas.core.types import Task
from atlas.infra.bridge import in_thread
from atlas.memory.concepts.memory import ChromaConceptLibrary
from atlas.memory.experience.memory import ChromaExperienceMemory
from atlas.memory.journal import Journal
from atlas.memory.strategies.memory import ChromaStrategyBank
from atlas.protocols.infra import Where
from atlas.remote.http import Server
from atlas.remote.verbs import Remote, add_verbs
from atlas.verbs.table import CONCEPTS, EXPERIENCE, JOURNAL, STRATEGIES, SYSTEM

if TYPE_CHECKING:
    from atlas.memory.system import MemorySystemImpl as Verbs  # the verbs copy its signatures
else:
    Verbs = object

TIMEOUT_SECONDS = 60.0


@add_verbs
class RemoteExperience(Remote):
    """The experience memory of an ATLAS server."""

    owner = EXPERIENCE


@add_verbs
class RemoteStrategies(Remote):
    """The strategy bank of an ATLAS server."""

    owner = STRATEGIES


@add_verbs
class RemoteConcepts(Remote):
    """The concept library of an ATLAS server."""

    owner = CONCEPTS


@add_verbs
class RemoteJournal(Remote):
    """The journal of an ATLAS server."""

    owner = JOURNAL


@add_verbs
class RemoteMemory(Remote, Verbs):
    """The memory system of an ATLAS server, with the verbs of a local one."""

    owner = SYSTEM
    experience: ChromaExperienceMemory
    strategies: ChromaStrategyBank
    concepts: ChromaConceptLibrary
    journal: Journal

    def __init__(self, server: Server) -> None:
        Remote.__init__(self, server)
        self.experience = cast(ChromaExperienceMemory, RemoteExperience(server))
        self.strategies = cast(ChromaStrategyBank, RemoteStrategies(server))
        self.concepts = cast(ChromaConceptLibrary, RemoteConcepts(server))
        self.journal = cast(Journal, RemoteJournal(server))

    async def query(
        self,
        task: Task,
        k: int = 5,
        *,
        where: Where | None = None,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
        count_retrieval: bool = True,
        min_trust: str = "",
    ) -> MemoryQueryResult:
        """Return the hits of each memory for a task. See `MemorySystem.query`."""
        return await in_thread(
            self.query_sync,
            task,
            k,
            where=where,
            threshold=threshold,
            distinct=distinct,
            diversity=diversity,
            count_retrieval=count_retrieval,
            min_trust=min_trust,
        )

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def __enter__(self) -> RemoteMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(
    address: str | None = None, *, key: str | None = None, timeout_seconds: float = TIMEOUT_SECONDS
) -> RemoteMemory:
    """Return the memory of an ATLAS server.

    Args:
        address: URL such as `http://memory.example:8501`. By default `ATLAS_STORE`.
        key: API key of the server. By default `ATLAS_KEY`. Your own server on this machine needs no key.
        timeout_seconds: Timeout of a request.

    Raises:
        InvalidInput: The address is not a URL of a server.
    """
    server_address = os.environ.get("ATLAS_STORE", "") if address is None else address
    return RemoteMemory(
        Server(server_address, os.environ.get("ATLAS_KEY", "") if key is None else key, timeout_seconds)
    )
