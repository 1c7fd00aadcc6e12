"""A stream of the store's changes, for live pages and followers."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Annotated

import anyio
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from atlas.core.errors import AtlasError
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.system import MemorySystem
from atlas.server.api.parts import LoadedMemory, find_memory

router = APIRouter()

POLL_SECONDS = 0.3
QUIET_SECONDS = 15.0
"""Interval of keep-alive lines."""

MAX_IDS = 1_000
"""Maximum ids per memory in an event."""


@router.get(
    "/changes",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def changes(
    request: Request,
    memory: LoadedMemory,
    since: Annotated[int | None, Query(ge=0, le=2**62, description="A revision; the present one by default.")] = None,
    last_event_id: Annotated[str | None, Header(pattern=r"^\d{1,18}$")] = None,
) -> StreamingResponse:
    """Send an event whenever the store has changed, with the number of its revision and the ids of changed records.

    A client that lost its connection resumes with `Last-Event-ID`. The stream ends with an event `refused` when its key
    is revoked or expires.
    """
    first_revision = int(last_event_id) if last_event_id else since
    return StreamingResponse(_events(request, memory, first_revision), media_type="text/event-stream")


async def _events(request: Request, memory: MemorySystem, since: int | None) -> AsyncIterator[str]:
    """Yield the events of the stream: changes since a revision, and comments that keep the connection alive."""
    last_revision = await anyio.to_thread.run_sync(memory.revision) if since is None else since
    sent_at = time.monotonic()
    yield f": following from revision {last_revision}\n\n"
    while not await request.is_disconnected():
        if reason := await anyio.to_thread.run_sync(_refusal_reason, request):
            yield f"event: refused\ndata: {json.dumps(reason)}\n\n"
            return
        revision, event = await anyio.to_thread.run_sync(_next_event, memory, last_revision)
        if event:
            yield event
            last_revision, sent_at = revision, time.monotonic()
        elif time.monotonic() - sent_at > QUIET_SECONDS:
            yield ": nothing new\n\n"
            sent_at = time.monotonic()
        await anyio.sleep(POLL_SECONDS)


def _refusal_reason(request: Request) -> str:
    """Return the reason why the key of a stream is no longer valid, or an empty string."""
    try:
        request.state.authenticator.authenticate(request.headers.get("authorization", ""))
    except AtlasError as error:
        return str(error)
    return ""


def _next_event(memory: MemorySystem, since: int) -> tuple[int, str]:
    """Return the current revision, and an event with the changes since an earlier one, or '' without changes."""
    with memory.storage.reading():
        revision = memory.revision()
        if revision <= since:
            return revision, ""
        changed_ids = {
            name: find_memory(memory, name).collection.changed_ids(since, limit=MAX_IDS + 1)
            for name in searchable_kinds()
        }
    payload = {
        "revision": revision,
        "changed": {name: ids[:MAX_IDS] for name, ids in changed_ids.items() if ids},
        "is_cut": any(len(ids) > MAX_IDS for ids in changed_ids.values()),
    }
    return revision, f"id: {revision}\nevent: changed\ndata: {json.dumps(payload)}\n\n"
