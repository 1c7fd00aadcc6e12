"""The file of the latest compaction plan, kept until it is applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

from atlas.core.journal_codec import TIERS
from atlas.core.schema import decode, encode
from atlas.jobs.artefact import ArtefactFile
from atlas.memory.journal import CompactPlan, Eviction, Move


class CompactionFile(ArtefactFile[CompactPlan]):
    """The latest plan for one collection."""

    kind = "compaction"

    def _header(self, artefact: CompactPlan) -> Mapping[str, Any]:
        tables = {"moves": _to_columns(Move, artefact.moves), "evictions": _to_columns(Eviction, artefact.evictions)}
        return {**encode(replace(artefact, moves=(), evictions=())), **tables}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompactPlan:
        """Return the plan, or raise `TypeError` or `ValueError` if it is malformed."""
        plan = decode(CompactPlan, {**header, "moves": [], "evictions": []}, "plan", strict=True)
        return replace(
            plan,
            moves=tuple(_from_columns(Move, header["moves"])),
            evictions=tuple(_from_columns(Eviction, header["evictions"])),
        )


_TIERS = {"from_tier", "to_tier", "tier"}


def _to_columns(kind: type[Any], rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return rows as columns, keyed by field, which load faster for the many moves of a long journal."""
    return {name: [getattr(row, name) for row in rows] for name in get_type_hints(kind)}


def _from_columns(kind: type[Any], columns: Mapping[str, Any]) -> Iterator[Any]:
    types = get_type_hints(kind)
    for name, expected_type in types.items():
        for value in columns[name]:
            if type(value) is not expected_type:
                raise TypeError(f"expected {expected_type} for {name}, got {value!r:.80}")
            if name in _TIERS and value not in TIERS:
                raise ValueError(f"expected one of {', '.join(TIERS)} for {name}, got {value!r:.80}")
    for values in zip(*(columns[name] for name in types), strict=True):
        yield kind(**dict(zip(types, values, strict=True)))
