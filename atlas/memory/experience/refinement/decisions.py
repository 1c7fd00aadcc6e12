"""Decisions on the experiences of a set, with reasons, and the protocol of strategies that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from atlas.core.types import Experience, Task

NO_JUDGEMENT_REASON = "it was not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineDecision:
    """The decision on an experience in a refinement, and why."""

    experience_id: str
    action: str
    """`keep`, `merge` (into `into`) or `drop`."""

    reason: str
    into: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedSet:
    """The experiences that a strategy keeps of a set, and its decision on each experience of the set."""

    experiences: list[Experience]
    decisions: list[RefineDecision]
    failure: str = ""
    """Reason why the set is unrefined, if a language model gave no usable answer, else empty."""


class ExplainingStrategy(Protocol):
    """A refine strategy that gives a reason for each decision, as plans need it."""

    name: str
    """Author of the decisions: `rules`, or the name of a language model."""

    set_size: int
    """Maximum number of experiences judged together."""

    async def refine_with_reasons(self, experiences: list[Experience], context: Task | None = None) -> RefinedSet:
        """Return the experiences worth keeping, with a decision and a reason for each given one."""
        ...


def with_merged_ids(survivor: Experience, merged: Sequence[Experience]) -> Experience:
    """Return a kept experience with the ids of merged ones added to `merged_from` in its metadata."""
    ids = [experience.id for experience in merged]
    return replace(survivor, metadata={**survivor.metadata, "merged_from": ids}) if ids else survivor
