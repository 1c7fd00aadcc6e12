"""Endpoint of the metrics."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atlas.core.errors import AtlasError
from atlas.infra.actor import Actor, acting, refuse_in_scope
from atlas.server.access import RequestAuthenticator, access_problem
from atlas.server.problems import problem_of


class MetricsEndpoint:
    """Endpoint of the metrics. The owner of the server gets the metrics of all stores, a key those of its store."""

    def __init__(self, text: Callable[[str], bytes], authenticator: RequestAuthenticator) -> None:
        """Use a source of metrics and an authenticator.

        Args:
            text: Returns the metrics of the named store, or of all stores for an empty name.
        """
        self._text = text
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            actor = self._authenticator.authenticate_and_limit(scope)
            answer = await self._respond(actor)
        except AtlasError as error:
            answer = access_problem(error).response(getattr(error, "headers", {}))
        await answer(scope, receive, send)

    async def _respond(self, actor: Actor) -> Response:
        try:
            with acting(actor):
                refuse_in_scope("read the metrics")
            own_store = (
                ""
                if actor.is_owner
                else next(store.name for store in self._authenticator.stores if store.directory == actor.store)
            )
            text = await run_in_threadpool(self._text, own_store)
        except AtlasError as error:
            return problem_of(error).response()
        return Response(text, media_type=CONTENT_TYPE_LATEST)
