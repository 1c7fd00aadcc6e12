"""The plan of what a journal may forget that was made last, kept beside the store until somebody applies it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, get_type_hints

from atlas.core.journal_codec import TIERS
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.validation import check_form
from atlas.memory.journal import CompactPlan, Move, SummaryDraft
from atlas.storage.records import Moment


class CompactionFile(ArtefactFile[CompactPlan]):
    """The latest plan for one collection."""

    kind = "compaction"

    def _header(self, artefact: CompactPlan) -> Mapping[str, Any]:
        moves = {name: [getattr(move, name) for move in artefact.moves] for name in _COLUMNS}
        return {**asdict(replace(artefact, moves=())), "moves": moves}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompactPlan:
        """Return what a header says. `TypeError`, `KeyError` or `ValueError` where it is not what was saved."""
        drafts = ({**draft, "source_ids": tuple(draft["source_ids"])} for draft in header["summaries"])
        plan = CompactPlan(
            **{
                **header,
                "moves": (),
                "summaries": tuple(SummaryDraft(**draft) for draft in drafts),
                "moment": Moment(**header["moment"]),
            }
        )
        check_form(plan, CompactPlan)
        return replace(plan, moves=tuple(_moves(header["moves"])))


_COLUMNS = get_type_hints(Move)
"""The types of what is known of a move. Column by column, the many moves of a long journal are read in no time."""


def _moves(columns: Mapping[str, Any]) -> Iterator[Move]:
    for name, form in _COLUMNS.items():
        if {*map(type, columns[name])} - {form}:
            raise TypeError(f"{name} should be {form} for every move")
    if {*columns["from_tier"], *columns["to_tier"]} - {*TIERS}:
        raise ValueError(f"a tier is none of {', '.join(TIERS)}")
    for values in zip(*(columns[name] for name in _COLUMNS), strict=True):
        yield Move(**dict(zip(_COLUMNS, values, strict=True)))
