"""Decisions on the experiences of a set, with reasons, and the protocol of strategies that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from atlas.core.types import Experience, Task

NO_JUDGEMENT_REASON = "it was not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineDecision:
    """The decision on an experience in a refinement, with a reason."""

    experience_id: str
    action: str
    """`keep`, `merge` (into `into`) or `drop`."""

    reason: str
    into: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedSet:
    """The experiences that a strategy keeps of a set, and the decisions on all experiences of the set."""

    experiences: list[Experience]
    decisions: list[RefineDecision]
    failure: str = ""
    """Reason why a language model could not refine the set, or empty."""


class ExplainingStrategy(Protocol):
    """A refine strategy that gives a reason for each decision. Plans need such a strategy."""

    name: str
    """Author of the decisions: `rules`, or the name of a language model."""

    set_size: int
    """Maximum number of experiences judged together."""

    async def refine_with_reasons(self, experiences: list[Experience], context: Task | None = None) -> RefinedSet:
        """Return the experiences worth keeping, and a decision with a reason for each given experience."""
        ...


def with_merged_ids(survivor: Experience, duplicates: Sequence[Experience]) -> Experience:
    """Return a kept experience with the ids of the merged experiences as `merged_from` in the metadata."""
    ids = [experience.id for experience in duplicates]
    return replace(survivor, metadata={**survivor.metadata, "merged_from": ids}) if ids else survivor
