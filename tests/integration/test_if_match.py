"""Conditional edits: of two servers that read the same version of a record, one alone changes it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import Response

import atlas
from atlas.core.errors import InvalidInput, RecordChanged, StoreUnavailable, UndoRefused
from atlas.server.api.records import edit_record
from atlas.server.api.shapes import EditInput
from atlas.testing import HashEmbedder
from tests.support.serving import serving

SITUATION = "a page of the shop is slow"
EDITED = "a page of the shop is slow at noon"
ROUNDS = 20


class MeetingEmbedder(HashEmbedder):
    """An embedder that waits for the one of the other server before it embeds an edited text for the first time."""

    def __init__(self, meeting: threading.Barrier) -> None:
        super().__init__(32)
        self._meeting = meeting
        self._has_met = False

    def encode_batch(self, texts: list[str]) -> Any:
        if not self._has_met and any(EDITED in text for text in texts):
            self._has_met = True
            self._meeting.wait(60)
        return super().encode_batch(texts)


class Servers:
    """Two servers on one store, and a strategy of it."""

    def __init__(self, memories: list[atlas.MemorySystem], addresses: list[str]) -> None:
        self.memories, self.addresses = memories, addresses
        self.record_id = memories[0].strategies.add(atlas.Strategy(situation=SITUATION, suggestion="cache it"))

    def read(self) -> httpx.Response:
        return httpx.get(self._url(0), timeout=60)

    def edit(self, server: int, etag: str, **changes: Any) -> httpx.Response:
        return httpx.patch(self._url(server), json=changes, headers={"If-Match": etag}, timeout=60)

    def edit_at_once(self, etag: str, *changes: dict[str, Any]) -> list[httpx.Response]:
        with ThreadPoolExecutor(2) as threads:
            return list(threads.map(lambda server: self.edit(server, etag, **changes[server]), range(2)))

    def _url(self, server: int) -> str:
        return f"{self.addresses[server]}/api/v1/strategies/{self.record_id}"


@pytest.fixture
def servers(place: Path | str) -> Iterator[Servers]:
    """Two servers whose edits of what is embedded are written once both have compared the version."""
    meeting = threading.Barrier(2)
    with ExitStack() as stack:
        memories = [
            stack.enter_context(atlas.open_memory(place, embedder=MeetingEmbedder(meeting), settings=atlas.Settings()))
            for _ in range(2)
        ]
        yield Servers(memories, [stack.enter_context(serving(memory)) for memory in memories])


def test_one_of_two_servers_that_compared_the_same_version_writes(servers: Servers):
    etag = servers.read().headers["ETag"]
    changes = [{"fields": {"situation": EDITED, "title": f"of server {server}"}} for server in range(2)]
    answers = servers.edit_at_once(etag, *changes)
    assert sorted(answer.status_code for answer in answers) == [200, 412]
    [written] = [answer for answer in answers if answer.status_code == 200]
    [refused] = [answer for answer in answers if answer.status_code == 412]
    assert "has changed since it was read; nothing was done" in refused.json()["detail"]
    assert servers.read().json()["record"]["title"] == written.json()["record"]["title"]
    assert servers.read().headers["ETag"] == written.headers["ETag"]
    assert [operation.kind for operation in servers.memories[1].history(2)] == ["edit", "store"]


def test_marks_are_written_by_one_of_two_servers_too(servers: Servers):
    for number in range(ROUNDS):
        etag = servers.read().headers["ETag"]
        answers = servers.edit_at_once(etag, *({"note": f"{number} of server {server}"} for server in range(2)))
        assert sorted(answer.status_code for answer in answers) == [200, 412]


def test_marks_that_are_so_already_are_refused_as_well_once_the_record_has_changed(servers: Servers):
    etag = servers.read().headers["ETag"]
    assert servers.edit(0, etag, pinned=True).status_code == 200
    assert servers.edit(1, etag, pinned=True).status_code == 412


def test_any_of_several_tags_and_a_star_match(servers: Servers):
    etag = servers.read().headers["ETag"]
    assert servers.edit(0, f'"another", {etag}', note="first").status_code == 200
    assert servers.edit(1, "*", note="second").status_code == 200
    assert servers.edit(1, f"W/{servers.read().headers['ETag']}", note="weak").status_code == 412


def test_new_fields_are_taken_back_where_the_marks_cannot_be_stored(servers: Servers):
    before = servers.read()
    answer = servers.edit(0, before.headers["ETag"], fields={"title": "Caching"}, add_tags=[""])
    assert answer.status_code == 422
    assert servers.read().headers["ETag"] == before.headers["ETag"]


class WithoutUndo:
    """A memory system in which nothing can be undone now."""

    def __init__(self, memory: atlas.MemorySystem) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def undo(self, operation_id: str, *, reason: str = "") -> None:
        raise StoreUnavailable("the disk is full")


def test_new_fields_that_cannot_be_taken_back_are_named_with_their_operation(servers: Servers):
    memory = servers.memories[0]
    changes = EditInput(fields={"title": "Caching"}, add_tags=[""])
    with pytest.raises(UndoRefused, match=r"the fields were written.*the disk is full") as refused:
        edit_record("strategies", servers.record_id, changes, WithoutUndo(memory), Response())
    [operation, _] = memory.history(2)
    assert (operation.kind, operation.id in str(refused.value)) == ("edit", True)
    assert memory.strategies.get(servers.record_id).title == "Caching"


def test_an_edit_of_which_nothing_was_written_says_only_why(servers: Servers):
    for changes in (EditInput(fields={"nothing": 1}, add_tags=["a"]), EditInput(add_tags=[""])):
        with pytest.raises(InvalidInput) as refused:
            edit_record("strategies", servers.record_id, changes, WithoutUndo(servers.memories[0]), Response())
        assert "the fields were written" not in str(refused.value)


def test_a_write_within_an_expected_moment_is_refused_once_others_wrote(servers: Servers):
    [first, second] = servers.memories
    record_id, moment = servers.record_id, first.strategies.collection.moment()
    expecting = first.strategies.as_operation("edit", unchanged_since={record_id: moment})
    expecting.edit(record_id, title="Caching")
    expecting.change_marks([record_id], pinned=True)  # its own operation's writes are no change of others
    late = second.strategies.as_operation("edit", unchanged_since={record_id: moment})
    for write in (
        lambda: late.edit(record_id, title="Late"),
        lambda: late.change_marks([record_id], note="late"),
        lambda: late.mark({record_id: atlas.Marks()}),
        lambda: late.delete([record_id]),
    ):
        with pytest.raises(RecordChanged, match="Read it again"):
            write()
    assert second.strategies.get(record_id).title == "Caching"
