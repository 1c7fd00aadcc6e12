"""Outcomes derived from the scores of Inspect's samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.core.types import Trajectory
from atlas.importers.fields import Json, as_object, as_text, make_storable, replace_blobs

PARTIAL = 0.5
"""Numeric value that Inspect gives to the score `P`, a partially correct answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The combined result of all scorers."""

    success: bool | None
    partial_score: float | None
    values: Mapping[str, Any]
    """Raw value of each scorer."""


def read_scores(sample: Json) -> Mapping[str, Json]:
    """Return the scores of a sample, keyed by scorer. Old logs have a single score without a name."""
    single = sample.get("score")
    by_scorer = as_object(sample.get("scores") or ({"score": single} if single is not None else {}), "scores")
    return {scorer: as_object(score, f"scores.{scorer}") for scorer, score in by_scorer.items()}


def combine_scores(sample: Json) -> Verdict:
    """Return the combined result of all scorers.

    It is a failure if any scorer reports a failure, a success if all scorers that report a result report a success, and
    otherwise unknown. The partial score is the mean of the scores that are numbers in [0, 1].
    """
    by_scorer = read_scores(sample)
    outcomes = {_to_success(score.get("value")) for score in by_scorer.values()} - {None}
    numbers = [number for score in by_scorer.values() if (number := _to_partial_score(score.get("value"))) is not None]
    return Verdict(
        success=False not in outcomes if outcomes else None,
        partial_score=sum(numbers) / len(numbers) if numbers else None,
        values={scorer: make_storable(score.get("value")) for scorer, score in by_scorer.items()},
    )


def judged_by(attempt: Trajectory) -> str:
    """Return the rule by which scorers decide the outcome, such as `match = C or 1`. Empty if none does."""
    values = attempt.outcome.verification_details.get("scores") or {}
    deciding = [scorer for scorer, value in values.items() if _to_success(value) is not None]
    return f"{' and '.join(deciding)} = C or 1" if deciding else ""


def feedback(sample: Json, answer: str, resolve: Callable[[str], str]) -> str:
    """Return the scorers' explanations as text, without explanations that only repeat the answer."""
    explanations = {}
    for scorer, score in read_scores(sample).items():
        explanation = replace_blobs(resolve(as_text(score.get("explanation"), f"scores.{scorer}.explanation"))).strip()
        if explanation and explanation != answer.strip():
            explanations[scorer] = explanation
    if len(explanations) == 1:
        return next(iter(explanations.values()))
    return "\n\n".join(f"{scorer}: {text}" for scorer, text in explanations.items())


def _to_success(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"C": True, "I": False}.get(value)
    return {1.0: True, 0.0: False}.get(value) if isinstance(value, int | float) else None


def _to_partial_score(value: Any) -> float | None:
    if value == "P":
        return PARTIAL
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
        return None
    return float(value)
