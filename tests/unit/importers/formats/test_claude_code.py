"""Claude Code's sessions as attempts, one for each request."""

from __future__ import annotations

import json

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.core.types import Step, Trajectory
from atlas.importers import detect, import_paths
from atlas.importers.formats.agents.claude_code import user_request
from atlas.importers.logs import LogOptions
from atlas.importers.sink import CountingSink, MemorySink
from atlas.testing import HashEmbedder


def line(kind, content, number, **changes):
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": changes.pop("message_id", f"m{number}"), "model": "a-model"}
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s1",
        "timestamp": f"2026-03-01T10:00:{number:02}Z",
        "isSidechain": False,
        "cwd": "/home/ann/work",
        "message": message,
    } | changes


def used(name, number, **arguments):
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}


def result(number, text, **changes):
    return [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text} | changes]


@pytest.fixture
def session():
    return [
        line("user", "Fix the parser", 1),
        line("assistant", [{"type": "thinking", "thinking": "Look first."}], 2, message_id="m"),
        line("assistant", [used("Bash", 1, command="pytest")], 3, message_id="m"),
        line("user", result(1, "1 failed", is_error=True), 4),
        line("assistant", [{"type": "text", "text": "It is mended."}], 5),
        line("user", "Now write the notes", 6),
        line("assistant", "Written.", 7),
        line("user", "Thank you", 8),
    ]


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=Settings()) as opened:
        yield opened


def attempts(files, session) -> list[Trajectory]:
    path = files.lines("s1.jsonl", session)
    assert detect(path).name == "claude-code"
    return [row.item for row in files.read("claude-code", path) if isinstance(row.item, Trajectory)]


def test_each_request_that_was_answered_is_an_attempt_of_unknown_outcome(files, session):
    first, second = attempts(files, session)
    assert (first.task.description, second.task.description) == ("Fix the parser", "Now write the notes")
    assert first.steps == (
        Step(
            "Look first.", 'Bash({"command": "pytest"})', "1 failed", {"observation_from": "tool Bash", "failed": True}
        ),
        Step("", "It is mended."),
    )
    assert (first.outcome.success, second.outcome.success) == (None, None)
    assert first.agent_id == "a-model"
    assert first.timestamp.isoformat() == "2026-03-01T10:00:05+00:00"
    assert second.metadata["follows"] == first.id


def test_a_sub_agent_is_an_attempt_that_names_its_caller(files, session):
    aside = {"isSidechain": True}
    called = [
        line("user", "Find the grammar", 20, **aside, parentUuid=None),
        line("assistant", "It is in g.py", 21, **aside, parentUuid="u20"),
    ]
    first, _, third = attempts(files, [*session[:4], *called, *session[4:]])
    assert third.task.description == "Find the grammar"
    assert third.metadata["called_by"] == first.id
    assert [step.action for step in first.steps] == ['Bash({"command": "pytest"})', "It is mended."]


def test_a_document_of_loglines_gives_the_same(files, session):
    path = files.json("s1.json", {"loglines": session})
    assert detect(path).name == "claude-code"
    assert [row.item for row in files.read("claude-code", path)] == attempts(files, session)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do it <system-reminder>be good</system-reminder>", "Do it"),
        ("<command-name>/review</command-name><command-args>a.py</command-args>", "/review a.py"),
        ("<local-command-stdout>ok</local-command-stdout>", ""),
        ("[Request interrupted by user]", ""),
    ],
)
def test_what_the_program_wrote_is_no_request(text, expected):
    assert user_request(text) == expected


BROKEN = {
    "a line cut off": '{"type": "user", "uui',
    "a text": '"massive error"',
    "no type": '{"silly": 1}',
    "a message of the wrong type": json.dumps(line("user", "x", 9) | {"message": "error"}),
    "no content": json.dumps(line("user", "x", 9) | {"message": {"role": "user"}}),
    "content of the wrong type": json.dumps(line("user", 5, 9)),
    "a time of the wrong type": json.dumps(line("assistant", "x", 9, timestamp=7)),
    "deep nesting": '{"type": "user", "message": {"content": ' + "[" * 10_000 + "]" * 10_000 + "}}",
    "an answer to nothing": json.dumps(line("assistant", "x", 9, sessionId="other")),
    "a tool without a name": json.dumps(line("assistant", [{"type": "tool_use"}], 9)),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_line_costs_itself_only(files, session, broken):
    path = files.lines("s1.jsonl", [*session[:2], broken, *session[2:]])
    rows = files.read("claude-code", path)
    assert [row.position for row in rows if row.item is None] == [3]
    assert [row.item.task.description for row in rows if row.item] == ["Fix the parser", "Now write the notes"]


def test_a_second_import_adds_nothing_and_a_dry_run_says_so_before(files, session, memory):
    path = files.lines("s1.jsonl", session)
    log_options, settings = LogOptions(crashes=True), Settings()
    counted = import_paths(CountingSink(memory), [path], log_options=log_options, settings=settings)
    first = import_paths(MemorySink(memory, "test"), [path], log_options=log_options, settings=settings)
    assert (first.added_attempts, first.added_entries) == (2, 1)
    assert (counted.added, counted.added_entries) == (first.added, first.added_entries)
    for sink in (MemorySink(memory, "test"), CountingSink(memory)):
        again = import_paths(sink, [path], log_options=log_options, settings=settings)
        assert (again.added, again.skipped) == (0, 3)
    assert memory.journal.values("entry_type") == {"crash_log": 1}


def test_undo_takes_a_session_back_and_it_can_be_imported_again(files, session, memory):
    path = files.lines("s1.jsonl", session)
    sink = MemorySink(memory, "test")
    import_paths(sink, [path], log_options=LogOptions(crashes=True), settings=Settings())
    memory.undo(sink.operation_id)
    assert (memory.experience.count(), memory.journal.count()) == (0, 0)
    again = import_paths(MemorySink(memory, "test"), [path], log_options=LogOptions(crashes=True), settings=Settings())
    assert again.added == 3


def test_secrets_are_taken_out_and_counted(files, session, memory):
    session[0]["message"]["content"] = "Use sk-" + "a1" * 12
    session[0]["message"]["content"] += " in /home/ann/work"
    report = import_paths(MemorySink(memory, "test"), [files.lines("s1.jsonl", session)], settings=Settings())
    assert report.scrubbed == {"API keys": 1, "home directories": 3}
    texts = " ".join(json.dumps(one, default=str) for one in memory.experience.browse())
    assert "sk-a1" not in texts
    assert "/home/ann" not in texts
