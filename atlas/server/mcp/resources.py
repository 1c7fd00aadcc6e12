"""Resources and prompts: what a person attaches to a conversation, or begins one with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas.server.mcp.ids import MEMORIES, place_of
from atlas.server.mcp.reading import history, whole

if TYPE_CHECKING:
    from atlas.memory.system import MemorySystem

RESOURCE_CHARACTERS = 200_000


def overview(memory: MemorySystem) -> str:
    """Return how much the memory holds, and what was done to it lately."""
    held = "\n".join(f"- {name}: {getattr(memory, name).count():,}" for name in MEMORIES)
    return f"# ATLAS memory\n\n{held}\n\n## Lately\n\n{history(memory, 10)}"


def record(memory: MemorySystem, name: str, id: str) -> str:
    """Return one record whole, of `experience`, `strategies`, `concepts` or `journal`, by the beginning of its id."""
    place = place_of(memory, id, among=[name])
    return whole(place, RESOURCE_CHARACTERS)


def before_task(task: str) -> str:
    """Begin a task with what is remembered for it."""
    return (
        f"Your task: {task}\n\nBefore you begin, call `recall` with this task. Use what it tells where it fits, and "
        "say which of it you rely on, by its id."
    )


def after_task() -> str:
    """End a task by saying how it went."""
    return (
        "The task is over. Call `store_attempt` with the task, the steps that mattered, whether it succeeded (null if "
        "you cannot tell), what came out, and the ids from `recall` that you relied on. If you learned what to do in "
        "a kind of situation, call `add_strategy` too."
    )
