"""The types of autogen-core 0.7.5 that an adapter needs, which is not installed for development."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import pytest


@dataclass(kw_only=True)
class MemoryContent:
    content: Any
    mime_type: str
    metadata: dict[str, Any] | None = None


@dataclass(kw_only=True)
class MemoryQueryResult:
    results: list[MemoryContent]


@dataclass(kw_only=True)
class UpdateContextResult:
    memories: MemoryQueryResult


@dataclass(kw_only=True)
class SystemMessage:
    content: str
    type: str = "SystemMessage"


@dataclass(kw_only=True)
class UserMessage:
    content: str | list[Any]
    source: str = "user"
    type: str = "UserMessage"


@dataclass
class ModelContext:
    """A context of a model, as an agent hands it to its memories."""

    messages: list[Any] = field(default_factory=list)

    async def add_message(self, message: Any) -> None:
        self.messages.append(message)

    async def get_messages(self) -> Sequence[Any]:
        return list(self.messages)


@runtime_checkable
class Memory(Protocol):
    """The abstract methods of `autogen_core.memory.Memory`."""

    component_type: str

    async def update_context(self, model_context: Any) -> Any: ...

    async def query(self, query: Any, cancellation_token: Any = None, **kwargs: Any) -> Any: ...

    async def add(self, content: Any, cancellation_token: Any = None) -> None: ...

    async def clear(self) -> None: ...

    async def close(self) -> None: ...


def parameters_of(owner: Any, name: str) -> list[tuple[str, Any, Any]]:
    """The name, kind and default of each parameter of a method."""
    parameters = inspect.signature(getattr(owner, name)).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def put_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs import these types as those of `autogen_core`."""
    package, memory, models = (ModuleType(f"autogen_core{part}") for part in ("", ".memory", ".models"))
    vars(memory).update(
        MemoryContent=MemoryContent, MemoryQueryResult=MemoryQueryResult, UpdateContextResult=UpdateContextResult
    )
    vars(models).update(SystemMessage=SystemMessage, UserMessage=UserMessage)
    for module in (package, memory, models):
        monkeypatch.setitem(sys.modules, module.__name__, module)
