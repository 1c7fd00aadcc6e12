"""Route for the context block of a task."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter

from atlas.server.api.parts import LazyServedMemory, ThreadRoute
from atlas.server.api.shapes import ContextRequest, ContextResponse

router = APIRouter(route_class=ThreadRoute)


@router.post("/context")
def context(request: ContextRequest, opened: LazyServedMemory) -> ContextResponse:
    """Return the memories for a task, within a budget of tokens.

    Until the embedding model is ready, the search uses keywords only, and `by_words` is true. The shown records count
    as used by the next attempt at the task that the same key stores.
    """
    block = opened.memory.build_context(
        request.task.task(),
        request.budget_tokens,
        request.k,
        where=request.where,
        threshold=request.threshold,
        distinct=request.distinct,
        diversity=request.diversity,
        by_words=not opened.is_model_ready,
        holdout=request.holdout,
        attempt=request.attempt,
        min_trust=request.min_trust,
        examples=request.examples,
    )
    return ContextResponse(**asdict(block))
