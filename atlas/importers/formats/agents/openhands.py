"""OpenHands' trajectories: lists of events, one attempt per user request.

An action of the agent and its observation are a step. A trajectory does not record whether a request was met, so every
outcome is unknown.

Source:
    https://github.com/All-Hands-AI/OpenHands
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.importers.fields import Json, as_instant, as_label, as_object, as_text, make_storable, replace_blobs
from atlas.importers.files import RawRecord, read_records
from atlas.importers.formats import conversation
from atlas.importers.formats.agents.sessions import Request, Requests, attempts_of
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.keys import record_keys
from atlas.importers.rows import Limits, Row

SOURCE = "openhands"

_INTERNAL_EVENTS = ("", "null", "system", "recall", "change_agent_state", "agent_state_changed", "condensation")
"""Actions and observations that only change the program's own state."""

_INTERNAL_ARGUMENTS = (
    "thought",
    "translated_ipython_code",
    "confirmation_state",
    "security_risk",
    "impl_source",
    "is_input",
    "is_static",
    "blocking",
    "hidden",
    "wait_for_response",
)
"""Arguments that OpenHands adds to the agent's arguments."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a list of events: actions and observations with their sources."""
    return any(
        {"source", "timestamp", "message"} <= keys and keys & {"action", "observation"} for keys in record_keys(head)
    )


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of a trajectory as they end."""
    trajectory = _Conversation(path.stem)
    yield from attempts_of(read_records(path, limits), trajectory.requests, trajectory.add_record, path.stat().st_size)


class _Conversation:
    """The current request of a trajectory, and the tools that its actions called."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.requests = Requests()
        self._tools: dict[str, str] = {}

    def add_record(self, record: RawRecord) -> None:
        """Add an event to the requests.

        Raises:
            InvalidInput: The event cannot be read, or answers a request that is not in the file.
        """
        event = as_object(record.value(), "the event")
        action = as_text(event.get("action"), "action")
        observation = as_text(event.get("observation"), "observation")
        if not action and not observation:
            raise InvalidInput("expected an action or an observation in the event, got neither")
        if action == "message" and event.get("source") == "user":
            self._begin_request(event, record)
        elif action not in _INTERNAL_EVENTS:
            self._add(self._decode_action(event, action), event, record)
        elif observation not in _INTERNAL_EVENTS:
            self._add(self._decode_observation(event, observation), event, record)
        elif self.requests.current is not None and _arguments(event, "extras").get("agent_state") == "error":
            self.requests.current.error = as_text(_arguments(event, "extras").get("reason"), "extras.reason") or "error"

    def _begin_request(self, event: Json, record: RawRecord) -> None:
        text = _content(_arguments(event, "args"), "args").strip() or as_text(event.get("message"), "message").strip()
        request = Request(
            source=SOURCE,
            text=text,
            position=record.position,
            session=self._name,
            key=f"{as_text(event.get('timestamp'), 'timestamp')} {as_label(event.get('id', record.position), 'id')}",
        )
        self.requests.begin(request)

    def _add(self, message: Message, event: Json, record: RawRecord) -> None:
        request = self.requests.answered_request()
        request.messages.append(message)
        response = _response(event)
        request.agent = _model(response) or request.agent
        request.spending.add(str(response.get("id", "")), response.get("usage"))
        request.record_time(as_instant(event.get("timestamp"), "timestamp"), len(record.raw))

    def _decode_action(self, event: Json, action: str) -> Message:
        arguments = _arguments(event, "args")
        thought = as_text(arguments.get("thought"), "args.thought")
        if action in ("message", "finish", "think"):
            text = _content(arguments, "args") or as_text(arguments.get("final_thought"), "args.final_thought")
            if action == "think":
                return Message(role=AGENT, thought=text or thought)
            return Message(role=AGENT, text=text or thought or as_text(event.get("message"), "message"))
        name, call_arguments = _tool_call(event)
        name = name or action
        self._tools[as_label(event.get("id", 0), "id")] = name
        if call_arguments is None:
            call_arguments = {key: value for key, value in arguments.items() if key not in _INTERNAL_ARGUMENTS}
        call = replace_blobs(conversation.format_call(name, make_storable(call_arguments)))
        return Message(role=AGENT if event.get("source") != "user" else "user", thought=thought, calls=(call,))

    def _decode_observation(self, event: Json, observation: str) -> Message:
        extras = _arguments(event, "extras")
        details = extras.get("metadata")
        code = details.get("exit_code") if isinstance(details, dict) else extras.get("exit_code")
        return Message(
            role="tool",
            text=_content(event, "the event") or as_text(event.get("message"), "message"),
            tool=self._tools.get(as_label(event.get("cause") or 0, "cause"), observation),
            has_failed=observation in ("error", "user_rejected")
            or event.get("success") is False
            or code not in (None, 0),
        )


def _arguments(event: Json, key: str) -> Json:
    return as_object(event.get(key) or {}, key)


def _content(value: Json, name: str) -> str:
    return conversation.read_content(value.get("content"), f"{name}.content").text


def _response(event: Json) -> Json:
    """Return the model response that called the action, or an empty object."""
    metadata = event.get("tool_call_metadata")
    response = metadata.get("model_response") if isinstance(metadata, dict) else None
    return response if isinstance(response, dict) else {}


def _model(response: Json) -> str:
    model = response.get("model")
    return model if isinstance(model, str) else ""


def _member(value: Any, name: str) -> Any:
    """Return a member of a JSON object, or None if the value is not an object or lacks the member."""
    return value.get(name) if isinstance(value, dict) else None


def _tool_call(event: Json) -> tuple[str, Any]:
    """Return the name and the arguments of the tool call behind an action, or '' and None if there is none."""
    metadata = event.get("tool_call_metadata")
    if not isinstance(metadata, dict):
        return "", None
    for choice in _response(event).get("choices") or ():
        for call in _member(_member(choice, "message"), "tool_calls") or ():
            function = _member(call, "function")
            if isinstance(function, dict) and call.get("id") == metadata.get("tool_call_id"):
                return as_text(function.get("name"), "function.name"), function.get("arguments")
    return as_text(metadata.get("function_name"), "tool_call_metadata.function_name"), None
