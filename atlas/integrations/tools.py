"""Tools of a memory as plain functions. The parameters have closed types, as strict schemas require."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from atlas.core.filters import scope_metadata
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.core.unseen import shown_id
from atlas.infra.bridge import in_thread
from atlas.integrations.passages import find_passages
from atlas.memory.context.block import query_task
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory

NO_HITS_ANSWER = "Nothing is remembered that has to do with this."
BUDGET_TOKENS = 1_500
MAX_HITS = 8

EntryType = Literal["observation", "crash_log", "reflection", "directive", "task"]


@dataclass(frozen=True, slots=True)
class AttemptStep:
    """One step of an attempt. Each field may be empty."""

    thought: str
    action: str
    observation: str


class MemoryTools:
    """The tools `recall`, `search`, `store_attempt` and `note` for an agent, over one memory."""

    def __init__(
        self, memory: MemorySystem | RemoteMemory, *, agent_id: str = "", scope: Mapping[str, str] | None = None
    ) -> None:
        """Create the tools.

        Args:
            agent_id: Name of the agent in the attempts that it stores.
            scope: Scope of the records that are read and written, such as `{"project": "shop"}`.
        """
        self._memory, self._agent_id = memory, agent_id
        self._scope = scope_metadata(scope or {})

    def functions(self) -> list[Callable[..., Any]]:
        """Return the tools as async functions."""
        return [self.recall, self.search, self.store_attempt, self.note]

    async def recall(self, task: str) -> str:
        """Call before you begin a task: what earlier attempts, strategies, code and notes contain about it.

        Args:
            task: The task in full.
        """
        asked_task = query_task(task)
        block = await in_thread(lambda: self._memory.build_context(asked_task, BUDGET_TOKENS, where=self._scope))
        return block.text or NO_HITS_ANSWER

    async def search(self, query: str) -> str:
        """Call to search all memories.

        Args:
            query: A few words or a sentence.
        """
        passages = await in_thread(lambda: find_passages(self._memory, query, MAX_HITS, where=self._scope))
        return "\n".join(passage.text for passage in passages) or NO_HITS_ANSWER

    async def store_attempt(
        self, task: str, steps: list[AttemptStep], success: bool | None, solution: str, error: str
    ) -> str:
        """Call after a task, whether it went well or not.

        Args:
            task: The task, as you gave it to `recall`.
            steps: What you thought, did and saw. Name the ids of memories that you relied on.
            success: Null if you cannot tell.
            solution: The final answer, or empty.
            error: What went wrong, or empty.
        """
        attempt = Trajectory(
            task=Task("", "", task),
            steps=tuple(Step(step.thought, step.action, step.observation) for step in steps),
            outcome=Outcome(success, error_info=error or None),
            agent_id=self._agent_id,
            metadata={**self._scope, **({"solution": solution} if solution else {})},
        )
        stored = await in_thread(self._memory.store, attempt)
        problems = "".join(f" ({name}: {message})" for name, message in stored.get("errors", {}).items())
        return f"Stored as experience {shown_id(stored['experience'])}.{problems}"

    async def note(self, entry_type: EntryType, content: str) -> str:
        """Call to log an observation, a crash, a reflection, a directive or a task.

        Args:
            entry_type: Kind of the note.
            content: Its text.
        """
        journal = self._memory.journal
        entry_id = await in_thread(lambda: journal.add(entry_type, content, generation=0, metadata=self._scope))
        if not entry_id:
            return "Not noted: the journal refused it as noise or repetition."
        return f"Noted as {shown_id(entry_id)}."
