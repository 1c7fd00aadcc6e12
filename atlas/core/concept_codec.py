"""Concepts as JSON and back, without loss."""

from __future__ import annotations

from typing import Any

from atlas.core.codec import (
    Json,
    check_json,
    decode_instant,
    encode_instant,
    object_field,
    plain_list,
    text_fields,
    text_list,
)
from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept

REQUIRED = ("id", "name", "description", "code")
OPTIONAL = ("signature", "source", "language", "guidance")
LISTS = ("calls", "found_in", "composed_of")


def encode_concept(concept: CodeConcept) -> Json:
    """Return a concept without its statistics as JSON values. `decode_concept` gives the rest back equal."""
    encoded: Json = {name: getattr(concept, name) for name in (*REQUIRED, *OPTIONAL)}
    encoded |= {name: list(getattr(concept, name)) for name in LISTS}
    encoded |= {
        "examples": [list(example) for example in concept.examples],
        "metadata": dict(concept.metadata),
        "created_at": encode_instant(concept.created_at),
    }
    check_json(encoded, "concept")
    return encoded


def decode_concept(encoded: Json) -> CodeConcept:
    """Return the concept that `encode_concept` encoded.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type; the message names it.
    """
    values = text_fields(encoded, "concept", CodeConcept, REQUIRED, OPTIONAL)
    values |= {name: tuple(text_list(encoded.get(name, []), name)) for name in LISTS}
    return CodeConcept(
        **values,
        examples=tuple(_example(example) for example in plain_list(encoded.get("examples", []), "examples")),
        metadata=object_field(encoded, "metadata", {}),
        created_at=decode_instant(encoded.get("created_at"), "created_at"),
    )


def _example(example: Any) -> tuple[str, str]:
    pair = text_list(example, "examples")
    if len(pair) != 2:
        raise InvalidInput(f"examples should be pairs of a call and its result, but one has {len(pair)} parts")
    return pair[0], pair[1]
