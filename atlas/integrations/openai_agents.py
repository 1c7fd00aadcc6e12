"""A session and tools for the OpenAI Agents SDK.

agent = Agent(name="clerk", tools=memory_tools(memory))
await Runner.run(agent, "a question", session=AtlasSession(memory, "conversation-1"))
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atlas.core.filters import scope_metadata
from atlas.core.types import JournalEntry
from atlas.infra.bridge import in_thread
from atlas.integrations.tools import MemoryTools
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Where
from atlas.remote.system import RemoteMemory
from atlas.storage.records import IS_NOT_QUARANTINED

if TYPE_CHECKING:
    from agents import FunctionTool

ENTRY_TYPE = "message"
ITEM = "item"
"""Metadata key of an entry with the item of the session."""


def memory_tools(
    memory: MemorySystem | RemoteMemory, *, agent_id: str = "", scope: Mapping[str, str] | None = None
) -> list[FunctionTool]:
    """Return the tools `recall`, `search`, `store_attempt` and `note`, with strict schemas. See `MemoryTools`."""
    from agents import function_tool  # late: it takes seconds, and a session does not need it

    return [function_tool(function) for function in MemoryTools(memory, agent_id=agent_id, scope=scope).functions()]


class AtlasSession:
    """A session of the OpenAI Agents SDK. The items are journal entries, whose scope `session` is the session's id.

    Entries in quarantine are left out.
    """

    def __init__(
        self, memory: MemorySystem | RemoteMemory, session_id: str, *, scope: Mapping[str, str] | None = None
    ) -> None:
        """Open a session, new or with items from earlier.

        Args:
            scope: Further scope of the session's items, such as `{"user": "ann"}`.
        """
        self.session_id = session_id
        self.session_settings: Any = None
        """Settings of the SDK, whose `limit` is the number of latest items that a run reads."""

        self._journal = memory.journal
        self._scope = scope_metadata({**(scope or {}), "session": session_id})

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the latest items, oldest first.

        Args:
            limit: Maximum number of items. None for the limit in the session's settings, or else for all.
        """
        number = limit if limit is not None else getattr(self.session_settings, "limit", None)
        return [entry.metadata[ITEM] for entry in await in_thread(self._latest, number)]

    async def add_items(self, items: list[Any]) -> None:
        """Add items as one operation."""
        entries = [
            JournalEntry(
                entry_type=ENTRY_TYPE,
                content=_text(item) or json.dumps(item, ensure_ascii=False),
                generation=0,
                metadata={**self._scope, ITEM: dict(item)},
            )
            for item in items
        ]
        if entries:
            await in_thread(self._journal.add_entries, entries)

    async def pop_item(self) -> Any:
        """Remove and return the latest item, or None if there is none. Concurrent callers get different items."""
        return await in_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items. `undo` restores them."""
        if ids := await in_thread(self._journal.ids, self._where):
            await in_thread(self._journal.delete, ids)

    def _pop(self) -> Any:
        while ids := self._journal.ids(self._where):
            entry = self._journal.get(ids[-1])  # None if another caller has removed it since
            if entry is not None and self._journal.delete([entry.id]):  # 0 if another caller has
                return entry.metadata[ITEM]
        return None

    @property
    def _where(self) -> Where:
        return {"entry_type": ENTRY_TYPE, **IS_NOT_QUARANTINED, **self._scope}

    def _latest(self, number: int | None) -> list[JournalEntry]:
        ids = self._journal.ids(self._where)
        return self._journal.get_many(ids if number is None else ids[max(len(ids) - number, 0) :])


def _text(item: Mapping[str, Any]) -> str:
    """Return the text of a message or the output of a tool, or an empty string for another item."""
    content = item.get("content") or item.get("output") or ""
    if isinstance(content, str):
        return content.strip()
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "\n".join(text for text in parts if isinstance(text, str)).strip()
