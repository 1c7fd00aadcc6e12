"""A watched directory of session logs: each request is stored once, while its session is written."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import atlas
from atlas.cli import main
from atlas.cli.clients.recording import SessionSink
from atlas.cli.clients.watch import WatchedLogs
from atlas.core.errors import NotFound, ReadOnlyStore, StoreUnavailable
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS


def lines(number: int, *, session: str = "s1") -> list[dict]:
    """A request of a session of Claude Code, with its answer."""
    texts = (("user", f"Mend the export {number}"), ("assistant", f"Raised the timeout {number}"))
    return [
        {
            "type": kind,
            "uuid": f"{session}-{number}-{kind}",
            "sessionId": session,
            "timestamp": f"2026-05-01T10:{number:02}:0{position}Z",
            "message": {"role": kind, "content": text},
        }
        for position, (kind, text) in enumerate(texts)
    ]


def append(path, records: list[dict], *, unfinished: str = "") -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{json.dumps(record)}\n" for record in records) + unfinished)


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """An empty directory of logs, beside a store that does not exist yet."""
    monkeypatch.setenv("ATLAS_EMBEDDING_MODEL", MODEL)
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


@pytest.fixture
def memory(logs):
    with atlas.open_memory() as memory:
        yield memory


@pytest.fixture
def watched(logs, memory):
    return WatchedLogs(logs, SessionSink(memory, "watched", {}), memory.storage.settings)


def tasks(memory) -> list[str]:
    return sorted(each.task.description for each in memory.experience.get_many(memory.experience.ids()))


def test_requests_are_stored_as_they_are_written_and_once(logs, memory, watched):
    append(logs / "a.jsonl", lines(1))
    assert watched.store_changes() == 1
    assert watched.store_changes() == 0
    append(logs / "a.jsonl", lines(2))
    append(logs / "b.jsonl", lines(3, session="s2"))
    assert watched.store_changes() == 2
    assert tasks(memory) == ["Mend the export 1", "Mend the export 2", "Mend the export 3"]


def test_what_a_failed_check_did_not_store_is_stored_by_the_next(logs, memory, watched, monkeypatch):
    append(logs / "a.jsonl", lines(1))
    with monkeypatch.context() as broken, pytest.raises(StoreUnavailable, match="the disk is full"):
        broken.setattr(watched, "_sink", FullDisk())
        watched.store_changes()
    assert watched.store_changes() == 1
    assert tasks(memory) == ["Mend the export 1"]


class FullDisk(SessionSink):
    """A sink whose store cannot be written."""

    def __init__(self) -> None:
        pass

    def add(self, *_: object, **__: object) -> list[str]:
        raise StoreUnavailable("the disk is full")


def test_an_attempt_grows_with_its_session(logs, memory, watched):
    first, answer = lines(1)
    append(logs / "a.jsonl", [first, answer])
    watched.store_changes()
    more = {**answer, "uuid": "u9", "message": {"role": "assistant", "content": "And tested it."}}
    append(logs / "a.jsonl", [more])
    assert watched.store_changes() == 0
    [attempt] = memory.experience.get_many(memory.experience.ids())
    assert attempt.solution_output == "And tested it."


def test_a_half_written_line_is_read_when_it_is_complete(logs, memory, watched):
    request, answer = lines(2)
    text = json.dumps(answer)
    append(logs / "a.jsonl", [*lines(1), request], unfinished=text[:30])
    watched.store_changes()
    with (logs / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write(text[30:] + "\n")
    watched.store_changes()
    watched.store_changes()
    assert tasks(memory) == ["Mend the export 1", "Mend the export 2"]
    assert watched.settled_rejections() == []


def test_a_malformed_line_is_reported_once_when_its_file_is_left_alone(logs, watched):
    append(logs / "a.jsonl", lines(1), unfinished='{"type": "user", "uuid"\n')
    watched.store_changes()
    assert watched.settled_rejections() == []
    watched.store_changes()
    assert [rejection.row for rejection in watched.settled_rejections()] == [3]
    watched.store_changes()
    assert watched.settled_rejections() == []


def test_what_is_no_log_is_left_alone(logs, memory, watched):
    (logs / "notes.txt").write_text("no log", encoding="utf-8")
    (logs / "empty.jsonl").touch()
    assert watched.store_changes() == 0
    assert tasks(memory) == []
    watched.store_changes()
    assert watched.settled_rejections() == []


def test_an_attempt_that_was_deleted_does_not_come_back(logs, memory, watched):
    append(logs / "a.jsonl", lines(1))
    watched.store_changes()
    memory.experience.delete(memory.experience.ids())
    append(logs / "a.jsonl", lines(2))
    watched.store_changes()
    assert tasks(memory) == ["Mend the export 2"]


def test_the_command_gives_a_scope_and_takes_only_a_directory(logs, capsys):
    append(logs / "a.jsonl", lines(1))
    assert main(["watch", str(logs), "--once", "--scope", "project=shop"]) == 0
    assert capsys.readouterr().out == "1 new\n"
    assert main(["watch", str(logs), "--once"]) == 0
    assert capsys.readouterr().out == "0 new\n"
    append(logs / "b.jsonl", lines(2, session="s2"), unfinished="{")
    assert main(["watch", str(logs), "--once"]) == 0
    assert "b.jsonl, row 3" in capsys.readouterr().err
    (logs / "b.jsonl").unlink()
    with atlas.open_memory(read_only=True) as memory:
        assert len(memory.experience.ids({"scope.project": "shop"})) == 1
    assert main(["watch", str(logs / "a.jsonl"), "--once"]) == 1
    assert "expected a directory" in capsys.readouterr().err


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + GIVE_UP_SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def stored() -> list[str]:
    """The tasks of the store, which another process may be creating."""
    try:
        with atlas.open_memory(read_only=True) as memory:
            return tasks(memory)
    except (ReadOnlyStore, NotFound):  # there is no store yet, or it has no embedding model yet
        return []


def test_a_watch_that_is_killed_leaves_no_gap_and_no_duplicate(logs, capsys):
    append(logs / "a.jsonl", [line for number in range(1, 21) for line in lines(number)])
    command = [sys.executable, "-m", "atlas", "watch", str(logs), "--every", "0.05"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: bool(stored()))
        process.kill()
    append(logs / "a.jsonl", lines(21))
    assert main(["watch", str(logs), "--once"]) == 0
    assert stored() == sorted(f"Mend the export {number}" for number in range(1, 22))
