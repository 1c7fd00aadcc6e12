"""Lossless conversion between records, with marks and usage, and lines of JSON.

`atlas export` writes such lines and `atlas import` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np

from atlas.core.codec import (
    decode_concept,
    decode_experience,
    decode_strategy,
    decode_trajectory,
    encode_concept,
    encode_experience,
    encode_strategy,
)
from atlas.core.errors import InvalidInput
from atlas.core.journal_codec import decode_entry
from atlas.core.json_values import Json, check_json
from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage, Use
from atlas.core.schema import decode, encode, encode_instant
from atlas.core.types import CodeConcept, Experience, JournalEntry, Strategy, Trajectory, Turn, Vectors

LENGTH_TOLERANCE = 1e-2
"""Tolerance for the length of an imported vector, which should be 1. A zero vector is accepted as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedExperience:
    """An experience with its marks, uses and, optionally, vectors."""

    experience: Experience
    marks: Marks
    usage: Usage
    vectors: Vectors | None = None
    embedding_model: str = ""
    """The model that made the vectors, or empty if there are no vectors."""

    content_hash: str = ""
    """Hash of the original attempt, which edits do not change. Empty if it equals the experience's hash."""

    stored_at: datetime | None = None
    """Time when the experience was first stored, or None if unknown."""

    uses: tuple[Use, ...] = ()
    """Uses, oldest first, including the uses of experiences that were merged into this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedStrategy:
    """A strategy, its marks, and every recorded attempt that it was used for."""

    strategy: Strategy
    """The strategy without statistics, which are computed from the attempts."""

    marks: Marks
    usage: Usage
    uses: tuple[Use, ...] = ()
    """Uses, oldest first, including the uses of strategies that were merged into this one."""

    stored_at: datetime | None = None
    """Time when the strategy was first stored, or None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedConcept:
    """A concept with its lineage, its marks, and every recorded attempt that it was used for."""

    concept: CodeConcept
    """The concept without statistics, which are computed from `usage`."""

    marks: Marks
    usage: Usage
    uses: tuple[Use, ...] = ()
    """Uses, oldest first, including the uses of concepts that were merged into this one."""

    stored_at: datetime | None = None
    """Time when the concept was first stored, or None if unknown."""


ExportedRecord = ExportedExperience | ExportedStrategy | ExportedConcept


def encode_line(exported: Any, lines: Mapping[str, LineKind] | None = None) -> str:
    """Return a record as a line of JSON without the line break, for `decode_line`.

    Args:
        lines: The kinds of lines, keyed by name; `LINES` if it is None.

    Raises:
        InvalidInput: A field is not valid JSON, such as NaN or a lone surrogate; the message names it.
    """
    line: Json = {
        **_encode_content(exported, LINES if lines is None else lines),
        "uses": [encode(use, ("record_id",)) for use in exported.uses],
        "marks": encode(exported.marks),
        "usage": encode(exported.usage),
        "stored_at": encode_instant(exported.stored_at, "stored_at"),
    }
    check_json(line, "line")
    if isinstance(exported, ExportedExperience) and exported.vectors is not None and len(exported.vectors):
        line["vectors"] = _encode_vectors(exported.vectors)
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_content(exported: Any, lines: Mapping[str, LineKind]) -> Json:
    for name, kind in lines.items():
        if kind.exported is not None and isinstance(exported, kind.exported):
            return {"kind": name, **kind.encode(exported)}
    raise InvalidInput(f"{type(exported).__name__} cannot be exported; register a LineKind for it")


def decode_line(
    obj: Json, lines: Mapping[str, LineKind] | None = None
) -> ExportedRecord | Trajectory | JournalEntry | Turn:
    """Return the record of a parsed line of JSON, which `encode_line` or a person wrote.

    For `{"kind": "trajectory", "trajectory": {…}}` the record is the trajectory. Lines of the kinds `entry` (of a
    journal) and `turn` (of a conversation) have the same form.

    Args:
        lines: The kinds of lines, keyed by name; `LINES` if it is None.

    Raises:
        InvalidInput: A field is missing, has the wrong type or is out of range; the message names it.
    """
    if not isinstance(obj, dict):
        raise InvalidInput(f"expected an object for the line, got type {type(obj).__name__}")
    check_json({name: value for name, value in obj.items() if name != "vectors"}, "line")
    kind = obj.get("kind")
    lines = LINES if lines is None else lines
    if not isinstance(kind, str) or kind not in lines:
        raise InvalidInput(f"expected one of {', '.join(lines)} for kind, got {kind!r:.60}")
    return lines[kind].decode(obj)


def _decode_experience(obj: Json) -> ExportedExperience:
    experience = decode_experience(obj.get("experience"))
    vector_source = decode(_VectorSource, obj, "line")
    return ExportedExperience(
        experience=experience,
        vectors=_decode_vectors(obj.get("vectors")),
        embedding_model=vector_source.embedding_model,
        content_hash=vector_source.content_hash,
        **decode_history(obj, experience.id),
    )


def _decode_strategy(obj: Json) -> ExportedStrategy:
    strategy = decode_strategy(obj.get("strategy"))
    return ExportedStrategy(strategy=strategy, **decode_history(obj, strategy.id))


def _decode_concept(obj: Json) -> ExportedConcept:
    concept = decode_concept(obj.get("concept"))
    return ExportedConcept(concept=concept, **decode_history(obj, concept.id))


def _encode_experience(exported: ExportedExperience) -> Json:
    return {
        "experience": encode_experience(exported.experience),
        "embedding_model": exported.embedding_model,
        "content_hash": exported.content_hash,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class LineKind:
    """A kind of line in an export file, such as `experience`."""

    decode: Callable[[Json], ExportedRecord | Trajectory | JournalEntry | Turn]
    exported: type | None = None
    """Type of the exported record, with the fields `marks`, `usage`, `uses` and `stored_at`.

    None for a kind that is imported but never exported.
    """

    encode: Callable[[Any], Json] = lambda exported: {}
    """Function that returns the content of a record's line, without marks and uses."""


LINES: Mapping[str, LineKind] = {
    "experience": LineKind(exported=ExportedExperience, encode=_encode_experience, decode=_decode_experience),
    "strategy": LineKind(
        exported=ExportedStrategy,
        encode=lambda exported: {"strategy": encode_strategy(exported.strategy)},
        decode=_decode_strategy,
    ),
    "concept": LineKind(
        exported=ExportedConcept,
        encode=lambda exported: {"concept": encode_concept(exported.concept)},
        decode=_decode_concept,
    ),
    "trajectory": LineKind(decode=lambda obj: decode_trajectory(obj.get("trajectory"))),
    "entry": LineKind(decode=lambda obj: decode_entry(obj.get("entry"))),
    "turn": LineKind(decode=lambda obj: decode(Turn, obj.get("turn"), "turn", strict=True)),
}
"""The kinds of lines, keyed by the value of a line's `kind`."""


@dataclass(frozen=True, slots=True)
class _VectorSource:
    embedding_model: str = ""
    content_hash: str = ""


@dataclass(frozen=True, slots=True)
class _History:
    marks: Marks = NO_MARKS
    usage: Usage = NO_USAGE
    uses: tuple[Use, ...] = ()
    stored_at: datetime | None = None


def decode_history(obj: Json, record_id: str) -> Json:
    """Return the `marks`, `usage`, `uses` and `stored_at` of a line, keyed by these names."""
    uses = obj.get("uses", ())
    if isinstance(uses, list):
        uses = [{**use, "record_id": record_id} if isinstance(use, dict) else use for use in uses]
    history = decode(_History, {**obj, "uses": uses}, "line")
    _check_usage(history.usage)
    return {field.name: getattr(history, field.name) for field in fields(history)}


def _check_usage(usage: Usage) -> None:
    for name in ("n_uses", "n_successes", "n_retrieved"):
        if getattr(usage, name) < 0:
            raise InvalidInput(f"expected a whole number of at least 0 for usage.{name}, got {getattr(usage, name)}")
    if usage.n_successes > usage.n_uses:
        raise InvalidInput(f"expected at most {usage.n_uses} (n_uses) for usage.n_successes, got {usage.n_successes}")


def _encode_vectors(vectors: Vectors) -> list[list[float]]:
    if vectors.ndim != 2:
        raise InvalidInput(f"expected shape (n, dim) for vectors, got shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise InvalidInput("expected finite numbers for vectors, got NaN or infinity")
    rows: list[list[float]] = vectors.astype(np.float32).astype(np.float64).tolist()
    return rows


def _decode_vectors(value: Any) -> Vectors | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list) or not all(isinstance(row, list) and row for row in value):
        raise InvalidInput(f"expected a list of lists of numbers for vectors, got {value!r:.60}")
    if len({len(row) for row in value}) != 1:
        raise InvalidInput("expected rows of the same length for vectors, got different lengths")
    for number in chain.from_iterable(value):
        if type(number) not in (int, float):
            raise InvalidInput(f"expected only numbers for vectors, got {number!r:.60}")
    return _to_vectors(value)


def _to_vectors(rows: list[list[float]]) -> Vectors:
    """Return rows as vectors, or raise `InvalidInput` unless each has length 1 or 0."""
    try:
        vectors = np.asarray(rows, dtype=np.float64)
    except OverflowError as error:
        raise InvalidInput("expected numbers from -1 to 1 for vectors, got a number that is too large") from error
    with np.errstate(over="ignore"):  # an overflow gives an infinite length, which is refused below
        lengths = np.linalg.norm(vectors, axis=1)
    has_wrong_length = ~((np.abs(lengths - 1) <= LENGTH_TOLERANCE) | (lengths == 0))
    if has_wrong_length.any():
        position = int(np.argmax(has_wrong_length))
        raise InvalidInput(f"expected length 1 for vectors[{position}], got length {lengths[position]:.3g}")
    return vectors.astype(np.float32)
