"""Errors as HTTP problems (RFC 9457): a status, a title for the kind, and the error message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from starlette.responses import JSONResponse

from atlas.core.errors import (
    AtlasError,
    InvalidInput,
    LLMError,
    NotAllowed,
    NotFound,
    PlanOutdated,
    ReadOnlyStore,
    RecordChanged,
    StoreError,
    UndoRefused,
)

MEDIA_TYPE = "application/problem+json"
ERROR = "Atlas-Error"
"""Header with the class of an error, so that `atlas.connect` raises the same one."""

INVALID_REQUEST = -32600
"""JSON-RPC error code."""


class TooLarge(AtlasError):
    """A body exceeds the maximum size."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"a body should have at most {max_bytes:,} bytes, but this one has more; split it")


class TooManyRequests(AtlasError):
    """A request exceeds a rate limit."""

    def __init__(self, message: str, wait_seconds: float) -> None:
        seconds = math.ceil(wait_seconds)
        super().__init__(f"{message}; try again in {seconds} second{'' if seconds == 1 else 's'}")
        self.headers = {"Retry-After": str(seconds)}


@dataclass(frozen=True, slots=True)
class Problem:
    """An HTTP problem."""

    status: int
    title: str
    detail: str
    """The error message: expected, got, and what to do."""

    type: str = "about:blank"

    def response(self, headers: Mapping[str, str] | None = None) -> JSONResponse:
        """Return the problem as a response."""
        return JSONResponse(asdict(self), self.status, dict(headers or {}), MEDIA_TYPE)

    def rpc_response(self) -> JSONResponse:
        """Return the problem as a JSON-RPC response. Its id is null, because the request was not read."""
        error = {"code": INVALID_REQUEST, "message": self.detail}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, self.status)


_KINDS: tuple[tuple[type[AtlasError], int, str], ...] = (
    (TooLarge, 413, "Body too large"),
    (TooManyRequests, 429, "Too many requests"),
    (InvalidInput, 422, "Invalid input"),
    (NotFound, 404, "Not found"),
    (NotAllowed, 403, "Not allowed"),
    (RecordChanged, 412, "Changed since"),
    (UndoRefused, 409, "Cannot be undone"),
    (PlanOutdated, 409, "Changed since"),
    (ReadOnlyStore, 403, "Open for reading only"),
    (StoreError, 503, "Store unavailable"),
    (LLMError, 502, "Language model unavailable"),
)


def problem_of(error: AtlasError) -> Problem:
    """Return the HTTP problem of an error."""
    for kind, status, title in _KINDS:
        if isinstance(error, kind):
            return Problem(status, title, str(error))
    return Problem(500, type(error).__name__, str(error))


def unknown_names_message(unknown: Sequence[str], known: Sequence[str], *, kind: str, target: str) -> str:
    """Return an error message for unknown names, with the names that exist.

    Args:
        kind: The kind of name, such as `argument`.
        target: The tool or route that was called.
    """
    quoted_names = " and ".join(f"{name!r:.80}" for name in unknown[:3])
    predicate = f"is no {kind}" if len(unknown) == 1 else f"are no {kind}s"
    return f"{quoted_names} {predicate} of {target}; it takes {', '.join(known) or 'none'}"
