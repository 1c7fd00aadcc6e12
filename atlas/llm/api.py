"""The part of a language model's protocol that a client needs, whichever the protocol is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from atlas.llm.budget import TokenUsage

PATH_UNKNOWN = {404, 405, 501}
"""Statuses of a server that does not have an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The content of one request: a question, and if it was answered wrongly, that answer and why."""

    system: str
    prompt: str
    schema: Mapping[str, Any] | None
    max_tokens: int
    """Most tokens of the reply, thinking included."""

    answer: Any = None
    """The wrong answer: an object, or a string that is none."""

    fault: str = ""
    """The fault of that answer. Empty for a first question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's reply, as far as it went."""

    text: str = ""
    value: Any = None
    """The object of a structured answer that the protocol itself delivers as one, or None."""

    stopped: str = ""
    """Why it is not a whole answer, or empty."""

    usage: TokenUsage = field(default_factory=lambda: TokenUsage(n_calls=1))
    """Tokens, without their price."""


class ApiError(Exception):
    """A request that was not answered. The message is the server's."""

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None, is_timeout: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, or None if nothing answered."""

        self.retry_after = retry_after
        """Seconds after which the server wants to be asked again, or None."""

        self.is_timeout = is_timeout

    @property
    def is_about_model(self) -> bool:
        """True where the server has the address, but not the model."""
        return self.status in PATH_UNKNOWN and "model" in str(self).lower()

    @property
    def is_about_path(self) -> bool:
        """True where the server does not have the address."""
        return self.status in PATH_UNKNOWN and not self.is_about_model


class ModelApi(Protocol):
    """One protocol, spoken with one server."""

    name: str
    """Its value of ATLAS_LLM_API."""

    title: str
    """Its name for people."""

    key_variable: str
    """The variable of its key."""

    address: str
    """The server's, without a path of the protocol."""

    def send(self, exchange: Exchange, model: str, *, is_forced: bool, timeout_seconds: float) -> ModelReply:
        """Return the reply of a model.

        Args:
            exchange: The question.
            model: The server's name of the model.
            is_forced: Whether the protocol itself holds the model to the schema, rather than the instructions.
            timeout_seconds: Longest wait.

        Raises:
            ApiError: There is none.
        """
        ...

    def cannot_force(self, error: ApiError) -> bool:
        """Return whether a request failed because the server cannot hold a model to a schema."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
