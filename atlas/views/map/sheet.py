"""The static part of a map, computed once and cached."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.core.statistics import SuccessRate
from atlas.maps.columns import ReadColumn
from atlas.maps.map import MemoryMap
from atlas.views.map.colours import COLUMNS, Colouring
from atlas.views.map.domains import DomainRow, domain_rows, success_rate
from atlas.views.map.packets import fingerprint
from atlas.views.map.page import colouring_of, colours_packet
from atlas.views.map.points import Points, points_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A map as points, and its domains."""

    map: MemoryMap
    """The map, spread for drawing."""

    points: Points
    domains: tuple[DomainRow, ...]
    """Domains of the map, worst first."""

    @property
    def rate(self) -> SuccessRate:
        """Success rate of all experiences on the map."""
        return success_rate(self.points.outcomes)

    def domain(self, number: int | None) -> DomainRow | None:
        """Return the domain of this number, if there is one."""
        return next((row for row in self.domains if row.number == number), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """The colours of the points."""

    colouring: Colouring
    packet: bytes


def sheet_of(column: ReadColumn, spread: MemoryMap) -> Sheet:
    """Return the sheet of a map that `spread_map` or `move_map` returned."""
    points = points_of(spread, {key: column(key) for key in ("outcome", "created_at")})
    return Sheet(map=spread, points=points, domains=domain_rows(spread, points.outcomes))


def colours_of(column: ReadColumn, sheet: Sheet, by: str) -> Colours:
    """Return the colours of a sheet.

    Args:
        column: Reads values that the sheet does not contain.
        sheet: What is coloured.
        by: One of `COLOURED_BY`.
    """
    values = column(COLUMNS[by]) if by in COLUMNS else {}
    weak = [row.number for row in sheet.domains if row.is_weak]
    colouring = colouring_of(sheet.map, sheet.points, by, values, weak=weak)
    return Colours(colouring=colouring, packet=colours_packet(sheet.map, sheet.points, colouring, sheet.domains))


def map_fingerprint(memory_map: MemoryMap) -> str:
    """Return a name for exactly this map, which changes when a point moves or a domain is renamed."""
    names = "\n".join(f"{domain.number} {domain.name}" for domain in memory_map.domains)
    arrays = (memory_map.coordinates.tobytes(), memory_map.labels.tobytes())
    return fingerprint(*arrays, names.encode("utf-8", "surrogatepass"))
