"""All memories of a store that another process serves, behind one object."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict
from types import TracebackType
from typing import Any
from urllib.parse import quote

from atlas.core.codec import encode_trajectory
from atlas.core.operations import ANY_OPERATION, Operation, Operations
from atlas.core.types import CodeConcept, Experience, JournalEntry, Outcome, Strategy, Task, Trajectory
from atlas.infra.twin import twin
from atlas.memory.context import BUDGET_TOKENS, EACH, ContextBlock
from atlas.remote.http import Server, value_of
from atlas.remote.records import RemoteConcepts, RemoteJournal, RemoteRecords, RemoteStrategies

TIMEOUT_SECONDS = 60.0


class RemoteMemory:
    """The memory of a server, with the methods of one that is open here as far as the server offers them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.experience = RemoteRecords(server, "experience", Experience)
        self.concepts = RemoteConcepts(server, "concepts", CodeConcept)
        self.strategies = RemoteStrategies(server, "strategies", Strategy)
        self.journal = RemoteJournal(server, "journal", JournalEntry)

    def build_context(
        self,
        task: Task,
        budget_tokens: int = BUDGET_TOKENS,
        k: int = EACH,
        *,
        threshold: float | None = None,
        distinct: bool = False,
        diversity: float = 0.0,
    ) -> ContextBlock:
        """Return the part of a prompt that tells an agent what is remembered for a task, within a budget.

        What it shows counts as used by the next attempt at the task that is stored with the same key.
        """
        body = {
            "task": encode_trajectory(Trajectory(task, (), Outcome(None)))["task"],
            "budget_tokens": budget_tokens,
            "k": k,
            "threshold": threshold,
            "distinct": distinct,
            "diversity": diversity,
        }
        block: ContextBlock = self._server.ask("POST", "context", ContextBlock, body=body)
        return block

    abuild_context = twin(build_context)

    def store(self, trajectory: Trajectory) -> dict[str, Any]:
        """Remember an attempt, and count its outcome for what it used. Sent twice, it is stored once."""
        body = encode_trajectory(trajectory)
        headers = {"Idempotency-Key": hashlib.sha256(trajectory.id.encode(errors="surrogatepass")).hexdigest()}
        stored: dict[str, Any] = self._server.ask("POST", "attempts", dict[str, Any], body=body, headers=headers)
        return {name: value for name, value in stored.items() if value}

    astore = twin(store)

    def history(self, limit: int = 50, offset: int = 0, *, wanted: Operations = ANY_OPERATION) -> list[Operation]:
        """Return operations, newest first."""
        asked = {name: value for name, value in asdict(wanted).items() if value} | {"limit": limit, "offset": offset}
        told: dict[str, Any] = self._server.ask("GET", "operations", dict[str, Any], query=asked)
        operations: list[Operation] = value_of(list[Operation], told["operations"])
        return operations

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Take an operation back, exactly. Undoing that one does it again."""
        path = f"operations/{quote(operation_id, safe='')}/undo"
        undone: Operation = self._server.ask("POST", path, Operation, body={"reason": reason})
        return undone

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
    """Return the memory that a server of ATLAS holds.

    Args:
        address: Such as `http://memory.example:8501`. `ATLAS_STORE` where it is None.
        key: A key of that server. `ATLAS_KEY` where it is None. A server of yours on this machine needs none.
        timeout_seconds: Longest wait for an answer.

    Raises:
        InvalidInput: The address is none of a server.
    """
    given = os.environ.get("ATLAS_STORE", "") if address is None else address
    return RemoteMemory(Server(given, os.environ.get("ATLAS_KEY", "") if key is None else key, timeout_seconds))
