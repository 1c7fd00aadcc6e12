"""Hooks of clients, called as the clients call them: what one session did is recalled in the next."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import atlas
from atlas.access import recall_sockets
from atlas.cli import main
from atlas.cli.clients.hook import log_path
from atlas.core.errors import NotFound, ReadOnlyStore
from atlas.testing import HashEmbedder
from tests.support.serving import serving
from tests.support.stores import MODEL
from tests.support.waiting import GIVE_UP_SECONDS

REQUEST = "The nightly export of invoices fails with a timeout. Mend it."
SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The home directory of a user without a store."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ATLAS_EMBEDDING_MODEL", MODEL)
    for name in ("ATLAS_STORE", "ATLAS_KEY", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    log_path().unlink(missing_ok=True)
    return tmp_path


def line(kind: str, number: int, content) -> dict:
    """A line of Claude Code's transcript."""
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": "s1",
        "timestamp": f"2026-05-01T10:00:{number:02}Z",
        "message": {"role": kind, "content": content},
    }


SESSION = [
    line("user", 1, REQUEST),
    line("assistant", 2, [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"env X={SECRET}"}}]),
    line("user", 3, [{"type": "tool_result", "tool_use_id": "t", "content": "read timed out"}]),
    line("assistant", 4, "The statement timeout was 5 s. I raised it to 60 s in export.py."),
]


def written(home, lines):
    """The transcript of a session with so many lines."""
    path = home / "transcript.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    return path


def event(name: str, **fields) -> dict:
    """What Claude Code hands to a hook."""
    return {"session_id": "s1", "cwd": "/work", "permission_mode": "default", "hook_event_name": name} | fields


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + GIVE_UP_SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def call(monkeypatch, capsys):
    """Call `atlas hook` in this process; its answer."""

    def called(store, client: str, sent, *options: str):
        monkeypatch.setattr(sys, "stdin", io.StringIO(sent if isinstance(sent, str) else json.dumps(sent)))
        capsys.readouterr()
        assert main(["--store", str(store), "hook", client, *options]) == 0
        out = capsys.readouterr().out
        return json.loads(out) if out else None

    return called


def attempts(store) -> list[atlas.Experience]:
    """The attempts of a store, which another process may be creating."""
    try:
        with atlas.open_memory(store, read_only=True) as memory:
            return memory.experience.get_many(memory.experience.ids())
    except (ReadOnlyStore, NotFound):  # there is no store yet, or it has no embedding model yet
        return []


def test_a_session_of_claude_code_is_recalled_in_the_next_after_one_command(home):
    assert main(["install", "claude-code", "--yes"]) == 0
    hooks = json.loads((home / ".claude/settings.json").read_text(encoding="utf-8"))["hooks"]

    def happens(sent: dict) -> dict:
        [group] = hooks[sent["hook_event_name"]]
        run = subprocess.run(
            group["hooks"][0]["command"],
            shell=True,
            input=json.dumps(sent),
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stderr == ""
        return json.loads(run.stdout)

    transcript = str(written(home, SESSION))
    assert happens(event("UserPromptSubmit", prompt=REQUEST, transcript_path=transcript)) == {}
    assert happens(event("Stop", transcript_path=transcript, stop_hook_active=False)) == {}
    wait_until(lambda: len(attempts(home / ".atlas")) == 1)
    later = event("UserPromptSubmit", session_id="s2", prompt="Why does the export of the invoices time out?")
    [answer] = happens(later).values()
    assert answer["hookEventName"] == "UserPromptSubmit"
    assert "raised it to 60 s in export.py" in answer["additionalContext"]
    [attempt] = attempts(home / ".atlas")
    assert attempt.outcome.success is None
    assert SECRET not in json.dumps([step.action for step in attempt.steps])


def test_a_turn_that_goes_on_renews_its_attempt_and_a_new_request_is_another(home, call):
    store = home / "store"
    stop = event("Stop", transcript_path=str(home / "transcript.jsonl"))
    for n_lines in (2, 4, 4):
        written(home, SESSION[:n_lines])
        assert call(store, "claude-code", stop, "--now") == {}
    [attempt] = attempts(store)
    assert [step.observation for step in attempt.steps] == ["read timed out", ""]
    assert attempt.solution_output.endswith("I raised it to 60 s in export.py.")
    written(home, [*SESSION, line("user", 5, "Now write the notes."), line("assistant", 6, "They are written.")])
    assert call(store, "claude-code", stop, "--now") == {}
    assert sorted(each.task.description for each in attempts(store)) == ["Now write the notes.", REQUEST]


def test_what_a_person_deleted_does_not_come_back_with_the_next_turn(home, call):
    store, stop = home / "store", event("Stop", transcript_path=str(written(home, SESSION)))
    call(store, "claude-code", stop, "--now")
    with atlas.open_memory(store) as memory:
        memory.experience.delete(memory.experience.ids())
    call(store, "claude-code", stop, "--now")
    assert attempts(store) == []


def test_a_turn_of_gemini_cli_is_stored_from_its_event_and_recalled(home, call):
    store = home / "store"
    turn = {"timestamp": "2026-05-01T10:00:00.000Z", "prompt": REQUEST, "prompt_response": "I raised the timeout."}
    for _ in range(2):
        assert call(store, "gemini-cli", event("AfterAgent", **turn), "--now") == {}
    [attempt] = attempts(store)
    assert (attempt.task.description, attempt.solution_output) == (REQUEST, "I raised the timeout.")
    answer = call(store, "gemini-cli", event("BeforeAgent", prompt="The export of invoices fails"))
    assert "I raised the timeout." in answer["hookSpecificOutput"]["additionalContext"]


def test_a_turn_of_gemini_cli_is_stored_with_its_steps_from_its_session(home, call):
    recalled = {"text": "<hook_context># What was learned</hook_context>"}
    response = {"functionResponse": {"name": "run_shell_command", "response": {"output": "12 passed in 0.31s"}}}
    tests = {"id": "c1", "name": "run_shell_command", "args": {"command": "pytest"}, "result": [response]}
    said = {"type": "gemini", "model": "gemini-x", "timestamp": "2026-05-01T10:00:05.000Z"}
    messages = [
        {"id": "m1", "timestamp": "2026-05-01T10:00:00.000Z", "type": "user", "content": [{"text": REQUEST}, recalled]},
        {**said, "id": "m2", "content": "", "toolCalls": [{**tests, "status": "success"}]},
        {**said, "id": "m3", "content": "I raised the timeout."},
    ]
    path = home / "session-1.json"
    path.write_text(json.dumps({"sessionId": "s1", "projectHash": "ab", "messages": messages}), encoding="utf-8")
    turn = {"prompt": REQUEST, "prompt_response": "I raised the timeout.", "transcript_path": str(path)}
    for _ in range(2):
        assert call(home / "store", "gemini-cli", event("AfterAgent", **turn), "--now") == {}
    [attempt] = attempts(home / "store")
    assert (attempt.task.description, attempt.solution_output.splitlines()[-1]) == (REQUEST, "I raised the timeout.")
    assert [step.observation for step in attempt.steps] == ["12 passed in 0.31s", ""]
    assert attempt.outcome.success is None, "as in every session of a coding agent"


def test_a_session_of_codex_is_stored_and_recalled(home, call):
    def item(second: int, role: str, text: str) -> dict:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        payload = {"type": "message", "role": role, "content": [part]}
        return {"timestamp": f"2026-04-01T09:00:{second:02}.000Z", "type": "response_item", "payload": payload}

    meta = {"timestamp": "2026-04-01T09:00:00.000Z", "type": "session_meta", "payload": {"id": "c1", "cwd": "/work"}}
    path = written(home, [meta, item(1, "user", REQUEST), item(2, "assistant", "I raised the timeout.")])
    sent = event("Stop", transcript_path=str(path), turn_id="1", model="m", last_assistant_message=None)
    assert call(home / "store", "codex", sent, "--now") == {}
    answer = call(home / "store", "codex", event("UserPromptSubmit", prompt=REQUEST, turn_id="2", model="m"))
    assert set(answer) == {"hookSpecificOutput"}
    assert "I raised the timeout." in answer["hookSpecificOutput"]["additionalContext"]


def test_projects_with_scopes_of_their_own_do_not_see_each_other(home, call):
    store, stop = home / "store", event("Stop", transcript_path=str(written(home, SESSION)))
    call(store, "claude-code", stop, "--now", "--scope", "project=shop")
    prompt = event("UserPromptSubmit", prompt=REQUEST)
    assert call(store, "claude-code", prompt, "--scope", "project=bank") == {}
    assert call(store, "claude-code", prompt, "--scope", "project=shop") != {}


@pytest.mark.parametrize(
    "prompt", [{"prompt": "/clear"}, {"prompt": " "}, {"prompt": None}, {"prompt": REQUEST, "source": "loop_wakeup"}]
)
def test_nothing_is_recalled_for_what_is_no_task_of_a_person(home, call, prompt):
    call(home / "store", "claude-code", event("Stop", transcript_path=str(written(home, SESSION))), "--now")
    assert call(home / "store", "claude-code", event("UserPromptSubmit", **prompt)) == {}


@pytest.mark.parametrize(
    ("store", "sent", "options", "message"),
    [
        ("store", "no JSON", (), "expected a JSON object on standard input"),
        ("store", "[]", (), "got a list"),
        ("store", event("PreToolUse"), (), "for hook_event_name, got"),
        ("store", event("Stop"), ("--now",), "expected a file for transcript_path"),
        ("store", event("Stop", transcript_path="/nowhere"), ("--now",), "does not exist"),
        ("store", event("Stop"), ("--unheard-of",), "unrecognized arguments"),
        ("http://127.0.0.1:9", event("UserPromptSubmit", prompt="x"), (), "cannot be reached"),
        ("postgresql://", event("UserPromptSubmit", prompt="x"), (), "atlas:"),
    ],
)
def test_whatever_goes_wrong_stands_in_the_log_and_the_client_goes_on(home, call, store, sent, options, message):
    store = store if "://" in store else home / store
    assert call(store, "claude-code", sent, *options) is None
    assert message in log_path().read_text(encoding="utf-8")


def test_a_server_is_asked_for_its_store_and_given_the_attempts(home, call, tmp_path):
    with (
        atlas.open_memory(tmp_path / "served", embedder=HashEmbedder(384, MODEL)) as memory,
        serving(memory) as address,
    ):
        stop = event("Stop", transcript_path=str(written(home, SESSION[:2])))
        call(address, "claude-code", stop, "--now")
        written(home, SESSION)
        call(address, "claude-code", stop, "--now")
        [attempt] = memory.experience.get_many(memory.experience.ids())
        assert len(attempt.steps) == 2
        answer = call(address, "claude-code", event("UserPromptSubmit", prompt=REQUEST))
    assert "raised it to 60 s" in answer["hookSpecificOutput"]["additionalContext"]


def test_a_process_that_has_the_store_open_answers_in_place_of_opening_it(home, call):
    asked = []

    def answer(request):
        asked.append(request)
        return {"text": "remembered"}

    settings = atlas.Settings(store=home / "store")
    with recall_sockets.listen_for_hooks(settings, answer):
        answered = call(home / "store", "claude-code", event("UserPromptSubmit", prompt=REQUEST))
    assert answered["hookSpecificOutput"]["additionalContext"] == "remembered"
    assert asked == [{"task": {"description": REQUEST}, "budget_tokens": 1000, "where": None}]
    assert recall_sockets.query_open_process(settings, {}, {}) is None


def test_a_socket_of_a_killed_process_is_removed(home):
    program = (
        "import os, sys; from pathlib import Path; import atlas\n"
        "from atlas.access.recall_sockets import listen_for_hooks\n"
        "with listen_for_hooks(atlas.Settings(store=Path(sys.argv[1])), dict): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(home / "store")], check=False)
    directory = recall_sockets.socket_directory()
    assert len(list(directory.glob("*.sock"))) == 1
    assert recall_sockets.query_open_process(atlas.Settings(store=home / "store"), {}, {}) is None
    assert list(directory.glob("*.sock")) == []


def test_the_server_that_a_client_runs_answers_its_hooks(home, call):
    store, stop = home / "store", event("Stop", transcript_path=str(written(home, SESSION)))
    call(store, "claude-code", stop, "--now")
    settings = atlas.Settings(store=store)
    request = {"task": {"description": REQUEST}, "budget_tokens": 1000, "where": None}
    command = [sys.executable, "-m", "atlas", "--store", str(store), "mcp"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        assert "result" in json.loads(process.stdout.readline())
        wait_until(
            lambda: (
                "raised it to 60 s" in (recall_sockets.query_open_process(settings, {}, request) or {}).get("text", "")
            )
        )
        process.stdin.close()
    assert list(recall_sockets.socket_directory().glob("*.sock")) == []
