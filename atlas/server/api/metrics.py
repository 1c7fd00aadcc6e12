"""The address of the metrics, beside the API."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atlas.access.server_token import LOOPBACK
from atlas.core.errors import AtlasError
from atlas.server.access import PASSED_ON, Doors, entry_problem, peer


class MetricsEndpoint:
    """Answers requests for the metrics: of this machine, and of whoever has a key."""

    def __init__(self, text: Callable[[], bytes], doors: Doors) -> None:
        """Wrap metrics.

        Args:
            text: Returns all metrics in the text format of Prometheus.
        """
        self._text = text
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            if not _is_of_this_machine(scope):
                self._doors.admit(scope)
            text = await run_in_threadpool(self._text)
            answer = Response(text, media_type=CONTENT_TYPE_LATEST)
        except AtlasError as error:
            answer = entry_problem(error).response(getattr(error, "headers", {}))
        await answer(scope, receive, send)


def _is_of_this_machine(scope: Scope) -> bool:
    is_passed_on = any(name in PASSED_ON for name, _ in scope["headers"])
    return peer(scope) in LOOPBACK and not is_passed_on
