"""A memory for AutoGen: it adds memories before each answer of an agent, and stores the agent's entries in the journal.

agent = AssistantAgent("clerk", model_client=client, memory=[AtlasMemory(memory)])
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from atlas.core.errors import InvalidInput
from atlas.core.filters import METADATA, scope_metadata
from atlas.core.types import JournalEntry
from atlas.infra.bridge import in_thread
from atlas.memory.context.block import query_task
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Where
from atlas.remote.system import RemoteMemory
from atlas.storage.records import IS_NOT_QUARANTINED

if TYPE_CHECKING:
    from autogen_core.memory import MemoryContent, MemoryQueryResult, UpdateContextResult

ENTRY_TYPE = "observation"
ADDED_BY = "autogen"
"""Source in the metadata of the entries that `clear` deletes."""

BUDGET_TOKENS = 1_000


class AtlasMemory:
    """A memory with the methods of `autogen_core.memory.Memory`, over all memories of a system."""

    component_type = "memory"

    def __init__(
        self,
        memory: MemorySystem | RemoteMemory,
        *,
        budget_tokens: int = BUDGET_TOKENS,
        scope: Mapping[str, str] | None = None,
    ) -> None:
        """Wrap a memory system for autogen.

        Args:
            budget_tokens: Maximum number of tokens of recalled memories.
            scope: Scope of the records that are read and written, such as `{"project": "shop"}`.
        """
        self._memory, self._budget_tokens = memory, budget_tokens
        self._scope = scope_metadata(scope or {})

    async def update_context(self, model_context: Any) -> UpdateContextResult:
        """Add the context block for the user's last message to a context, as a system message."""
        from autogen_core.memory import UpdateContextResult
        from autogen_core.models import SystemMessage

        recalled = await self.query(_last_request(await model_context.get_messages()))
        for content in recalled.results:
            await model_context.add_message(SystemMessage(content=str(content.content)))
        return UpdateContextResult(memories=recalled)

    async def query(
        self, query: str | MemoryContent, cancellation_token: Any = None, **kwargs: Any
    ) -> MemoryQueryResult:
        """Return the context block for a query as the only result, or no result if the block is empty."""
        from autogen_core.memory import MemoryContent, MemoryQueryResult

        text = query if isinstance(query, str) else _text(query)
        if not text.strip():
            return MemoryQueryResult(results=[])
        task = query_task(text)
        block = await in_thread(lambda: self._memory.build_context(task, self._budget_tokens, where=self._scope))
        contents = [MemoryContent(content=block.text, mime_type="text/markdown")] if block.text else []
        return MemoryQueryResult(results=contents)

    async def add(self, content: MemoryContent, cancellation_token: Any = None) -> None:
        """Write a text, or a JSON value, as an entry of the journal.

        Raises:
            InvalidInput: The content is an image or bytes.
        """
        entry = JournalEntry(
            entry_type=ENTRY_TYPE,
            content=_text(content),
            generation=0,
            metadata={**(content.metadata or {}), **self._scope, "source": ADDED_BY},
        )
        await in_thread(self._memory.journal.add_entries, [entry])

    async def clear(self) -> None:
        """Delete the journal's entries that were added in this scope. `undo` restores them."""
        where: Where = {
            "entry_type": ENTRY_TYPE,
            f"{METADATA}source": ADDED_BY,
            **IS_NOT_QUARANTINED,
            **self._scope,
        }
        if ids := await in_thread(self._memory.journal.ids, where):
            await in_thread(self._memory.journal.delete, ids)

    async def close(self) -> None:
        """Do nothing, because the caller that opened the memory closes it."""


def _last_request(messages: Sequence[Any]) -> str:
    """Return the text of the user's last message, or an empty string."""
    contents = [message.content for message in messages if message.type == "UserMessage"]
    parts = contents[-1] if contents else ""
    if isinstance(parts, str):
        return parts
    return "\n".join(part for part in parts if isinstance(part, str))


def _text(content: MemoryContent) -> str:
    value = content.content
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        raise InvalidInput(
            f"expected a text or a dictionary to remember, got type {type(value).__name__}; describe it in words"
        )
    return value
