"""MCP resources and prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas.memory.kinds.table import searchable_kinds
from atlas.server.mcp.ids import find_record
from atlas.server.mcp.reading import history, record_json

if TYPE_CHECKING:
    from atlas.memory.system import MemorySystem

RESOURCE_CHARACTERS = 200_000


def overview(memory: MemorySystem) -> str:
    """Return the size of the memory, and the latest operations."""
    counts = "\n".join(f"- {name}: {kind.records(memory).count():,}" for name, kind in searchable_kinds().items())
    return f"# ATLAS memory\n\n{counts}\n\n## Lately\n\n{history(memory, 10)}"


def record(memory: MemorySystem, name: str, id: str) -> str:
    """Return one record in full. `name` is its memory, such as `experience`, and `id` the beginning of its id."""
    reference = find_record(memory, id, name)
    return record_json(reference, RESOURCE_CHARACTERS)


def before_task(task: str) -> str:
    """Begin a task with the memories about it."""
    return (
        f"Your task: {task}\n\nBefore you begin, call `recall` with this task. Use what it tells where it fits, and "
        "say which of it you rely on, by its id."
    )


def after_task() -> str:
    """End a task by reporting its outcome."""
    return (
        "The task is over. Call `store_attempt` with the task, the steps that mattered, whether it succeeded (null if "
        "you cannot tell), what came out, and the ids from `recall` that you relied on. If you learned what to do in "
        "a kind of situation, call `add_strategy` too."
    )
