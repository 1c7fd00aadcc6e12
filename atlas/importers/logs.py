"""Preparation of personal logs for import: removal of secrets, outcomes by rules, and stable ids.

All log formats use this module, and so do attempts from other sources.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedExperience
from atlas.core.operations import NO_MARKS, NO_USAGE
from atlas.core.types import JournalEntry, Trajectory
from atlas.importers.evidence import with_decided_outcome
from atlas.importers.rows import Item
from atlas.infra.secrets import scrub_record
from atlas.memory.experience.extraction import to_experience

FAILED_KEY = "failed"
"""Key in a step's metadata that is true if one of its tool calls failed."""

SCORES = "scores"
"""Key in an attempt's metadata under which the log's scores are stored, keyed by name."""

NOTE_CHARACTERS = 4_000

_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": lambda score, bound: score >= bound,
    "<=": lambda score, bound: score <= bound,
    ">": lambda score, bound: score > bound,
    "<": lambda score, bound: score < bound,
    "=": lambda score, bound: score == bound,
}
_SIGNS = {">=": "≥", "<=": "≤"}
_RULE = re.compile(r"\s*(?P<name>[^<>=]{1,200}?)\s*(?P<sign>>=|<=|>|<|=)\s*(?P<bound>[^<>=]{1,40})\s*")


@dataclass(frozen=True, slots=True)
class SuccessRule:
    """The score that decides whether an attempt succeeded, with its threshold."""

    name: str
    sign: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> SuccessRule:
        """Parse a rule such as `correctness>=0.5`.

        Raises:
            InvalidInput: The rule is malformed.
        """
        match = _RULE.fullmatch(text)
        try:
            if match and (bound := float(match["bound"])) == bound:
                return cls(match["name"], match["sign"], bound)
        except ValueError:
            pass
        raise InvalidInput(f"expected a success rule such as correctness>=0.5, got {text[:60]!r}")

    def __str__(self) -> str:
        return f"{self.name} {_SIGNS.get(self.sign, self.sign)} {self.bound:g}"

    def apply(self, attempt: Trajectory) -> Trajectory:
        """Return the attempt with the outcome that its score decides, or unchanged if it has no such score."""
        scores = attempt.metadata.get(SCORES)
        score = scores.get(self.name) if isinstance(scores, dict) else None
        if attempt.outcome.success is not None or not isinstance(score, int | float):
            return attempt
        success = _COMPARISONS[self.sign](float(score), self.bound)
        partial = float(score) if 0 <= score <= 1 and self.sign in (">=", ">", "=") else None
        details = {**attempt.outcome.verification_details, "rule": f"{self.name}{self.sign}{self.bound:g}"}
        outcome = replace(attempt.outcome, success=success, partial_score=partial, verification_details=details)
        return replace(attempt, outcome=outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Options of an import of logs."""

    success: SuccessRule | None = None
    """Rule for outcomes, or None to leave outcomes unknown if the log does not record them."""

    crashes: bool = False
    """True to record every failed tool call as a crash in the journal."""


def stable_id(*parts: Any) -> str:
    """Return an id that is derived from the parts, the same at every call."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True, default=str).encode()).hexdigest()[:32]


def prepare(item: Item, options: LogOptions, secrets: Counter[str]) -> list[Item]:
    """Return the records to store for an item of a log. Add the numbers of removed secrets to `secrets`."""
    if not isinstance(item, Trajectory):
        return [item]
    clean_attempt = scrub_record(item, secrets)
    assert isinstance(clean_attempt, Trajectory)
    judged_attempt = with_decided_outcome(options.success.apply(clean_attempt) if options.success else clean_attempt)
    return [as_exported(judged_attempt), *(_crash_entries(judged_attempt) if options.crashes else ())]


def as_exported(attempt: Trajectory) -> ExportedExperience:
    """Return an attempt as an experience with the attempt's id, so that a second import skips the attempt.

    The text to embed stays empty: the memory fills it in.
    """
    now = datetime.now(UTC)
    experience = to_experience(attempt, experience_id=attempt.id, embedding_text="", now=now)
    return ExportedExperience(experience=experience, marks=NO_MARKS, usage=NO_USAGE)


def _crash_entries(attempt: Trajectory) -> Iterator[JournalEntry]:
    for number, step in enumerate(attempt.steps, start=1):
        if step.metadata.get(FAILED_KEY):
            failure = f"{step.action[:NOTE_CHARACTERS]}\n\n{step.observation[:NOTE_CHARACTERS]}".strip()
            yield JournalEntry(
                id=stable_id("crash", attempt.id, number),
                entry_type="crash_log",
                content=f"{attempt.task.description[:200]}\n\n{failure}",
                generation=0,
                created_at=attempt.timestamp,
                metadata={"source": attempt.metadata.get("source", ""), "experience": attempt.id, "step": number},
            )
