"""The plan of what a journal may forget that was made last, kept beside the store until somebody applies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from atlas.analysis.artefacts import ArtefactFile
from atlas.analysis.forms import check_form
from atlas.core.journal_codec import TIERS
from atlas.memory.journal_compacting import CompactPlan, Move, SummaryDraft
from atlas.storage.history import Moment


class CompactionFile(ArtefactFile[CompactPlan]):
    """What was planned last for one collection."""

    kind = "compaction"

    def _header(self, artefact: CompactPlan) -> Mapping[str, Any]:
        return asdict(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompactPlan:
        """What a header says; `TypeError`, `KeyError` or `ValueError` where it is not what was saved."""
        drafts = ({**draft, "source_ids": tuple(draft["source_ids"])} for draft in header["summaries"])
        plan = CompactPlan(
            **{
                **header,
                "moves": tuple(Move(**move) for move in header["moves"]),
                "summaries": tuple(SummaryDraft(**draft) for draft in drafts),
                "moment": Moment(**header["moment"]),
            }
        )
        check_form(plan, CompactPlan)
        if any(tier not in TIERS for move in plan.moves for tier in (move.from_tier, move.to_tier)):
            raise ValueError(f"a tier is none of {', '.join(TIERS)}")
        return plan
