"""Vendor-neutral traces: a tree of model and tool calls as one attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.importers.fields import Json, drop_missing, make_storable, replace_blobs
from atlas.importers.formats import conversation
from atlas.importers.logs import FAILED_KEY, SCORES, stable_id
from atlas.importers.spending import Spending

MODEL, TOOL, OTHER = "model", "tool", "other"
MAX_DEPTH = 12
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_PROMPT_KEYS = (
    "messages",
    "new_message",
    "contents",
    "input",
    "prompt",
    "question",
    "query",
    "task",
    "args",
    "parts",
    "content",
    "text",
)
_REPLY_KEYS = ("choices", "message", "messages", "candidates", "content", "parts", "output", "text", "value", "result")
_USER_MESSAGE_REPR = re.compile(r"role='user' content=(['\"])(.{1,20000}?)\1 \w+=", re.DOTALL)
"""Pattern of a user message in Python's `repr`."""

_ROLES = ("system:", "developer:", "user:", "assistant:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One call of a trace."""

    id: str
    parent: str = ""
    name: str = ""
    kind: str = OTHER
    """`model`, `tool` or `other`."""

    start: datetime | None = None
    end: datetime | None = None
    input_value: Any = None
    """Input of the call, a JSON value or a string."""

    output_value: Any = None
    """Output of the call, a JSON value or a string."""

    model: str = ""
    usage: Any = None
    """Token counts, under the names of the common APIs."""

    cost_usd: Any = None
    is_of_agent: bool = True
    """False if no attribute is specific to an agent or a model."""

    error: str = ""
    """Reason why the call failed, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The spans of one trace, in any order, and the properties of the trace."""

    id: str
    source: str
    spans: Sequence[Span]
    name: str = ""
    input_value: Any = None
    output_value: Any = None
    at: datetime | None = None
    domain: str = ""
    scores: Json = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)

    def attempt(self) -> Trajectory:
        """Return the trace as an attempt, of unknown outcome.

        Raises:
            InvalidInput: The trace has no input or name that could be the task.
        """
        ordered = sorted(self.spans, key=lambda span: (span.start or _EARLIEST, span.id))
        description = self._description(ordered)
        steps = tuple(_steps(ordered))
        answer = output_text(self.output_value) or next((step.action for step in reversed(steps) if step.action), "")
        errors = [span.error for span in ordered if span.error]
        return Trajectory(
            id=stable_id(self.source, self.id),
            task=Task(f"{self.source}/{stable_id(description)[:12]}", self.domain, description),
            steps=steps,
            outcome=Outcome(None, error_info=errors[-1] if errors else None),
            agent_id=next((span.model for span in ordered if span.model), ""),
            timestamp=max((at for span in ordered if (at := span.end or span.start)), default=self.at),
            metadata={
                "source": self.source,
                "trace": self.id,
                **drop_missing(name=self.name, solution=answer),
                **({SCORES: self.scores} if self.scores else {}),
                **_spending(ordered).metadata(),
                **drop_missing(seconds=_seconds(ordered)),
                **self.metadata,
            },
        )

    @property
    def is_of_agent(self) -> bool:
        """True if at least one span belongs to an agent or a model, not to an ordinary program."""
        return any(span.is_of_agent for span in self.spans)

    def _description(self, ordered: Sequence[Span]) -> str:
        ids = {span.id for span in ordered}
        roots = [span for span in ordered if span.parent not in ids]
        models = [span for span in ordered if span.kind == MODEL]
        candidates = (self.input_value, *(span.input_value for span in (*models, *roots)))
        description = next((text for value in candidates if (text := input_text(value))), "") or self.name
        description = description or next((span.name for span in roots if span.name), "")
        if not description.strip():
            raise InvalidInput(
                f"trace {self.id[:40]} has neither an input nor a name, so the task is unknown; leave it out"
            )
        return description.strip()


def input_text(value: Any) -> str:
    """Return the last user message in the input of a call, in the format of any vendor."""
    value = decode_json(value)
    if isinstance(value, list) and value and all(isinstance(message, dict) and "role" in message for message in value):
        user_messages = [message for message in value if message["role"] in ("user", "human")]
        return first_text(user_messages[-1], _PROMPT_KEYS) if user_messages else ""
    if isinstance(value, dict):
        for key in _PROMPT_KEYS:
            if key in value and (text := input_text(value[key])):
                return text
        return ""
    if isinstance(value, list) and all(isinstance(message, str) for message in value):
        value = "\n\n".join(value)
    if isinstance(value, str):
        return _last_user_message(value)
    return first_text(value, _PROMPT_KEYS)


def output_text(value: Any) -> str:
    """Return the output of a call as a string: its text and tool calls, or the value as JSON if it has neither."""
    value = decode_json(value)
    calls = tuple(_calls(value, 0))
    text = first_text(value, _REPLY_KEYS)
    if text or calls:
        return "\n".join((*((text,) if text else ()), *calls))
    if value is None or value in ({}, [], ""):
        return ""
    return json.dumps(make_storable(value), ensure_ascii=False)


def decode_json(value: Any) -> Any:
    """Return a value, parsed as JSON for as long as it is a string that contains JSON."""
    for _ in range(3):
        if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            break
    return value


def first_text(value: Any, keys: Sequence[str], depth: int = 0) -> str:
    """Return the first string below the given keys of a value, trying the keys in order. Empty if there is none."""
    if isinstance(value, str):
        return replace_blobs(value).strip() if value.strip() not in ("None", "null") else ""
    if depth >= MAX_DEPTH:
        return ""
    if isinstance(value, list):
        texts = [first_text(item, keys, depth + 1) for item in value]
        return "\n\n".join(text for text in texts if text)
    if isinstance(value, dict):
        return next((text for key in keys if key in value and (text := first_text(value[key], keys, depth + 1))), "")
    return ""


def _last_user_message(text: str) -> str:
    """Return the last user message of a transcript in one string, or any other string unchanged."""
    if messages := _USER_MESSAGE_REPR.findall(text):
        _, message = messages[-1]
        return str(message).strip()
    if not text.startswith(_ROLES):
        return first_text(text, ())
    _, separator, last = f"\n{text}".rpartition("\nuser:")
    return last.partition("\nassistant:")[0].strip() if separator else ""


def _calls(value: Any, depth: int) -> Iterator[str]:
    """Yield the tool calls of a model, in the formats of the common vendors."""
    if depth >= MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _calls(item, depth + 1)
    elif isinstance(value, dict):
        function = value.get("function") or value.get("function_call") or (value if _is_call(value) else None)
        if isinstance(function, dict) and isinstance(function.get("name"), str):
            arguments: Any = next((function[key] for key in ("arguments", "args", "input") if key in function), {})
            yield replace_blobs(conversation.format_call(function["name"], make_storable(arguments)))
            return
        for key in ("choices", "message", "messages", "candidates", "content", "parts", "tool_calls", "tool_call"):
            yield from _calls(value.get(key), depth + 1)


def _is_call(value: Json) -> bool:
    return value.get("type") in ("tool_use", "tool_call", "function_call") and "name" in value


def _steps(ordered: Sequence[Span]) -> Iterator[Step]:
    """Yield the calls to models and tools as steps. A nested call that repeats the enclosing call is left out."""
    by_id = {span.id: span for span in ordered}
    parents = {span.parent for span in ordered}
    previous_text = ""
    for span in ordered:
        has_result = span.output_value is not None or bool(span.error)
        is_call = span.kind != OTHER or (has_result and span.id not in parents)
        if not is_call or _is_nested_call(span, by_id):
            continue
        step = _step(span)
        text = step.action + step.observation
        if text and (text != previous_text or span.error):
            yield step
        previous_text = text


def _spending(spans: Sequence[Span]) -> Spending:
    """Return the cost of the model calls. A call includes its nested calls, which are not counted again."""
    by_id = {span.id: span for span in spans}
    spending = Spending()
    for span in spans:
        if span.kind == MODEL and not any(outer.kind == MODEL and outer.usage for outer in _ancestors(span, by_id)):
            spending.add(span.id, span.usage, span.cost_usd)
    return spending


def _seconds(spans: Sequence[Span]) -> float | None:
    """Return the seconds from the beginning of the first span to the end of the last. None if unknown."""
    starts = [span.start for span in spans if span.start]
    ends = [span.end for span in spans if span.end]
    return round((max(ends) - min(starts)).total_seconds(), 3) if starts and ends and max(ends) > min(starts) else None


def _ancestors(span: Span, by_id: dict[str, Span]) -> Iterator[Span]:
    visited = {span.id}
    while (parent := by_id.get(span.parent)) is not None and parent.id not in visited:
        yield parent
        visited.add(parent.id)
        span = parent


def _is_nested_call(span: Span, by_id: dict[str, Span]) -> bool:
    return any(
        outer.kind in (MODEL, TOOL) and outer.kind == below.kind and outer.output_value is not None
        for below, outer in pairwise([span, *_ancestors(span, by_id)])
    )


def _step(span: Span) -> Step:
    metadata = drop_missing(span=span.name, seconds=_seconds([span]))
    if span.error:
        metadata[FAILED_KEY] = True
    if span.kind == MODEL:
        return Step(action=output_text(span.output_value), observation=span.error, metadata=metadata)
    answer = "\n\n".join(text for text in (span.error, output_text(span.output_value)) if text)
    action = ""
    if span.kind == TOOL:
        action = replace_blobs(conversation.format_call(span.name, make_storable(decode_json(span.input_value) or {})))
    return Step(action=action, observation=answer, metadata=metadata)
