"""A toolset for pydantic-ai.

agent = Agent("openai:gpt-5", toolsets=[memory_toolset(memory)])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atlas.integrations.tools import MemoryTools
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory

if TYPE_CHECKING:
    from pydantic_ai import FunctionToolset


def memory_toolset(
    memory: MemorySystem | RemoteMemory, *, agent_id: str = "", scope: Mapping[str, str] | None = None
) -> FunctionToolset[Any]:
    """Return a toolset with `recall`, `search`, `store_attempt` and `note`. See `MemoryTools`."""
    from pydantic_ai import FunctionToolset  # late: it takes seconds

    return FunctionToolset(MemoryTools(memory, agent_id=agent_id, scope=scope).functions(), id="atlas-memory")
