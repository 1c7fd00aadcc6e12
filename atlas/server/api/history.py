"""Routes for the history of operations, and undo."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from atlas.core.operations import Operation, Operations
from atlas.server.api.parts import LazyMemory, ThreadRoute
from atlas.server.api.shapes import Id, OperationResponse, OperationsResponse, UndoRequest

router = APIRouter(prefix="/operations", route_class=ThreadRoute)


@router.get("")
def operations(
    memory: LazyMemory,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    actor: Annotated[str, Query(max_length=200)] = "",
    kind: Annotated[str, Query(max_length=200)] = "",
    of: Annotated[str, Query(max_length=200, description="The id of a record that was touched.")] = "",
    since: datetime | None = None,
    text: Annotated[str, Query(max_length=200, description="Part of the reason, or of a changed record.")] = "",
) -> OperationsResponse:
    """Return operations, newest first, optionally filtered by actor, kind, record, time or text."""
    where = Operations(actor=actor, kind=kind, of=of, since=since, text=text)
    return OperationsResponse(
        operations=memory.history(limit, offset, where=where), n_operations=memory.count_operations(where)
    )


@router.get("/{operation_id}")
def operation(
    operation_id: Id, memory: LazyMemory, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> OperationResponse:
    """Return one operation with the records that it changed."""
    selected_operation = memory.operation(operation_id)
    return OperationResponse(operation=selected_operation, changes=memory.changes(selected_operation.id, limit))


@router.post("/{operation_id}/undo")
def undo(operation_id: Id, memory: LazyMemory, request: UndoRequest | None = None) -> Operation:
    """Undo an operation, exactly. Undoing the undo redoes it."""
    return memory.undo(operation_id, reason=request.reason if request else "")
