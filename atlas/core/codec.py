"""Trajectories and experiences as JSON and back, without loss, refusing what JSON cannot hold.

One codec serves the ledger, `atlas export` and `atlas import`, so a record reads the same everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Experience, Outcome, Step, Task, Trajectory, VerificationSpec

MAX_DEPTH = 100
"""Deepest nesting of a value. Deeper ones are refused, because recursive readers of them would fail."""

MAX_INTEGER_BITS = 4_096
"""Largest integer in bits. Python does not print larger ones, and few readers of JSON take them."""

STATISTICS = ("usage_count", "n_succeeded", "success_rate")
"""Fields of concepts and strategies that follow from what the store knows of their uses, and are not encoded."""

Json = dict[str, Any]


def to_text(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no NaN.

    Raises:
        InvalidInput: Something in the value is not JSON (NaN, a lone surrogate, a set, too deep …).
    """
    check_json(value, "value")
    return dump(value)


def dump(value: Any) -> str:
    """Return `to_text` of a value that was checked."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def check_text(text: str, where: str) -> None:
    """Raise `InvalidInput`, naming the place, for a text that the ledger cannot hold and so could not find."""
    if not isinstance(text, str):
        raise InvalidInput(f"{where} should be a text, but is {text!r:.80}")
    problem = _text_problem(text)
    if problem:
        raise InvalidInput(f"{where} {problem}")


def check_json(value: Any, where: str) -> None:
    """Raise `InvalidInput`, naming the place, unless the value is JSON that the ledger can hold."""
    fault = _find_fault(value, 0)
    if fault is not None:
        raise InvalidInput(f"{where}{fault.place} {fault.problem}")


@dataclass(slots=True)
class _Fault:
    problem: str
    place: str = ""

    def inside(self, part: str) -> _Fault:
        return _Fault(self.problem, part + self.place)


def _find_fault(value: Any, depth: int) -> _Fault | None:
    """Return what is wrong with a value, or None.

    The place is put together on the way back, because nearly every value is right.
    """
    if depth > MAX_DEPTH:
        return _Fault(f"nests more than {MAX_DEPTH} levels deep; flatten it")
    if isinstance(value, dict | list | tuple):
        for part, item in value.items() if isinstance(value, dict) else enumerate(value):
            fault = _find_fault(item, depth + 1) or (_key_fault(part) if isinstance(value, dict) else None)
            if fault is not None:
                return fault.inside(f".{str(part)[:40]}" if isinstance(value, dict) else f"[{part}]")
        return None
    return _scalar_fault(value)


def _key_fault(key: Any) -> _Fault | None:
    return _scalar_fault(key) if isinstance(key, str) else _Fault(f"is under the key {key!r}; keys should be strings")


def _scalar_fault(value: Any) -> _Fault | None:
    if isinstance(value, str):
        problem = _text_problem(value)
        return _Fault(problem) if problem else None
    if isinstance(value, float) and not math.isfinite(value):
        return _Fault(f"is {value}, which JSON cannot hold; leave it out or use null")
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return _Fault(f"is an integer of more than {MAX_INTEGER_BITS} bits; use a float or a text")
    if value is not None and not isinstance(value, int | float):
        return _Fault(f"is of type {type(value).__name__}, which JSON cannot hold")
    return None


def _text_problem(text: str) -> str:
    if "\x00" in text:
        return "holds a NUL character; remove it"
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            return f"holds a lone surrogate at character {error.start}; it is not valid text"
    return ""


def encode_trajectory(trajectory: Trajectory) -> Json:
    """Return a trajectory as JSON values that `decode_trajectory` turns into an equal one."""
    encoded = {
        **_encode_attempt(trajectory),
        "id": trajectory.id,
        "timestamp": encode_instant(trajectory.timestamp),
    }
    check_json(encoded, "trajectory")
    _check_score(trajectory.outcome)
    return encoded


def decode_trajectory(encoded: Json) -> Trajectory:
    """Return the trajectory that `encode_trajectory` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    check_object(encoded, "trajectory")
    extra = {"id": text_field(encoded, "id")} if "id" in encoded else {}
    return Trajectory(
        task=_decode_task(object_field(encoded, "task")),
        steps=_decode_steps(encoded),
        outcome=_decode_outcome(object_field(encoded, "outcome")),
        agent_id=text_field(encoded, "agent_id", ""),
        timestamp=decode_instant(encoded.get("timestamp"), "timestamp"),
        metadata=object_field(encoded, "metadata", {}),
        **extra,
    )


def encode_experience(experience: Experience) -> Json:
    """Return an experience as JSON values that `decode_experience` turns into an equal one."""
    encoded = {
        **_encode_attempt(experience),
        **{name: getattr(experience, name) for name in _EXPERIENCE_TEXTS},
        "created_at": encode_instant(experience.created_at),
    }
    check_json(encoded, "experience")
    _check_score(experience.outcome)
    return encoded


def decode_experience(encoded: Json) -> Experience:
    """Return the experience that `encode_experience` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    check_object(encoded, "experience")
    created_at = decode_instant(encoded.get("created_at"), "created_at")
    if created_at is None:
        raise InvalidInput("created_at is missing; give an ISO 8601 time")
    return Experience(
        id=text_field(encoded, "id"),
        task=_decode_task(object_field(encoded, "task")),
        outcome=_decode_outcome(object_field(encoded, "outcome")),
        created_at=created_at,
        metadata=object_field(encoded, "metadata", {}),
        steps=_decode_steps(encoded),
        agent_id=text_field(encoded, "agent_id", ""),
        trajectory_summary=text_field(encoded, "trajectory_summary", ""),
        embedding_text=text_field(encoded, "embedding_text", ""),
        solution_output=text_field(encoded, "solution_output", ""),
        feedback=text_field(encoded, "feedback", ""),
        trajectory_id=text_field(encoded, "trajectory_id", ""),
    )


_EXPERIENCE_TEXTS = ("id", "trajectory_summary", "embedding_text", "solution_output", "feedback", "trajectory_id")


def _encode_attempt(attempt: Trajectory | Experience) -> Json:
    """Return the fields that trajectories and experiences share.

    By hand, because `dataclasses.asdict` copies deeply and is far slower.
    """
    task, outcome = attempt.task, attempt.outcome
    return {
        "task": {
            "id": task.id,
            "domain": task.domain,
            "description": task.description,
            "context": _plain(task.context),
            "verification": {
                "method": task.verification.method,
                "parameters": _plain(task.verification.parameters),
            },
        },
        "steps": [
            {"thought": s.thought, "action": s.action, "observation": s.observation, "metadata": _plain(s.metadata)}
            for s in attempt.steps
        ],
        "outcome": {
            "success": outcome.success,
            "partial_score": outcome.partial_score,
            "error_info": outcome.error_info,
            "verification_details": _plain(outcome.verification_details),
        },
        "agent_id": attempt.agent_id,
        "metadata": _plain(attempt.metadata),
    }


def _plain(mapping: Mapping[str, Any]) -> Json:
    return mapping if isinstance(mapping, dict) else dict(mapping)


def _decode_task(encoded: Json) -> Task:
    verification = object_field(encoded, "verification", {})
    return Task(
        id=text_field(encoded, "id"),
        domain=text_field(encoded, "domain", ""),
        description=text_field(encoded, "description"),
        context=object_field(encoded, "context", {}),
        verification=VerificationSpec(
            text_field(verification, "method", ""), object_field(verification, "parameters", {})
        ),
    )


def _decode_steps(encoded: Json) -> tuple[Step, ...]:
    steps = encoded.get("steps", [])
    if not isinstance(steps, list | tuple):
        raise InvalidInput(f"steps should be a list, but is of type {type(steps).__name__}")
    return tuple(_decode_step(step, position) for position, step in enumerate(steps))


def _decode_step(step: Any, position: int) -> Step:
    if not isinstance(step, dict):
        raise InvalidInput(f"steps[{position}] should be an object, but is of type {type(step).__name__}")
    return Step(
        thought=text_field(step, "thought", ""),
        action=text_field(step, "action", ""),
        observation=text_field(step, "observation", ""),
        metadata=object_field(step, "metadata", {}),
    )


def _decode_outcome(encoded: Json) -> Outcome:
    success = encoded.get("success")
    if success is not None and not isinstance(success, bool):
        raise InvalidInput(f"outcome.success should be true, false or null, but is {success!r}")
    score = encoded.get("partial_score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InvalidInput(f"outcome.partial_score should be a number or null, but is {score!r}")
    error_info = encoded.get("error_info")
    if error_info is not None and not isinstance(error_info, str):
        raise InvalidInput(f"outcome.error_info should be a text or null, but is of type {type(error_info).__name__}")
    outcome = Outcome(success, score, error_info, object_field(encoded, "verification_details", {}))
    _check_score(outcome)
    return outcome


def _check_score(outcome: Outcome) -> None:
    if outcome.partial_score is not None and not 0 <= outcome.partial_score <= 1:
        raise InvalidInput(f"outcome.partial_score should be in [0, 1], but is {outcome.partial_score}")


def check_object(value: Any, name: str) -> None:
    """Raise `InvalidInput`, naming it, unless a value is a JSON object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} should be an object, but is of type {type(value).__name__}")


def text_fields(encoded: Json, noun: str, kind: type[Any], required: Sequence[str], optional: Sequence[str]) -> Json:
    """Return the text fields of an encoded dataclass by name, those of `optional` if they are there.

    Args:
        noun: What it is called in errors.
        kind: The dataclass.

    Raises:
        InvalidInput: It is no object, one is missing or no text, or it has a field that the dataclass has not.
    """
    check_object(encoded, noun)
    known = {field.name for field in fields(kind)} - set(STATISTICS)
    unknown = sorted(set(encoded) - known)
    if unknown:
        raise InvalidInput(f"a {noun} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    present = (*required, *(name for name in optional if name in encoded))
    return {name: text_field(encoded, name) for name in present}


def object_field(encoded: Json, name: str, default: Json | None = None) -> Json:
    """Return a field that is an object, or the default. Raise `InvalidInput` if it is missing without one."""
    value = encoded.get(name, default)
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} should be an object, but is {'missing' if value is None else type(value).__name__}")
    return dict(value)


def text_field(encoded: Json, name: str, default: str | None = None) -> str:
    """Return a field that is a text, or the default. Raise `InvalidInput` if it is missing without one."""
    value = encoded.get(name, default)
    if not isinstance(value, str):
        raise InvalidInput(f"{name} should be a text, but is {'missing' if value is None else type(value).__name__}")
    return value


def plain_list(value: Any, name: str) -> Sequence[Any]:
    """Return a list, or raise `InvalidInput` for anything else, a text included."""
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{name} should be a list, but is of type {type(value).__name__}")
    return value


def text_list(value: Any, name: str) -> list[str]:
    """Return a list of texts, or raise `InvalidInput` for anything else."""
    texts = list(plain_list(value, name))
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInput(f"{name} should hold texts alone")
    return texts


def encode_instant(instant: datetime | None) -> str | None:
    """Return a time as ISO 8601 in UTC, or raise `InvalidInput` if it has no time zone."""
    if instant is not None and instant.tzinfo is None:
        raise InvalidInput(f"the time {instant} has no time zone; use datetime.now(UTC) or replace(tzinfo=UTC)")
    try:
        return None if instant is None else instant.astimezone(UTC).isoformat()
    except OverflowError as error:
        raise InvalidInput(f"the time {instant} should be in the years 1 to 9999 in UTC, but is not") from error


def decode_instant(value: Any, name: str) -> datetime | None:
    """Return the time that an ISO 8601 text names, in UTC if it names no zone, or None for None."""
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name} should be an ISO 8601 time such as 2026-05-01T12:00:00+00:00, but is {value!r}"
        ) from error
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
