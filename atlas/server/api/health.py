"""Health of the server. Without a key, the response only contains whether the server is up."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Request, Response

from atlas.core.errors import AtlasError, NotAllowed
from atlas.core.imports.distribution import __version__
from atlas.infra.actor import acting
from atlas.memory.system import MemorySystem
from atlas.server.api.parts import ThreadRoute, open_served_memory
from atlas.server.api.shapes import Health, HealthDetails
from atlas.server.served import ServedMemory
from atlas.server.spool import TraceSpool

logger = logging.getLogger(__name__)

router = APIRouter(route_class=ThreadRoute)


@router.get("/health", responses={503: {"model": Health, "description": "The store cannot be read now"}})
def health(request: Request, response: Response) -> HealthDetails | Health:
    """Return whether the store can be read. With a key, also return the state of the model and the index."""
    try:
        try:
            actor = request.state.authenticator.authenticate(request.headers.get("authorization", ""))
        except NotAllowed:
            return health_ready(request, response)
        with acting(actor):
            return _details(open_served_memory(request))
    except AtlasError as error:
        logger.warning("the store cannot be read: %s", error)
        response.status_code = 503
        return Health(status="unavailable")


@router.get("/health/live")
def health_live() -> Health:
    """Return status `ready` while the server runs. An orchestrator restarts a server that does not answer."""
    return Health(status="ready")


@router.get("/health/ready", responses={503: {"model": Health, "description": "The store cannot be read now"}})
def health_ready(request: Request, response: Response) -> Health:
    """Return whether the store can be read, or 503. A load balancer sends no requests to a server that answers 503."""
    try:
        open_served_memory(request).memory.revision()
    except AtlasError as error:
        logger.warning("the store cannot be read: %s", error)
        response.status_code = 503
        return Health(status="unavailable")
    return Health(status="ready")


def _details(served: ServedMemory) -> HealthDetails:
    memory = served.memory
    memory.revision()
    spool = TraceSpool(memory.storage.path)
    return HealthDetails(
        status="ready",
        version=__version__,
        schema_version=memory.storage.schema_version,
        store=memory.storage.path.name,
        is_model_ready=served.is_model_ready,
        n_behind=_n_behind(memory),
        is_index_reachable=not memory.storage.indexes.fault,
        n_traces_waiting=spool.n_incomplete(),
        n_traces_refused=spool.n_refused(),
    )


def _n_behind(memory: MemorySystem) -> int:
    store = memory.storage
    if store.model is None:  # nothing was embedded yet
        return 0
    return sum(store.collection(name).parts.nearest.updater.n_behind() for name in store.ledger.collections())
