"""Routes for curators: pending records of keys under review."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, BaseModel, Field

from atlas.memory.system import MemorySystem
from atlas.server.api.parts import LazyMemory, ThreadRoute
from atlas.server.api.shapes import Id, RequestBody, Text
from atlas.storage.records import Moment
from atlas.views.curate.review import RejectRequest, WaitingRow, accept, review_queue, select_pending

router = APIRouter(prefix="/review", route_class=ThreadRoute)


class ReviewChoice(RequestBody):
    """A selection of pending records. At least one of `ids`, `writer`, `since` and `all` is needed."""

    ids: Annotated[tuple[Id, ...], Field(max_length=1_000)] = ()
    """Ids of pending records, or unique beginnings of ids."""

    writer: Text = ""
    """Only records that the key with this name wrote."""

    since: AwareDatetime | None = None
    """Only records that were stored at this time or later."""

    all: bool = False
    """True for all pending records. It is ignored if another field selects records."""

    dry_run: bool = False
    """True to change nothing, and only return the selected records."""

    unchanged_since: Annotated[str, Field(pattern=r"^([\w-]{0,64}:\d{1,18})?$")] = ""
    """The field `moment` of the reviewed list. The request fails if a selected record has changed since then."""

    def rows(self, memory: MemorySystem) -> tuple[WaitingRow, ...]:
        """Return the selected records. With `unchanged_since`, each has the revision of the reviewed list."""
        rows = select_pending(memory, ids=self.ids, writer=self.writer, since=self.since, is_all=self.all)
        if not self.unchanged_since:
            return rows
        ledger_id, _, change = self.unchanged_since.rpartition(":")
        moment = Moment(ledger_id, int(change))
        return tuple(replace(row, moment=moment) for row in rows)


class PendingRecord(BaseModel):
    """A record that is pending until a curator accepts or rejects it."""

    id: str
    kind: str
    title: str
    writer: str
    at: datetime
    """Time when the record was stored."""


class PendingResponse(BaseModel):
    """Pending records, newest first."""

    records: list[PendingRecord]
    n_records: int
    """Total number of records that match the filter."""

    moment: str
    """Revision of the store at which the list was made, for `unchanged_since` of accept and reject."""


class ReviewResponse(BaseModel):
    """Records that were accepted or rejected."""

    ids: list[str]
    operation: str | None
    """Id of the operation, for undo. Null if nothing was changed."""


@router.get("")
def pending(
    memory: LazyMemory,
    writer: Annotated[str, Query(max_length=200)] = "",
    since: AwareDatetime | None = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> PendingResponse:
    """Return pending records, newest first."""
    moment, rows = memory.storage.ledger.moment(), review_queue(memory, writer, since).rows
    records = [
        PendingRecord(id=row.id, kind=row.noun, title=row.title, writer=row.writer, at=row.stored_at)
        for row in rows[offset : offset + limit]
    ]
    return PendingResponse(records=records, n_records=len(rows), moment=f"{moment.ledger_id}:{moment.change}")


@router.post("/accept")
def accept_pending(choice: ReviewChoice, memory: LazyMemory) -> ReviewResponse:
    """Accept pending records as one operation, so that all users find them."""
    rows = choice.rows(memory)
    return _response(rows, None if choice.dry_run or not rows else accept(memory, rows))


@router.post("/reject")
def reject_pending(choice: ReviewChoice, memory: LazyMemory) -> ReviewResponse:
    """Delete pending records as one operation. Undoing the operation restores them."""
    proposal = RejectRequest(rows=choice.rows(memory)).propose(memory)
    return _response(proposal.rows, None if choice.dry_run or not proposal.rows else proposal.apply(memory))


def _response(rows: tuple[WaitingRow, ...], operation_id: str | None) -> ReviewResponse:
    return ReviewResponse(ids=[row.id for row in rows], operation=operation_id)
