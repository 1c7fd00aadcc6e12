"""Clients of `anthropic` and `openai` that recall memories before a request, and store the answer.

client = with_memory(anthropic.Anthropic(), memory)
client.messages.create(...)
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from atlas.core.errors import InvalidInput
from atlas.core.filters import scope_metadata
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.infra.bridge import in_thread
from atlas.integrations.conversation import answer_of, last_task, messages_of, steps_of
from atlas.memory.system import MemorySystem
from atlas.remote.system import RemoteMemory

logger = logging.getLogger(__name__)

C = TypeVar("C")

Judge = Callable[[str], bool | None]
"""Function that returns the success of an answer, or None if it is unknown."""

RESOURCES: Mapping[tuple[str, ...], str] = {
    ("messages",): "system",
    ("chat", "completions"): "messages",
    ("responses",): "instructions",
}
"""Resources of the clients, each with the argument of `create` to which the context block is added."""


def with_memory(
    client: C,
    memory: MemorySystem | RemoteMemory,
    *,
    judge: Judge | None = None,
    agent_id: str = "",
    scope: Mapping[str, str] | None = None,
) -> C:
    """Add memory to a client: replace its `create` methods, sync or async, and return the client.

    Each call gets the context block for the user's last message. A response without tool calls ends an attempt, which
    is stored with the earlier tool calls as its steps. Streamed answers are not stored. If the memory fails, the call
    continues without it, and the reason is logged.

    Args:
        judge: Function that returns whether an answer is right. Without it, outcomes are unknown.
        agent_id: Name of the agent in the attempts.
        scope: Scope of the records that are read and written, such as `{"project": "shop"}`.

    Raises:
        InvalidInput: The client has none of these methods.
    """
    recorder = _Recorder(memory, judge, agent_id, scope_metadata(scope or {}))
    resources = [(resource, name) for path, name in RESOURCES.items() if (resource := _find_resource(client, path))]
    if not resources:
        raise InvalidInput(f"expected a client of anthropic or openai, got {type(client).__name__}")
    for resource, name in resources:
        resource.create = recorder.wrap(resource.create, name)
    return client


def _find_resource(client: Any, path: Sequence[str]) -> Any:
    for name in path:
        client = getattr(client, name, None)
    return client if hasattr(client, "create") else None


@dataclass(frozen=True, slots=True)
class _Recorder:
    memory: MemorySystem | RemoteMemory
    judge: Judge | None
    agent_id: str
    scope: Mapping[str, str]

    def wrap(self, create: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a wrapper of `create` that adds the context block to the prompt, and stores the attempt.

        Args:
            name: Name of the argument to which the context block is added.
        """
        if inspect.iscoroutinefunction(inspect.unwrap(create)):

            @wraps(create)
            async def acreate(**arguments: Any) -> Any:
                response = await create(**await in_thread(self.with_context, arguments, name))
                await in_thread(self.store, arguments, response)
                return response

            return acreate

        @wraps(create)
        def create_once(**arguments: Any) -> Any:
            response = create(**self.with_context(arguments, name))
            self.store(arguments, response)
            return response

        return create_once

    def with_context(self, arguments: dict[str, Any], argument_name: str) -> dict[str, Any]:
        """Return a call's arguments, with the context block for its task added to the argument `argument_name`."""
        if not (task := last_task(messages_of(arguments))):
            return arguments
        try:
            text = self.memory.build_context(Task("", "", task), where=self.scope).text
        except Exception as error:  # noqa: BLE001 - whatever it is, the call can go on without
            logger.error("nothing was recalled for a call: %s", error)
            return arguments
        if not text:
            return arguments
        return {**arguments, argument_name: _add_text(arguments.get(argument_name), text, argument_name)}

    def store(self, arguments: dict[str, Any], response: Any) -> None:
        """Store the attempt if the response ends it, as a response without tool calls does."""
        try:
            messages, answer = messages_of(arguments), answer_of(response)
            if (task := last_task(messages)) and answer and not arguments.get("stream"):
                self.memory.store(self._attempt(task, steps_of(messages), answer, str(arguments.get("model", ""))))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller's response comes first
            logger.error("an answer was not stored: %s", error)

    def _attempt(self, task: str, steps: Sequence[Step], answer: str, model: str) -> Trajectory:
        outcome = Outcome(self.judge(answer) if self.judge is not None else None)
        metadata = {**self.scope, "solution": answer, "model": model}
        return Trajectory(Task("", "", task), tuple(steps), outcome, self.agent_id, metadata=metadata)


def _add_text(argument: Any, text: str, name: str) -> Any:
    """Return a prompt with a text added: to messages as a first system message, to other prompts at the end."""
    if name == "messages":
        return [{"role": "system", "content": text}, *argument]
    if isinstance(argument, str):
        return f"{argument}\n\n{text}"
    return [*argument, {"type": "text", "text": text}] if isinstance(argument, Sequence) else text
