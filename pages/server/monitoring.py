"""Monitoring options from environment variables: metrics, traces and rate limit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import extra
from atlas.infra.actor import Actor, acting
from atlas.llm.budget import TokenUsage
from atlas.server.access import RequestAuthenticator
from atlas.server.operations.limits import requests_per_minute
from atlas.server.operations.logs import log_request
from atlas.server.operations.requests import Observer
from pages.components.shared.memory import opened_now

if TYPE_CHECKING:
    from atlas.server.operations.metrics import OpenedStore

METRICS = "/metrics"


@dataclass(frozen=True, slots=True)
class Operations:
    """Monitoring options."""

    has_metrics: bool = False
    has_traces: bool = False
    requests_per_minute: int = 0
    """Requests per minute and key. 0 for no limit."""

    @classmethod
    def from_environment(cls) -> Operations:
        """Read ATLAS_METRICS, ATLAS_TRACES and ATLAS_REQUESTS_PER_MINUTE.

        Raises:
            InvalidInput: A value is invalid.
        """
        return cls(
            _switch("ATLAS_METRICS"),
            _switch("ATLAS_TRACES"),
            requests_per_minute(os.environ.get("ATLAS_REQUESTS_PER_MINUTE", "")),
        )


NO_OPERATIONS = Operations()


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Monitoring components of a server."""

    observers: tuple[Observer, ...]
    below: Mapping[str, ASGIApp]
    """Applications by path."""

    close: Callable[[], None]
    """Flushes pending spans."""


def make_monitoring(operations: Operations, authenticator: RequestAuthenticator) -> Monitoring:
    """Return the log, the metrics and the traces of a server.

    Raises:
        ExtraMissing: The packages of the extra `metrics` are needed and not installed.
    """
    observers: list[Observer] = [log_request]
    below: dict[str, ASGIApp] = {}
    closing = ExitStack()
    if operations.has_metrics:
        with extra("metrics", "ATLAS_METRICS"):
            from atlas.server.api.metrics import MetricsEndpoint
            from atlas.server.operations.metrics import Metrics

        stores = authenticator.stores
        metrics = Metrics({store.name: partial(_opened, stores.owner_actor(store)) for store in stores})
        below[METRICS] = MetricsEndpoint(metrics.text, authenticator)
        observers.append(metrics.observe)
    if operations.has_traces:
        with extra("metrics", "ATLAS_TRACES"):
            from atlas.server.operations.traces import RequestTraces

        traces = RequestTraces()
        observers.append(traces.observe)
        closing.callback(traces.close)
    return Monitoring(tuple(observers), below, closing.close)


def _opened(actor: Actor) -> OpenedStore:
    from atlas.server.operations.metrics import OpenedStore

    with acting(actor):
        opened = opened_now()
    client = opened.model.client
    return OpenedStore(opened.memory, TokenUsage() if client is None else client.spent, opened.warming.is_done)


def _switch(variable: str) -> bool:
    text = os.environ.get(variable, "")
    if text not in ("", "0", "1"):
        raise InvalidInput(f"{variable} should be 1 or 0, but is {text!r:.100}")
    return text == "1"
