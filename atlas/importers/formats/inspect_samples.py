"""One sample of an Inspect log as a trajectory: its input, its messages as steps, and its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Step, Task, Trajectory, VerificationSpec
from atlas.importers.fields import (
    Json,
    as_instant,
    as_label,
    as_list,
    as_number,
    as_object,
    as_text,
    drop_missing,
    make_storable,
    required_text,
)
from atlas.importers.formats import conversation
from atlas.importers.formats.conversation import SYSTEM, Message
from atlas.importers.formats.inspect_scores import combine_scores, feedback, read_scores
from atlas.importers.rows import MEGABYTE, Limits

_REFERENCES = ("attachment://", "tc://")
"""Prefixes of references to long texts that the log stores separately. The second is used by old logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The metadata that all samples of a log share."""

    task: str
    model: str
    status: str
    """Status of the log: `success`, `cancelled`, `error` or `started`."""

    created_at: datetime | None

    @classmethod
    def from_log(cls, log: Json) -> Header:
        """Return the header from the top-level object of a log."""
        evaluation = as_object(log.get("eval"), "eval")
        return cls(
            task=required_text(evaluation, "task", "eval.task"),
            model=as_text(evaluation.get("model"), "eval.model"),
            status=as_text(log.get("status"), "status") or "started",
            created_at=as_instant(evaluation.get("created"), "eval.created"),
        )


class Attachments:
    """The texts that a sample stores separately. References are resolved up to a total length."""

    def __init__(self, sample: Json, limit: int) -> None:
        texts = as_object(sample.get("attachments") or {}, "attachments")
        old_texts = as_object(sample.get("transcript") or {}, "transcript").get("content")
        self._texts = {**(old_texts if isinstance(old_texts, dict) else {}), **texts}
        self._n_left = self._limit = limit

    def resolve(self, text: str) -> str:
        """Return the attachment that a reference names, or any other text unchanged.

        Raises:
            InvalidInput: The resolved attachments exceed the limit in total.
        """
        prefix = next((prefix for prefix in _REFERENCES if text.startswith(prefix)), None)
        if prefix is None:
            return text
        attachment = as_text(self._texts.get(text.removeprefix(prefix), text), "attachments")
        self._n_left -= len(attachment)
        if self._n_left < 0:
            raise InvalidInput(
                f"the attachments of the sample exceed {self._limit / MEGABYTE:,.0f} MB in total; leave the sample out"
            )
        return attachment


def trajectory(sample: Json, header: Header, limits: Limits) -> Trajectory:
    """Return the sample as one attempt, whose task's description is the input.

    Raises:
        InvalidInput: A field is of the wrong type; the message names it.
    """
    attachments = Attachments(sample, limits.max_document_bytes)
    message_list = as_list(sample.get("messages"), "messages")
    messages = [_decode_message(value, f"messages[{n}]", attachments) for n, value in enumerate(message_list)]
    system, turns = conversation.split_system(messages)
    task = _decode_task(sample, header, attachments)
    answer = _final_answer(sample, attachments) or conversation.final_action(turns)
    return Trajectory(
        task=task,
        steps=_decode_steps(turns, task.description, answer),
        outcome=_decode_outcome(sample),
        agent_id=header.model,
        timestamp=_ended_at(sample) or header.created_at,
        metadata=_decode_metadata(sample, header)
        | drop_missing(
            system_prompt=system,
            solution=answer,
            feedback=feedback(sample, answer, attachments.resolve),
        ),
    )


def _decode_metadata(sample: Json, header: Header) -> Json:
    return drop_missing(
        source="inspect",
        status=header.status,
        task=header.task,
        epoch=as_number(sample.get("epoch"), "epoch"),
        limit=make_storable(sample.get("limit")),
    )


def _decode_task(sample: Json, header: Header, attachments: Attachments) -> Task:
    label = as_label(sample.get("id"), "id")
    question = _input_text(sample.get("input"), attachments)
    return Task(
        id=f"inspect/{header.task}/{label}",
        domain=header.task,
        description=question.strip() or f"Inspect task {header.task}, sample {label}",
        context=drop_missing(
            choices=make_storable(sample.get("choices")), metadata=make_storable(sample.get("metadata")) or None
        ),
        verification=VerificationSpec(
            "+".join(read_scores(sample)), drop_missing(target=make_storable(sample.get("target")))
        ),
    )


def _input_text(value: Any, attachments: Attachments) -> str:
    """Return the input, which is a string or a list of messages, as a string.

    System messages are left out if there are others.
    """
    if not isinstance(value, list):
        return conversation.read_content(value, "input", attachments.resolve).text
    messages = [_decode_message(message, f"input[{n}]", attachments) for n, message in enumerate(value)]
    relevant = [message for message in messages if message.role not in SYSTEM] or messages
    return "\n\n".join(message.text for message in relevant)


def _decode_steps(messages: Sequence[Message], description: str, answer: str) -> tuple[Step, ...]:
    """Return the messages as steps, without a first step that only repeats the description."""
    steps = conversation.to_steps(messages)
    if steps and not steps[0].action and not steps[0].thought and steps[0].observation.strip() == description:
        steps = steps[1:]
    return steps or ((Step(action=answer),) if answer else ())


def _decode_message(value: Any, name: str, attachments: Attachments) -> Message:
    message = as_object(value, name)
    content = conversation.read_content(message.get("content"), f"{name}.content", attachments.resolve)
    calls = as_list(message.get("tool_calls"), f"{name}.tool_calls")
    return Message(
        role=required_text(message, "role", f"{name}.role"),
        text=_with_error(content.text, message.get("error"), f"{name}.error"),
        thought=content.thought,
        calls=tuple(_format_call(call, f"{name}.tool_calls[{n}]", attachments) for n, call in enumerate(calls)),
        tool=as_text(message.get("function"), f"{name}.function"),
    )


def _with_error(text: str, error: Any, name: str) -> str:
    if error is None:
        return text
    error = as_object(error, name)
    kind = as_text(error.get("type"), f"{name}.type")
    return f"[{kind or 'error'}] {as_text(error.get('message'), f'{name}.message')}\n{text}".rstrip()


def _format_call(value: Any, name: str, attachments: Attachments) -> str:
    tool_call = as_object(value, name)
    arguments = _resolve(tool_call.get("arguments") or {}, attachments)
    return conversation.format_call(required_text(tool_call, "function", f"{name}.function"), make_storable(arguments))


def _resolve(value: Any, attachments: Attachments) -> Any:
    if isinstance(value, str):
        return attachments.resolve(value)
    if isinstance(value, list):
        return [_resolve(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolve(item, attachments) for key, item in value.items()}
    return value


def _final_answer(sample: Json, attachments: Attachments) -> str:
    """Return the model's final answer, as the log records it."""
    output = as_object(sample.get("output") or {}, "output")
    choices = as_list(output.get("choices"), "output.choices")
    if not choices:
        return ""
    message = as_object(as_object(choices[0], "output.choices[0]").get("message"), "output.choices[0].message")
    return conversation.read_content(
        message.get("content"), "output.choices[0].message.content", attachments.resolve
    ).text


def _decode_outcome(sample: Json) -> Outcome:
    result = combine_scores(sample)
    error = sample.get("error")
    message = as_text(as_object(error, "error").get("message"), "error.message") if error is not None else ""
    return Outcome(
        success=result.success,
        partial_score=result.partial_score,
        error_info=(message or "error") if error is not None else None,
        verification_details=drop_missing(scores=result.values or None),
    )


def _ended_at(sample: Json) -> datetime | None:
    return as_instant(sample.get("completed_at") or sample.get("started_at"), "completed_at")
