"""All that is drawn of a map that does not change with what a person selects or asks: worked out once and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.analysis.maps import MemoryMap
from atlas.memory.system import MemorySystem
from atlas.views.map import colouring_of, colours_packet
from atlas.views.map_colours import COLUMNS, Colouring
from atlas.views.map_domains import DomainRow, domain_rows
from atlas.views.map_packets import fingerprint
from atlas.views.map_points import Points, points_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A map as points, and its domains."""

    map: MemoryMap
    points: Points
    domains: tuple[DomainRow, ...]
    """Worst first."""

    def domain(self, number: int | None) -> DomainRow | None:
        """The domain of this number, if there is one."""
        return next((row for row in self.domains if row.number == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """What the points are coloured by."""

    colouring: Colouring
    packet: bytes


def sheet_of(memory: MemorySystem, memory_map: MemoryMap) -> Sheet:
    """The sheet of a map."""
    columns: Mapping[str, Mapping[str, Any]] = {key: memory.experience.column(key) for key in ("outcome", "created_at")}
    points = points_of(memory_map, columns)
    return Sheet(map=memory_map, points=points, domains=domain_rows(memory_map, points.outcomes))


def colours_of(memory: MemorySystem, sheet: Sheet, by: str) -> Colours:
    """The colours of a sheet.

    Args:
        memory: Where the values are read that are not on the sheet.
        sheet: What is coloured.
        by: One of `COLOURED_BY`.
    """
    column = memory.experience.column(COLUMNS[by]) if by in COLUMNS else {}
    colouring = colouring_of(sheet.map, sheet.points, by, column)
    return Colours(colouring=colouring, packet=colours_packet(sheet.points, colouring, sheet.domains))


def map_fingerprint(memory_map: MemoryMap) -> str:
    """A name for exactly this map: it is another one when a point moves or a domain is renamed."""
    names = "\n".join(f"{domain.number} {domain.name}" for domain in memory_map.domains)
    arrays = (memory_map.coordinates.tobytes(), memory_map.labels.tobytes())
    return fingerprint(*arrays, names.encode("utf-8", "surrogatepass"))
