"""Routes for attempts, which agents report after a task."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID, uuid5

from fastapi import APIRouter, Header

from atlas.core.operations import Operations
from atlas.infra.actor import actor_name, is_under_review
from atlas.memory.system import MemorySystem
from atlas.server.api.parts import LazyMemory, ThreadRoute
from atlas.server.api.shapes import AttemptInput, StoreResponse

router = APIRouter(route_class=ThreadRoute)

_ATTEMPT_NAMESPACE = UUID("6f0c3f0e-4f0b-4a52-9d0e-0f0f3c2d7a11")
"""Namespace of the ids of attempts with an idempotency key."""


@router.post("/attempts")
def store_attempt(
    attempt: AttemptInput,
    memory: LazyMemory,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> StoreResponse:
    """Store an attempt, and count its outcome for the memories that it used.

    If a request with the same `Idempotency-Key` was stored before, its response is returned again.
    """
    if idempotency_key is None:
        return _to_response(memory, memory.store(attempt.trajectory("")))
    attempt_id = uuid5(_ATTEMPT_NAMESPACE, f"{actor_name(memory.storage.settings.actor)}\n{idempotency_key}").hex
    return _to_response(memory, memory.store_once(attempt.trajectory(attempt_id)))


def _to_response(memory: MemorySystem, stored: dict[str, Any]) -> StoreResponse:
    [operation] = memory.history(1, where=Operations(kind="store", of=stored["experience"]))
    return StoreResponse(**stored, operation=operation.id, is_waiting=is_under_review())
