"""Decisions on the experiences of a set, each with its reason, and the protocol of their makers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from atlas.core.types import Experience, Task

KEPT_UNJUDGED = "it was not judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineDecision:
    """The fate of one experience in refining, and why."""

    experience_id: str
    action: str
    """`keep`, `merge` (into `into`) or `drop`."""

    reason: str
    into: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedSet:
    """A refined set and a decision for each experience of the original one."""

    experiences: list[Experience]
    decisions: list[RefineDecision]
    failure: str = ""
    """Why the set is unrefined, where a language model gave no usable answer, else empty."""


class ExplainingStrategy(Protocol):
    """A refine strategy that gives reasons. Plans need one."""

    name: str
    """Name of the decision's maker: `rules`, or the name of a language model."""

    set_size: int
    """Experiences that it judges together, at most."""

    async def explain(self, experiences: list[Experience], context: Task | None = None) -> RefinedSet:
        """Return the refined set, with the reason for each experience's fate."""
        ...


def with_merged_from(survivor: Experience, merged: Sequence[Experience]) -> Experience:
    """Return the kept experience, whose metadata lists the others under `merged_from`."""
    ids = [experience.id for experience in merged]
    return replace(survivor, metadata={**survivor.metadata, "merged_from": ids}) if ids else survivor
