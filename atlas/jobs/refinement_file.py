"""The plan for refining a store that was made last, kept beside the store until somebody applies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from atlas.jobs.artefact import ArtefactFile
from atlas.memory.experience.refinement.plan import PlannedDecision, RefinePlan
from atlas.storage.records import Moment


class RefinementFile(ArtefactFile[RefinePlan]):
    """The latest plan for one collection."""

    kind = "refinement"

    def _header(self, artefact: RefinePlan) -> Mapping[str, Any]:
        return asdict(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> RefinePlan:
        """Return what a header says. `TypeError`, `KeyError` or `ValueError` where it is not what was saved."""
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
