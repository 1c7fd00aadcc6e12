"""The plan for refining a store that was made last, kept beside the store until somebody applies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atlas.analysis.artefacts import load_artefact, save_artefact
from atlas.memory.refinement_plan import PlannedDecision, RefinePlan
from atlas.storage.history import Moment


class RefinementFile:
    """What was planned last, in one file of a directory."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.refinement.npz"

    def load(self) -> RefinePlan | None:
        """The plan as it was saved last; None where there is none, or the file cannot be read."""
        return load_artefact(self.path, lambda header, _: _decode(header))

    def save(self, plan: RefinePlan) -> None:
        """Put a plan in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
        """
        save_artefact(self.path, asdict(plan))


def _decode(header: Mapping[str, Any]) -> RefinePlan:
    """What a header says; `TypeError`, `KeyError` or `ValueError` where it is not what was saved."""
    plan = RefinePlan(
        **{
            **header,
            "decisions": tuple(PlannedDecision(**each) for each in header["decisions"]),
            "moment": Moment(**header["moment"]),
            "failures": tuple(header["failures"]),
        }
    )
    staying = {decision.id for decision in plan.decisions if not decision.goes}
    if any(decision.into not in staying for decision in plan.merged):
        raise ValueError("something is merged into what does not stay")
    if any(decision.action not in ("keep", "merge", "drop") for decision in plan.decisions):
        raise ValueError("a decision is none of keep, merge and drop")
    return plan
