"""Strategies as JSON and back, without loss."""

from __future__ import annotations

from collections.abc import Mapping
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
from atlas.core.types import Strategy

REQUIRED = ("id", "situation", "suggestion")
OPTIONAL = ("title", "rationale")


def encode_strategy(strategy: Strategy) -> Json:
    """Return a strategy without its statistics as JSON values. `decode_strategy` gives the rest back equal."""
    encoded: Json = {name: getattr(strategy, name) for name in (*REQUIRED, *OPTIONAL)}
    encoded |= {
        "parameters": [dict(parameter) for parameter in strategy.parameters],
        "sources": list(strategy.sources),
        "metadata": dict(strategy.metadata),
        "created_at": encode_instant(strategy.created_at),
    }
    check_json(encoded, "strategy")
    return encoded


def decode_strategy(encoded: Json) -> Strategy:
    """Return the strategy that `encode_strategy` encoded.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type; the message names it.
    """
    values = text_fields(encoded, "strategy", Strategy, REQUIRED, OPTIONAL)
    return Strategy(
        **values,
        parameters=check_parameters(encoded.get("parameters", [])),
        sources=tuple(text_list(encoded.get("sources", []), "sources")),
        metadata=object_field(encoded, "metadata", {}),
        created_at=decode_instant(encoded.get("created_at"), "created_at"),
    )


def check_parameters(value: Any) -> tuple[dict[str, str], ...]:
    """Return the parameters of a strategy, each with a name, or raise `InvalidInput` if they are something else."""
    return tuple(_parameter(given) for given in plain_list(value, "parameters"))


def _parameter(given: Any) -> dict[str, str]:
    is_texts = isinstance(given, Mapping) and all(isinstance(text, str) for pair in given.items() for text in pair)
    if not is_texts or not given.get("name"):
        raise InvalidInput(f"a parameter should be texts by name, with a `name`, but is {given!r}"[:300])
    return dict(given)
