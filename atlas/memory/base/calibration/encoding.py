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


def encode_measurement(measured: LevelMeasurement) -> str:
    """Return a measurement as text."""
    return json.dumps(
        {
            "version": VERSION,
            "scale": [measured.scale.unrelated, measured.scale.near],
            "n_records": measured.n_records,
            "answers": _rounded(measured.answers),
            "languages": measured.languages,
            "languages_by_words": measured.languages_by_words,
            "own_answers": _rounded(measured.own_answers),
            "own_languages": measured.own_languages,
            "itself": _rounded([measured.itself])[0],
            "model": measured.model,
            "at": [measured.at.ledger_id, measured.at.change],
        }
    )


def _rounded(answers: Sequence[Answers]) -> list[list[list[float]]]:
    return [[[round(value, 4) for value in pair] for pair in found] for found in answers]


def _read(answers: Sequence[Any]) -> tuple[Answers, ...]:
    return tuple(tuple((float(near), float(words)) for near, words in found) for found in answers)


def decode_measurement(text: str | None) -> LevelMeasurement | None:
    """Return a measurement from its text, or raise an error of the JSON reader if it is damaged."""
    if text is None:
        return None
    encoded: dict[str, Any] = json.loads(text, parse_constant=_refuse)
    if encoded["version"] != VERSION:
        return None
    unrelated, near = map(float, encoded["scale"])
    ledger_id, change = encoded["at"]
    return LevelMeasurement(
        scale=Calibration(unrelated=unrelated, near=max(near, unrelated + MIN_SPAN)),
        n_records=int(encoded["n_records"]),
        answers=_read(encoded["answers"]),
        languages=tuple(map(str, encoded["languages"])),
        languages_by_words=tuple(map(str, encoded["languages_by_words"])),
        own_answers=_read(encoded["own_answers"]),
        own_languages=tuple(map(str, encoded["own_languages"])),
        itself=_read([encoded["itself"]])[0],
        model=str(encoded["model"]),
        at=Moment(str(ledger_id), int(change)),
    )


def _refuse(constant: str) -> float:
    raise ValueError(f"expected finite numbers in a measurement, got {constant}")
