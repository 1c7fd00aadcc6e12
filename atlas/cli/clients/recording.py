"""Storage of a client's session after each turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from atlas.cli.common import open_or_connect
from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedExperience
from atlas.core.settings import Settings, bulk_settings
from atlas.core.types import Experience
from atlas.importers.fields import as_instant, drop_missing
from atlas.importers.formats.agents.sessions import Request
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.logs import LogOptions, prepare
from atlas.importers.rows import Item
from atlas.importers.run import AddCount, import_paths
from atlas.memory.experience.extraction import to_trajectory
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory


def record(client: str, event: Mapping[str, Any], scope: Mapping[str, str], settings: Settings) -> None:
    """Store the attempts of an event's session.

    Attempts that are stored already are only updated if the session continued them.

    Raises:
        InvalidInput: The event has neither a readable transcript nor an answer.
    """
    with open_or_connect(bulk_settings(settings), create=True) as memory:
        sink = SessionSink(memory, f"a session of {client}", scope)
        path = event.get("transcript_path")
        if client == "gemini-cli" and not (isinstance(path, str) and Path(path).is_file()):
            sink.add(_turn(client, event), client)  # Gemini CLI records no sessions
            return
        if not isinstance(path, str) or not path:
            raise InvalidInput(f"expected a file for transcript_path, got {path!r:.80}")
        import_paths(sink, [Path(path)], format=client, settings=settings)


def _turn(client: str, event: Mapping[str, Any]) -> list[Item]:
    """Return the prompt and the answer in an event as an attempt without intermediate steps."""
    prompt, response, session = (event.get(name) for name in ("prompt", "prompt_response", "session_id"))
    if not (isinstance(prompt, str) and isinstance(response, str) and prompt.strip() and response.strip()):
        raise InvalidInput(
            f"expected texts for prompt and prompt_response in the event, got {prompt!r:.80} and {response!r:.80}"
        )
    request = Request(
        source=client,
        text=prompt,
        position=1,
        session=str(session),
        key=str(session),
        context=drop_missing(directory=event.get("cwd")),
        ended_at=as_instant(event.get("timestamp"), "timestamp"),
        messages=[Message(role=AGENT, text=response)],
    )
    return prepare(request.attempt(), LogOptions(), Counter())


class SessionSink:
    """A sink that adds new attempts, and extends stored attempts by later steps of the same session."""

    def __init__(self, memory: MemorySystem | RemoteMemory, reason: str, scope: Mapping[str, str]) -> None:
        self._memory = memory
        self._reason = reason
        self._scope = dict(scope)

    def add(self, items: list[Item], source: str) -> AddCount:
        """Store a batch of attempts."""
        n_new = 0
        for item in items:
            if not isinstance(item, ExportedExperience):
                raise InvalidInput(f"expected attempts in a session, got a {type(item).__name__}")
            experience = item.experience
            scoped = replace(experience, metadata={**experience.metadata, **self._scope})
            n_new += self._store(replace(item, experience=scoped))
        return AddCount(added={"experience": n_new}, skipped=len(items) - n_new)

    def _store(self, item: ExportedExperience) -> bool:
        """Store or update an attempt, and return whether it is new."""
        attempt = item.experience
        ids = self._memory.experience.ids({"trajectory_id": attempt.trajectory_id})
        if not ids:
            return self._store_new(item)
        before = self._memory.experience.get(ids[0])
        if before is not None and _is_continued(before, attempt):
            self._memory.experience.edit(
                before.id,
                steps=attempt.steps,
                solution_output=attempt.solution_output,
                metadata={**before.metadata, **attempt.metadata},
            )
        return False

    def _store_new(self, item: ExportedExperience) -> bool:
        """Store an attempt and return True, or return False if it was deleted before or the server has it already."""
        if isinstance(self._memory, MemorySystem):
            if self._is_deleted(item.experience.id, self._memory):
                return False
            return bool(self._memory.experience.as_operation("store", self._reason).restore_many([item]))
        return not self._memory.store_once(to_trajectory(item.experience)).get("is_known")

    @staticmethod
    def _is_deleted(experience_id: str, memory: MemorySystem) -> bool:
        collection = memory.experience.collection_name
        return bool(memory.storage.ledger.ids_with_prefix(collection, experience_id, deleted=True))


def _is_continued(before: Experience, attempt: Experience) -> bool:
    """Return whether an attempt continues the stored one: by more steps, or by another answer after as many steps."""
    if len(attempt.steps) != len(before.steps):
        return len(attempt.steps) > len(before.steps)
    return attempt.solution_output != before.solution_output
