"""The command that clients call as a hook: it recalls memories at a prompt, and stores attempts after a turn.

The command always exits with status 0 and logs errors to a file, as a client may block the user's prompt at any other
status.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from atlas.access.recall_sockets import query_open_process
from atlas.cli.common import add_command, add_scope_option
from atlas.core.errors import AtlasError, InvalidInput
from atlas.core.imports.distribution import DIRECTORY
from atlas.core.settings import Settings
from atlas.infra.child_process import import_environment, module_command

BUDGET_TOKENS = 1_000
"""Maximum size of the context block at a prompt. Claude Code truncates a context at 10,000 characters."""

MAX_PROMPT_CHARACTERS = 8_000
"""Characters of a prompt that are used as the query. For a pasted file the beginning is enough."""

SERVER_SECONDS = 5.0
"""Timeout for a remote server."""

LOG = "hooks.log"
MAX_LOG_BYTES = 2**20

PROMPT_EVENTS = ("UserPromptSubmit", "BeforeAgent")
"""Events before a user's prompt is answered."""

TURN_EVENTS = ("Stop", "SessionEnd", "AfterAgent")
"""Events after a turn."""

PROGRAM_SOURCES = ("system", "poll_event", "loop_wakeup", "schedule_wakeup")
"""Sources of prompts that are not from the user."""


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "hook", _hook)
    command.add_argument("client", choices=["claude-code", "codex", "gemini-cli"], help="the client that calls it")
    add_scope_option(command, "limit what is recalled and stored to a scope")
    command.add_argument("--now", action="store_true", help="store before it ends, rather than in the background")


def run_without_failing(run: Callable[[], int]) -> int:
    """Call `run`, log its exceptions, and return 0, because a failing hook would interrupt the client."""
    errors = io.StringIO()
    with redirect_stderr(errors):
        try:
            run()
        except SystemExit as ended:  # raised by argparse for a wrong option and after `--help`
            if not ended.code:
                raise
    if text := errors.getvalue():
        with suppress(OSError):
            _log(text)
    return 0


def log_path() -> Path:
    """Return the path of the hooks' error log."""
    return platformdirs.user_state_path(DIRECTORY) / LOG


def _log(text: str) -> None:
    path = log_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_full = path.exists() and path.stat().st_size > MAX_LOG_BYTES
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_full else os.O_APPEND), 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC).isoformat(timespec='seconds')} {text.rstrip()}\n")


def _hook(options: argparse.Namespace, settings: Settings) -> int:
    event = _parse_event(sys.stdin.read())
    name = event.get("hook_event_name")
    scope = _scope_metadata(options.scope)
    if name in PROMPT_EVENTS:
        print(json.dumps(_hook_output(str(name), _recall(event, scope, settings))))
    elif name in TURN_EVENTS:
        if options.now:
            from atlas.cli.clients.recording import record

            record(options.client, event, scope, settings)
        else:
            _record_later(options, event, settings)
        print("{}")
    else:
        raise InvalidInput(
            f"expected one of {', '.join((*PROMPT_EVENTS, *TURN_EVENTS))} for hook_event_name, got {name!r:.80}"
        )
    return 0


def _scope_metadata(scope: Mapping[str, str]) -> Mapping[str, str]:
    """Return a scope as metadata. The filters are imported only if the scope is not empty."""
    if not scope:
        return {}
    from atlas.core.filters import scope_metadata

    return scope_metadata(scope)


def _parse_event(text: str) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"expected a JSON object on standard input, got text that is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise InvalidInput(f"expected a JSON object on standard input, got a {type(event).__name__}")
    return event


def _hook_output(event: str, text: str) -> Mapping[str, Any]:
    """Return a context block in the output format of Claude Code, Codex and Gemini CLI."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}} if text else {}


def _recall(event: Mapping[str, Any], scope: Mapping[str, str], settings: Settings) -> str:
    """Return the context block for a prompt. Empty if no record is relevant, or if the prompt is not a task."""
    prompt = event.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip() or prompt.lstrip().startswith(("/", "<task-notification>")):
        return ""
    if event.get("source") in PROGRAM_SOURCES:
        return ""
    request = {
        "task": {"description": prompt[:MAX_PROMPT_CHARACTERS]},
        "budget_tokens": BUDGET_TOKENS,
        "where": dict(scope) or None,
    }
    if settings.server:
        return str(_ask_server(request, settings).get("text", ""))
    response = query_open_process(settings, scope, request)
    if response is not None:
        return str(response.get("text", ""))
    return _recall_by_words(request, settings)


def _ask_server(request: Mapping[str, Any], settings: Settings) -> Mapping[str, Any]:
    """Return the context block that the configured server builds."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    from atlas.access.server_token import endpoint

    server = endpoint(settings.server.rstrip("/"), settings.key)
    address = urlsplit(server.address)
    connect = HTTPSConnection if address.scheme == "https" else HTTPConnection
    connection = connect(address.hostname or "", address.port, timeout=SERVER_SECONDS)
    try:
        headers = {"Content-Type": "application/json", **server.headers}
        connection.request("POST", f"{address.path}/api/v1/context", json.dumps(request), headers)
        response = connection.getresponse()
        body = response.read()
    except (OSError, HTTPException) as error:
        raise AtlasError(
            f"the server at {settings.server} cannot be reached ({type(error).__name__}: {error}); "
            "check that it is running: atlas serve"
        ) from error
    finally:
        connection.close()
    if response.status != 200:
        raise AtlasError(f"the server at {settings.server} answered {response.status}: {body[:400]!r}; see its log")
    answer: Mapping[str, Any] = json.loads(body)
    return answer


def _recall_by_words(request: Mapping[str, Any], settings: Settings) -> str:
    """Return the context block from a keyword search, which needs no embedding model: loading one is slow."""
    if not settings.address and not settings.directory.expanduser().exists():
        return ""
    from atlas.cli.common import open_local
    from atlas.memory.context.block import query_task

    with open_local(settings) as memory:
        block = memory.build_context(
            query_task(request["task"]["description"]), BUDGET_TOKENS, where=request["where"], by_words=True
        )
    return block.text


def _record_later(options: argparse.Namespace, event: Mapping[str, Any], settings: Settings) -> None:
    """Store the session of an event in a detached child process, which outlives the client."""
    scope = [part for name, value in options.scope.items() for part in ("--scope", f"{name}={value}")]
    command = module_command("atlas", "hook", options.client, *scope, "--now")
    store = settings.server or settings.address or str(settings.directory.expanduser().resolve())
    with tempfile.TemporaryFile() as spool_file:
        spool_file.write(json.dumps(event).encode())
        spool_file.seek(0)
        subprocess.Popen(
            command,
            stdin=spool_file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**import_environment(), "ATLAS_STORE": store},  # other users could see an argument
            start_new_session=True,
        )
