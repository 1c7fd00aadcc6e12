"""HTTP calls of an ATLAS server. A call returns JSON values or raises an ATLAS error."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx

from atlas.access.server_token import endpoint
from atlas.core import errors
from atlas.core.errors import AtlasError, InvalidInput, NotAllowed, StoreUnavailable
from atlas.infra.secrets import report_counts

_ERRORS: Mapping[int, type[AtlasError]] = {
    400: InvalidInput,
    401: NotAllowed,
    403: NotAllowed,
    413: InvalidInput,
    422: InvalidInput,
}
"""Error classes by HTTP status, for responses without an error name, such as a proxy's."""


MAX_RETRIES = 5
MAX_WAIT_SECONDS = 10
"""Maximum accepted `retry-after` of a busy server, in seconds. A longer one is an error."""


class Server:
    """A connection to one ATLAS server, with an API key. Thread-safe."""

    def __init__(self, address: str, key: str, timeout_seconds: float) -> None:
        """Configure the connection. The first request opens it.

        Raises:
            InvalidInput: The address is not a URL of a server.
        """
        try:
            url = httpx.URL(address.rstrip("/") + "/api/v1/")
        except (httpx.InvalidURL, TypeError) as error:
            raise InvalidInput(f"expected an address of a server such as http://host:8501, got {address!r}") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise InvalidInput(f"expected an address of a server such as http://host:8501, got {address!r:.200}")
        if not key.isascii() or not key.isprintable():
            raise InvalidInput(
                "the key should consist of letters, digits, - and _, as printed by `atlas keys add`; copy it again"
            )
        self.address = address
        self._key = key
        self._client = httpx.Client(timeout=timeout_seconds, trust_env=not endpoint(address).is_local)

    def call(self, path: str, arguments: Mapping[str, Any]) -> Any:
        """Call a verb at a path, and return its result as JSON values. Secrets that the server replaced are counted.

        Raises:
            AtlasError: The call failed on the server. The class and message are those of a local memory.
            StoreUnavailable: The server cannot be reached, or fails.
        """
        server = endpoint(self.address, self._key)  # a restarted server has a new token
        url = f"{server.address.rstrip('/')}/api/v1/verbs/{path}"
        try:
            response = self._post(
                url,
                content=json.dumps(arguments).encode("ascii"),  # keeps lone surrogates
                headers={**server.headers, "Content-Type": "application/json"},
            )
        except httpx.HTTPError as error:
            raise StoreUnavailable(
                f"the server at {self.address} cannot be reached ({type(error).__name__}: {error}); check that it is "
                "running (atlas serve), and that the address is right"
            ) from error
        if not response.is_success:
            raise _to_error(response, self.address)
        report_counts(_replaced_secrets(response))
        return response.json()

    def _post(self, url: str, content: bytes, headers: Mapping[str, str]) -> httpx.Response:
        """Send a request, and retry it after `Retry-After` seconds if the server is busy and has not processed it."""
        for _ in range(MAX_RETRIES):
            response = self._client.post(url, content=content, headers=headers)
            wait = response.headers.get("Retry-After", "")
            if (
                response.status_code != httpx.codes.TOO_MANY_REQUESTS
                or not wait.isdecimal()
                or int(wait) > MAX_WAIT_SECONDS
            ):
                return response
            time.sleep(int(wait))
        return self._client.post(url, content=content, headers=headers)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _to_error(response: httpx.Response, address: str) -> AtlasError:
    try:
        detail = str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = (
            f"{address} answered with status {response.status_code}, and not like an ATLAS server; check the address"
        )
    kind = getattr(errors, response.headers.get("Atlas-Error", ""), None)
    if isinstance(kind, type) and issubclass(kind, AtlasError):
        return kind(detail)
    return _ERRORS.get(response.status_code, StoreUnavailable)(detail)


def _replaced_secrets(response: httpx.Response) -> dict[str, int]:
    """Return the number of secrets that the server replaced in the request, keyed by kind."""
    counts = (part.rpartition("=") for part in response.headers.get("Atlas-Scrubbed", "").split(", "))
    return {kind: int(count) for kind, _, count in counts if count.isdecimal()}
