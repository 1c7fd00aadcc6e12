"""The interface that every language model protocol implements for the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from atlas.llm.budget import TokenUsage

UNKNOWN_PATH_STATUSES = {404, 405, 501}
"""HTTP statuses for an unknown path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request to a model: a prompt and, for a correction, the rejected answer with the reason."""

    system: str
    prompt: str
    schema: Mapping[str, Any] | None
    max_tokens: int
    """Maximum tokens of the reply, including thinking."""

    answer: Any = None
    """The rejected answer: an object, or a string that could not be parsed."""

    fault: str = ""
    """Why the answer was rejected, or empty for a first request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's reply, possibly incomplete."""

    text: str = ""
    value: Any = None
    """The object of a structured answer if the protocol returns it parsed, or None."""

    stop_reason: str = ""
    """Why the reply is incomplete, or empty."""

    usage: TokenUsage = field(default_factory=lambda: TokenUsage(n_calls=1))
    """Token usage, without cost."""


class ApiError(Exception):
    """A failed request. The message comes from the server or, if it did not answer, from the connection."""

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None, is_timeout: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status, or None without a response."""

        self.retry_after = retry_after
        """Value of `retry-after` in seconds, or None."""

        self.is_timeout = is_timeout

    @property
    def is_about_model(self) -> bool:
        """True if the server knows the path, but not the model."""
        return self.status in UNKNOWN_PATH_STATUSES and "model" in str(self).lower()

    @property
    def is_about_path(self) -> bool:
        """True if the server does not know the path."""
        return self.status in UNKNOWN_PATH_STATUSES and not self.is_about_model


class ModelApi(Protocol):
    """A connection to one server with one protocol."""

    name: str
    """The value of ATLAS_LLM_API that selects the protocol."""

    title: str
    """Display name."""

    key_variable: str
    """Name of the environment variable with the API key."""

    address: str
    """Base URL of the server, without the protocol's path."""

    def send(self, request: ModelRequest, model: str, *, is_forced: bool, timeout_seconds: float) -> ModelReply:
        """Return the reply of a model.

        Args:
            request: The content of the request.
            model: The server's name of the model.
            is_forced: Whether the server enforces the schema. Otherwise the instructions ask for it.
            timeout_seconds: Timeout of the request.

        Raises:
            ApiError: The request failed.
        """
        ...

    def cannot_force(self, error: ApiError) -> bool:
        """Return whether a request failed because the server cannot enforce a schema."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
