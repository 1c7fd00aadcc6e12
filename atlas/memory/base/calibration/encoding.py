"""Encoding of measurements as text, for a note in the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from atlas.core.ranking.tuned import MIN_SPAN
from atlas.memory.base.calibration.measurement import Answers, LevelMeasurement
from atlas.memory.base.scoring import Calibration
from atlas.storage.records import Moment

VERSION = 6
"""Version of stored measurements. Increase it when scoring or the foreign queries change."""


def encode_measurement(measurement: LevelMeasurement) -> str:
    """Return a measurement of the relevance level as a string that `decode_measurement` parses."""
    return json.dumps(
        {
            "version": VERSION,
            "scale": [measurement.scale.unrelated, measurement.scale.near],
            "n_records": measurement.n_records,
            "answers": _round_answers(measurement.answers),
            "languages": measurement.languages,
            "languages_by_words": measurement.languages_by_words,
            "own_answers": _round_answers(measurement.own_answers),
            "own_languages": measurement.own_languages,
            "itself": _round_answers([measurement.self_answers])[0],
            "model": measurement.model,
            "at": [measurement.at.ledger_id, measurement.at.change],
        }
    )


def _round_answers(answers: Sequence[Answers]) -> list[list[list[float]]]:
    return [[[round(value, 4) for value in pair] for pair in pairs] for pairs in answers]


def _read_answers(answers: Sequence[Any]) -> tuple[Answers, ...]:
    return tuple(tuple((float(similarity), float(words)) for similarity, words in pairs) for pairs in answers)


def decode_measurement(text: str | None) -> LevelMeasurement | None:
    """Parse a measurement. Return None if there is no text, or if an incompatible version wrote it.

    Raises:
        ValueError: The text is damaged.
    """
    if text is None:
        return None
    encoded: dict[str, Any] = json.loads(text, parse_constant=_reject_constant)
    if encoded["version"] != VERSION:
        return None
    unrelated, near = map(float, encoded["scale"])
    ledger_id, change = encoded["at"]
    return LevelMeasurement(
        scale=Calibration(unrelated=unrelated, near=max(near, unrelated + MIN_SPAN)),
        n_records=int(encoded["n_records"]),
        answers=_read_answers(encoded["answers"]),
        languages=tuple(map(str, encoded["languages"])),
        languages_by_words=tuple(map(str, encoded["languages_by_words"])),
        own_answers=_read_answers(encoded["own_answers"]),
        own_languages=tuple(map(str, encoded["own_languages"])),
        self_answers=_read_answers([encoded["itself"]])[0],
        model=str(encoded["model"]),
        at=Moment(str(ledger_id), int(change)),
    )


def _reject_constant(constant: str) -> float:
    raise ValueError(f"expected finite numbers in a measurement, got {constant}")
