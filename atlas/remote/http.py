"""Requests to a server of ATLAS: sent, repeated where that is safe, and answered by values or by our own errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
from pydantic import TypeAdapter

from atlas.access.server_token import endpoint
from atlas.core.errors import (
    AtlasError,
    InvalidInput,
    LLMUnavailable,
    NotAllowed,
    NotFound,
    StoreUnavailable,
    UndoRefused,
)

_ERRORS: Mapping[int, type[AtlasError]] = {
    400: InvalidInput,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: UndoRefused,
    412: UndoRefused,
    413: InvalidInput,
    422: InvalidInput,
    502: LLMUnavailable,
}


class Server:
    """One server, and the key that it is asked with. Safe for many threads."""

    def __init__(self, address: str, key: str, timeout_seconds: float) -> None:
        """Connect to nothing yet: the first request does.

        Raises:
            InvalidInput: The address is none of a server.
        """
        try:
            url = httpx.URL(address.rstrip("/") + "/api/v1/")
        except (httpx.InvalidURL, TypeError) as error:
            raise InvalidInput(
                f"the address of a server should be like http://host:8501, but is {address!r}"
            ) from error
        if url.scheme not in ("http", "https") or not url.host:
            raise InvalidInput(f"the address of a server should be like http://host:8501, but is {address!r:.200}")
        if not key.isascii() or not key.isprintable():
            raise InvalidInput(
                "the key should be letters, digits, - and _, as `atlas keys add` printed it; copy it again"
            )
        self.address = address
        self._key = key
        self._client = httpx.Client(timeout=timeout_seconds, trust_env=not endpoint(address).is_local)

    def ask(
        self,
        method: str,
        path: str,
        kind: Any,
        *,
        body: Any = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request, and return its answer as a value of some kind.

        Raises:
            AtlasError: The one that the same call on an open memory would raise.
            StoreUnavailable: The server cannot be reached, or fails.
        """
        there = endpoint(self.address, self._key)  # a server that was started again has another token
        url = f"{there.address.rstrip('/')}/api/v1/{path}"
        try:
            answer = self._client.request(
                method, url, json=body, params=query, headers={**there.headers, **(headers or {})}
            )
        except httpx.HTTPError as error:
            raise StoreUnavailable(
                f"the server at {self.address} cannot be reached ({type(error).__name__}: {error}); see that it runs "
                "(atlas serve), and that the address is right"
            ) from error
        if answer.is_success:
            return _adapter(kind).validate_json(answer.content or b"null")
        raise _error(answer, self.address)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _error(answer: httpx.Response, address: str) -> AtlasError:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{address} answered {answer.status_code}, and not as ATLAS does; is the address right?"
    return _ERRORS.get(answer.status_code, StoreUnavailable)(detail)


def value_of(kind: Any, encoded: Any) -> Any:
    """Return a value of some kind from what JSON says of it."""
    return _adapter(kind).validate_python(encoded)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
