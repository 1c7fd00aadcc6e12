"""One experience, strategy or concept as one line of JSON with everything that is known of it, and back without loss.

`atlas export` writes such lines and `atlas import` reads them, so a store can be moved, compared and kept elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from atlas.core.codec import (
    Json,
    check_json,
    decode_experience,
    decode_trajectory,
    encode_experience,
    object_field,
    text_fields,
)
from atlas.core.concept_codec import decode_concept, encode_concept
from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import decode_entry
from atlas.core.operations import Marks, Usage, Use
from atlas.core.strategy_codec import decode_strategy, encode_strategy
from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy, Trajectory, Turn, Vectors

LENGTH_TOLERANCE = 1e-2
"""Largest difference from 1 in the length of an imported vector. A zero vector is accepted as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedExperience:
    """An experience, its marks and uses, and, if wanted, its vectors."""

    experience: Experience
    marks: Marks
    usage: Usage
    vectors: Vectors | None = None
    embedding_model: str = ""
    """The model that made the vectors, or empty if there are none."""

    content_hash: str = ""
    """Hash of the attempt as it was first read, which edits do not change. Empty if it is that of the experience."""

    stored_at: datetime | None = None
    """Time when it was first stored, or None if unknown."""

    uses: tuple[Use, ...] = ()
    """Oldest first, including those of experiences that were merged into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedStrategy:
    """A strategy, its marks, and every recorded attempt that it was used for."""

    strategy: Strategy
    """Without its own statistics, which follow from the attempts."""

    marks: Marks
    usage: Usage
    uses: tuple[Use, ...] = ()
    """Oldest first, including those of strategies that were merged into it."""

    stored_at: datetime | None = None
    """Time when it was first stored, or None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedConcept:
    """A concept with its lineage, its marks, and every recorded attempt that it was used for."""

    concept: CodeConcept
    """Without its own statistics, which follow from `usage`."""

    marks: Marks
    usage: Usage
    uses: tuple[Use, ...] = ()
    """Oldest first, including those of concepts that were merged into it."""

    stored_at: datetime | None = None
    """Time when it was first stored, or None if unknown."""


Exported = ExportedExperience | ExportedStrategy | ExportedConcept


def encode_line(exported: Exported) -> str:
    """Return it as one JSON object on one line, without the line break. `decode_line` gives it back equal.

    Raises:
        InvalidInput: Something in it is not JSON, such as NaN or a lone surrogate; the message names the field.
    """
    line: Json = {
        **_encode_content(exported),
        "marks": _encode_marks(exported.marks),
        "usage": _encode_usage(exported.usage),
        "stored_at": _encode_instant(exported.stored_at, "stored_at"),
    }
    check_json(line, "line")
    if isinstance(exported, ExportedExperience) and exported.vectors is not None and len(exported.vectors):
        line["vectors"] = _encode_vectors(exported.vectors)
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_content(exported: Exported) -> Json:
    uses = [_encode_use(use) for use in exported.uses]
    if isinstance(exported, ExportedExperience):
        return {
            "kind": "experience",
            "experience": encode_experience(exported.experience),
            "uses": uses,
            "embedding_model": exported.embedding_model,
            "content_hash": exported.content_hash,
        }
    if isinstance(exported, ExportedStrategy):
        return {"kind": "strategy", "strategy": encode_strategy(exported.strategy), "uses": uses}
    return {"kind": "concept", "concept": encode_concept(exported.concept), "uses": uses}


def decode_line(obj: Json) -> Exported | Trajectory | JournalEntry | Turn:
    """Return what `encode_line` wrote, or what a program wrote by hand.

    That is the trajectory of `{"kind": "trajectory", "trajectory": {…}}`, and likewise an `entry` of a journal, or a
    `turn` of a conversation.

    Raises:
        InvalidInput: A field is missing, of the wrong type or impossible; the message names it.
    """
    if not isinstance(obj, dict):
        raise InvalidInput(f"the line should be an object, but is of type {type(obj).__name__}")
    check_json({name: value for name, value in obj.items() if name != "vectors"}, "line")
    kind = obj.get("kind")
    decode = _DECODERS.get(kind) if isinstance(kind, str) else None
    if decode is None:
        raise InvalidInput(f"kind should be one of {', '.join(_DECODERS)}, but is {_shown(kind)}")
    return decode(obj)


def _decode_experience(obj: Json) -> ExportedExperience:
    experience = decode_experience(_object(obj, "experience"))
    return ExportedExperience(
        experience=experience,
        uses=_decode_uses(obj, experience.id),
        marks=_decode_marks(_object(obj, "marks", {})),
        usage=_decode_usage(_object(obj, "usage", {})),
        vectors=_decode_vectors(obj.get("vectors")),
        embedding_model=_text(obj, "embedding_model"),
        content_hash=_text(obj, "content_hash"),
        stored_at=_decode_instant(obj, "stored_at"),
    )


def _decode_strategy(obj: Json) -> ExportedStrategy:
    strategy = decode_strategy(_object(obj, "strategy"))
    return ExportedStrategy(
        strategy=strategy,
        marks=_decode_marks(_object(obj, "marks", {})),
        usage=_decode_usage(_object(obj, "usage", {})),
        uses=_decode_uses(obj, strategy.id),
        stored_at=_decode_instant(obj, "stored_at"),
    )


def _decode_concept(obj: Json) -> ExportedConcept:
    concept = decode_concept(_object(obj, "concept"))
    return ExportedConcept(
        concept=concept,
        marks=_decode_marks(_object(obj, "marks", {})),
        usage=_decode_usage(_object(obj, "usage", {})),
        uses=_decode_uses(obj, concept.id),
        stored_at=_decode_instant(obj, "stored_at"),
    )


def _decode_turn(obj: Json) -> Turn:
    encoded = _object(obj, "turn")
    values = text_fields(encoded, "turn", Turn, ("id", "conversation", "user_text", "response"), ())
    created_at = _decode_instant(encoded, "created_at", "turn.")
    if created_at is None:
        raise InvalidInput("turn.created_at is missing; give an ISO 8601 time")
    return Turn(**values, created_at=created_at, metadata=object_field(encoded, "metadata", {}))


_DECODERS: Mapping[str, Callable[[Json], Exported | Trajectory | JournalEntry | Turn]] = {
    "experience": _decode_experience,
    "strategy": _decode_strategy,
    "concept": _decode_concept,
    "trajectory": lambda obj: decode_trajectory(_object(obj, "trajectory")),
    "entry": lambda obj: decode_entry(_object(obj, "entry")),
    "turn": _decode_turn,
}
"""Readers of a line, by its kind."""


def _decode_uses(obj: Json, record_id: str) -> tuple[Use, ...]:
    uses = obj.get("uses", [])
    if not isinstance(uses, list):
        raise InvalidInput(f"uses should be a list, but is {_shown(uses)}")
    return tuple(_decode_use(use, record_id, n) for n, use in enumerate(uses))


def _encode_use(use: Use) -> Json:
    return {
        "success": use.success,
        "task_id": use.task_id,
        "trajectory_id": use.trajectory_id,
        "at": _encode_instant(use.at, "at"),
        "actor": use.actor,
    }


def _decode_use(encoded: Any, record_id: str, position: int) -> Use:
    prefix = f"uses[{position}]."
    if not isinstance(encoded, dict):
        raise InvalidInput(f"uses[{position}] should be an object, but is {_shown(encoded)}")
    at = _decode_instant(encoded, "at", prefix)
    if at is None or "success" not in encoded:
        raise InvalidInput(f"uses[{position}] should say `at` and `success`; give it both, or leave it out")
    return Use(
        record_id=record_id,
        success=_truth(encoded, "success", prefix),
        task_id=_text(encoded, "task_id", prefix),
        trajectory_id=_text(encoded, "trajectory_id", prefix),
        at=at,
        actor=_text(encoded, "actor", prefix),
    )


def _encode_marks(marks: Marks) -> Json:
    return {
        "tags": list(marks.tags),
        "pinned": marks.pinned,
        "note": marks.note,
        "buried": marks.buried,
        **({"held_for": marks.held_for} if marks.held_for else {}),
    }


def _decode_marks(encoded: Json) -> Marks:
    tags = encoded.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput(f"marks.tags should be a list of texts, but is {_shown(tags)}")
    return Marks(
        tags=tuple(tags),
        pinned=_truth(encoded, "pinned", "marks."),
        note=_text(encoded, "note", "marks."),
        buried=_truth(encoded, "buried", "marks."),
        held_for=_text(encoded, "held_for", "marks."),
    )


def _encode_usage(usage: Usage) -> Json:
    return {
        "n_uses": usage.n_uses,
        "n_successes": usage.n_successes,
        "last_used_at": _encode_instant(usage.last_used_at, "usage.last_used_at"),
        "n_retrieved": usage.n_retrieved,
        "last_retrieved_at": _encode_instant(usage.last_retrieved_at, "usage.last_retrieved_at"),
    }


def _decode_usage(encoded: Json) -> Usage:
    usage = Usage(
        n_uses=_count(encoded, "n_uses"),
        n_successes=_count(encoded, "n_successes"),
        last_used_at=_decode_instant(encoded, "last_used_at", "usage."),
        n_retrieved=_count(encoded, "n_retrieved"),
        last_retrieved_at=_decode_instant(encoded, "last_retrieved_at", "usage."),
    )
    if usage.n_successes > usage.n_uses:
        raise InvalidInput(f"usage.n_successes should be at most n_uses, {usage.n_uses}, but is {usage.n_successes}")
    return usage


def _encode_vectors(vectors: Vectors) -> list[list[float]]:
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        raise InvalidInput(f"vectors should be finite and of shape (n, dim), but are of shape {vectors.shape}")
    rows: list[list[float]] = vectors.astype(np.float32).astype(np.float64).tolist()
    return rows


def _decode_vectors(value: Any) -> Vectors | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list) or not all(isinstance(row, list) and row for row in value):
        raise InvalidInput(f"vectors should be a list of lists of numbers, but is {_shown(value)}")
    if len({len(row) for row in value}) != 1:
        raise InvalidInput("vectors should be rows of one length, but their lengths differ")
    if not all(type(number) in (int, float) for row in value for number in row):
        raise InvalidInput("vectors should hold numbers only")
    return _checked(value)


def _checked(rows: list[list[float]]) -> Vectors:
    try:
        wide = np.asarray(rows, dtype=np.float64)
    except OverflowError as error:
        raise InvalidInput("vectors should hold numbers between -1 and 1, but one is too large") from error
    with np.errstate(over="ignore"):  # one that overflows is infinite, and no length that a vector may have
        lengths = np.linalg.norm(wide, axis=1)
    odd = ~((np.abs(lengths - 1) <= LENGTH_TOLERANCE) | (lengths == 0))
    if odd.any():
        position = int(np.argmax(odd))
        raise InvalidInput(f"vectors[{position}] should be of length 1, but is of length {lengths[position]:.3g}")
    return wide.astype(np.float32)


def _encode_instant(instant: datetime | None, name: str) -> str | None:
    if instant is not None and instant.tzinfo is None:
        raise InvalidInput(f"{name} has no time zone; use datetime.now(UTC) or replace(tzinfo=UTC)")
    return None if instant is None else instant.astimezone(UTC).isoformat()


def _decode_instant(encoded: Json, name: str, prefix: str = "") -> datetime | None:
    value = encoded.get(name)
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{prefix}{name} should be an ISO 8601 time, but is {_shown(value)}") from error
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant


def _count(encoded: Json, name: str) -> int:
    value = encoded.get(name, 0)
    if type(value) is not int or not 0 <= value < 2**63:
        raise InvalidInput(f"usage.{name} should be a whole number, 0 or more, but is {_shown(value)}")
    return value


def _object(encoded: Json, name: str, default: Json | None = None) -> Json:
    value = encoded.get(name, default)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} should be an object, but is {'missing' if value is None else _shown(value)}")
    return value


def _text(encoded: Json, name: str, prefix: str = "") -> str:
    value = encoded.get(name, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{prefix}{name} should be a text, but is {_shown(value)}")
    return value


def _truth(encoded: Json, name: str, prefix: str) -> bool:
    value = encoded.get(name, False)
    if not isinstance(value, bool):
        raise InvalidInput(f"{prefix}{name} should be true or false, but is {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool | float | str):
        return repr(value)[:60]
    return f"of type {type(value).__name__}"
