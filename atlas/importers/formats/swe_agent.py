"""SWE-agent's `.traj` files: one run each, on an issue of a repository or on a capture-the-flag challenge.

A run does not record whether it solved its task, so its outcome is unknown. Demonstrations are not steps of the run.

Source:
    https://github.com/SWE-agent/SWE-agent
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.importers.fields import Json, as_list, as_object, as_text, drop_missing, make_storable, required_text
from atlas.importers.files import parse_json, read_document
from atlas.importers.formats import conversation
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import document_keys
from atlas.importers.rows import Limits, Row, make_row

_TASKS = (
    ("<pr_description>", "</pr_description>"),
    ("\nISSUE:\n", "\nINSTRUCTIONS:"),
    ("following CTF challenge.", "\nINSTRUCTIONS:"),
)
"""Texts before and after the task in the prompts of SWE-agent's own configurations."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is one object with a trajectory or a history, and not an ATLAS experience."""
    keys = document_keys(head)
    return bool(keys & {"trajectory", "history"}) and not keys & {"kind", "eval", "task"}


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the file's only run."""
    raw = read_document(path, limits)
    yield make_row(1, lambda: _decode_trajectory(raw), offset=len(raw), n_bytes=len(raw))


def _decode_trajectory(raw: bytes) -> Trajectory:
    run = as_object(parse_json(raw), "the file")
    history = [_decode_message(message, n) for n, message in enumerate(as_list(run.get("history"), "history"))]
    recorded_steps = as_list(run.get("trajectory"), "trajectory")
    info = as_object(run.get("info") or {}, "info")
    exit_status = as_text(info.get("exit_status"), "info.exit_status")
    submission = as_text(info.get("submission"), "info.submission")
    return Trajectory(
        task=_decode_task(run, [message for message in history if message is not None]),
        steps=tuple(_decode_step(step, n) for n, step in enumerate(recorded_steps)) or _steps_of_history(history),
        outcome=Outcome(None, error_info=None if "submitted" in exit_status else exit_status or None),
        agent_id=_model_name(run),
        metadata=drop_missing(
            source="swe-agent",
            environment=as_text(run.get("environment"), "environment"),
            exit_status=exit_status,
            submission=submission,
            solution=submission.strip(),
            model_stats=make_storable(info.get("model_stats")),
        ),
    )


def _decode_step(value: Any, position: int) -> Step:
    step = as_object(value, f"trajectory[{position}]")
    name = f"trajectory[{position}]."
    thought = as_text(step.get("thought"), f"{name}thought")
    action = as_text(step.get("action"), f"{name}action")
    response = as_text(step.get("response"), f"{name}response")
    contains_both = thought.strip() in response and action.strip() in response
    is_repeated = contains_both or response.strip() == thought.strip()
    return Step(
        thought=thought.strip(),
        action=action.strip(),
        observation=conversation.read_content(step.get("observation"), f"{name}observation").text,
        metadata=drop_missing(state=make_storable(step.get("state")), response="" if is_repeated else response),
    )


def _decode_message(value: Any, position: int) -> Message | None:
    """Return a message of the history, or None for a demonstration."""
    name = f"history[{position}]"
    message = as_object(value, name)
    if message.get("is_demo"):
        return None
    text = conversation.read_content(message.get("content"), f"{name}.content").text
    action = as_text(message.get("action"), f"{name}.action").strip()
    role = required_text(message, "role", f"{name}.role")
    thought = as_text(message.get("thought"), f"{name}.thought").strip()
    if role == AGENT and action:
        return Message(role=role, text=thought or text, calls=(action,))
    return Message(role=role, text=text)


def _steps_of_history(history: Sequence[Message | None]) -> tuple[Step, ...]:
    """Return the steps of a file without a trajectory, from the actions and observations in its history."""
    messages = [message for message in history if message is not None]
    first = next((n for n, message in enumerate(messages) if message.role == AGENT), len(messages))
    return conversation.to_steps(messages[first:])


def _decode_task(run: Json, messages: Sequence[Message]) -> Task:
    prompt = next((message.text for message in messages if message.role == "user"), "")
    description = describe(prompt) or _problem_statement(run)
    if not description:
        raise InvalidInput("expected a user message with the task in the field history, got none")
    digest = hashlib.sha256(description.encode("utf-8", "replace")).hexdigest()[:12]
    return Task(f"swe-agent/{digest}", "", description)


def describe(prompt: str) -> str:
    """Return the issue or challenge in a SWE-agent prompt, without instructions. Otherwise return the whole prompt."""
    return conversation.enclosed_text(prompt, _TASKS)


def _problem_statement(run: Json) -> str:
    problem = _replay_config(run).get("problem_statement")
    return as_text(problem.get("text"), "replay_config.problem_statement.text") if isinstance(problem, dict) else ""


def _model_name(run: Json) -> str:
    """Return the name of the language model, or an empty string. `replay` is not a model."""
    agent = _replay_config(run).get("agent")
    model = agent.get("model") if isinstance(agent, dict) else None
    name = model.get("name") if isinstance(model, dict) else None
    return name if isinstance(name, str) and name != "replay" else ""


def _replay_config(run: Json) -> Json:
    """Return the run's configuration, which is an object in some versions and a JSON string in others."""
    config = run.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except ValueError:
            return {}
    return config if isinstance(config, dict) else {}
