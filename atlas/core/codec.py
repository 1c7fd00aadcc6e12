"""Lossless conversion between records and JSON.

The ledger, `atlas export` and `atlas import` share one codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import Json, check_json
from atlas.core.schema import decode, encode
from atlas.core.types import CodeConcept, Experience, Outcome, Strategy, Trajectory

STATISTICS = ("usage_count", "n_succeeded", "success_rate")
"""Fields of concepts and strategies that are computed from their uses, and so not encoded."""


def encode_trajectory(trajectory: Trajectory) -> Json:
    """Return a trajectory as JSON values, for `decode_trajectory`."""
    _check_score(trajectory.outcome)
    return _encode(trajectory, "trajectory")


def decode_trajectory(encoded: Any) -> Trajectory:
    """Return the trajectory that `encode_trajectory` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    trajectory = decode(Trajectory, encoded, "trajectory")
    _check_score(trajectory.outcome)
    return trajectory


def encode_experience(experience: Experience) -> Json:
    """Return an experience as JSON values, for `decode_experience`."""
    _check_score(experience.outcome)
    return _encode(experience, "experience")


def decode_experience(encoded: Any) -> Experience:
    """Return the experience that `encode_experience` encoded.

    Raises:
        InvalidInput: A field is missing or of the wrong type; the message names it.
    """
    experience = decode(Experience, encoded, "experience")
    _check_score(experience.outcome)
    return experience


def encode_concept(concept: CodeConcept) -> Json:
    """Return a concept without its statistics as JSON values, for `decode_concept`."""
    return _encode(concept, "concept")


def decode_concept(encoded: Any) -> CodeConcept:
    """Return the concept that `encode_concept` encoded.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type; the message names it.
    """
    return decode(CodeConcept, encoded, "concept", strict=True, leave_out=STATISTICS)


def encode_strategy(strategy: Strategy) -> Json:
    """Return a strategy without its statistics as JSON values, for `decode_strategy`."""
    return _encode(strategy, "strategy")


def decode_strategy(encoded: Any) -> Strategy:
    """Return the strategy that `encode_strategy` encoded.

    Raises:
        InvalidInput: A field is missing, unknown or of the wrong type; the message names it.
    """
    strategy = decode(Strategy, encoded, "strategy", strict=True, leave_out=STATISTICS)
    parse_parameters(strategy.parameters)
    return strategy


def parse_parameters(value: Any) -> tuple[dict[str, str], ...]:
    """Return the parameters of a strategy.

    Raises:
        InvalidInput: The value is not a list of objects of strings, each with a name.
    """
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"expected a list for parameters, got type {type(value).__name__}")
    return tuple(_parse_parameter(parameter) for parameter in value)


def _parse_parameter(parameter: Any) -> dict[str, str]:
    has_only_strings = isinstance(parameter, Mapping) and all(
        isinstance(text, str) for pair in parameter.items() for text in pair
    )
    if not has_only_strings:
        raise InvalidInput(f"expected an object of strings for a parameter, got {parameter!r}"[:300])
    if not parameter.get("name"):
        raise InvalidInput(f"expected an object with a `name` for each parameter, got {parameter!r}"[:300])
    return dict(parameter)


def _encode(record: Any, noun: str) -> Json:
    encoded = encode(record, leave_out=STATISTICS)
    check_json(encoded, noun)
    return encoded


def _check_score(outcome: Outcome) -> None:
    if outcome.partial_score is not None and not 0 <= outcome.partial_score <= 1:
        raise InvalidInput(f"expected a number from 0 to 1 for outcome.partial_score, got {outcome.partial_score}")
