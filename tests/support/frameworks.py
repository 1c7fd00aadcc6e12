"""Interfaces of frameworks that are not installed for development, as their packages have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, create_model


@runtime_checkable
class Session(Protocol):
    """`agents.Session` of openai-agents 0.24."""

    session_id: str
    session_settings: Any

    async def get_items(self, limit: int | None = None) -> list[Any]: ...

    async def add_items(self, items: list[Any]) -> None: ...

    async def pop_item(self) -> Any: ...

    async def clear_session(self) -> None: ...


def build_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON schema of a function's arguments, as frameworks make it: with pydantic, from the annotations."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default) for each in parameters
    }
    return TypeAdapter(create_model(function.__name__, **fields)).json_schema()
