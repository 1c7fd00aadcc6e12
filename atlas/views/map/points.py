"""The experiences as points, numbered as the browser numbers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from atlas.maps.map import MemoryMap
from atlas.views.map.colours import Categories
from atlas.views.map.packets import Bits, fingerprint, mask_bits, pack
from atlas.views.shared.wording import OUTCOMES, counted, stored_time_text

UNKNOWN_CODE = 2
"""Index in `OUTCOMES` of the outcome that nobody knows."""

LATEST_DAY = 65_534
"""Most days in the range, counted from the first: 179 years."""

BUSIEST = 0.5
"""Largest share of experiences on one day. If it is exceeded, the animation runs by rank instead of time."""

MOMENTS = 200
"""Labelled times beside the slider, if it runs by rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """The experiences as points, in the order in which the browser numbers them."""

    key: str
    """An id of this set of points, which the browser includes in its answers."""

    ids: tuple[str, ...]
    outcomes: Categories
    """Shape (n,): indices in `OUTCOMES`."""

    packet: bytes
    number_by_id: Mapping[str, int]
    """The number of each id's point."""

    def ids_of(self, mask: str) -> list[str]:
        """Return the ids of the points in a mask."""
        return [self.ids[i] for i in np.flatnonzero(mask_bits(mask, len(self.ids))).tolist()]

    def id_of(self, point: object) -> str | None:
        """Return the id of a point. None unless it is the number of a point."""
        return self.ids[point] if isinstance(point, int) and 0 <= point < len(self.ids) else None

    def numbers_of(self, ids: Iterable[str]) -> list[int]:
        """Return the numbers of the points of these ids. Ids that are not on the map are left out."""
        return [self.number_by_id[record_id] for record_id in ids if record_id in self.number_by_id]

    def bits_of(self, ids: Sequence[str]) -> Bits:
        """Return which points these ids are."""
        bits = np.zeros(len(self.ids), np.bool_)
        bits[self.numbers_of(ids)] = True
        return bits


def points_of(memory_map: MemoryMap, columns: Mapping[str, Mapping[str, Any]]) -> Points:
    """Return the points of a map.

    Args:
        memory_map: The map of the experiences.
        columns: Values by id, for `outcome` and `created_at`.
    """
    codes = {name: code for code, name in enumerate(OUTCOMES)}
    n = len(memory_map.ids)
    outcome, created_at = columns["outcome"], columns["created_at"]
    named = (codes.get(outcome.get(record_id, ""), UNKNOWN_CODE) for record_id in memory_map.ids)
    outcomes = np.fromiter(named, np.uint8, n)
    times = [str(created_at.get(record_id) or "") for record_id in memory_map.ids]
    first, steps = _days(times)
    moments: list[str] = []
    if n > 1 and all(times) and np.bincount(steps).max() > BUSIEST * n:
        steps, moments = _ranks(times)  # days would hide the order within the busiest day
    xy = np.ascontiguousarray(memory_map.coordinates, np.float32)
    header = {
        "n": n,
        "first_day": first.isoformat(),
        "n_days": int(steps.max(initial=0)) + 1,
        "moments": moments,
        "label": f"Map of {counted(n, 'experience')} in {counted(len(memory_map.domains), 'domain')}.",
    }
    key = fingerprint(xy.tobytes(), outcomes.tobytes(), steps.tobytes(), "\n".join(memory_map.ids).encode())
    return Points(
        key=key,
        ids=memory_map.ids,
        outcomes=outcomes,
        packet=pack({"key": key, **header}, xy=xy.ravel(), outcome=outcomes, day=steps),
        number_by_id={record_id: number for number, record_id in enumerate(memory_map.ids)},
    )


def _ranks(times: Sequence[str]) -> tuple[npt.NDArray[np.uint16], list[str]]:
    """Return each record's rank in time instead of its day, and moments at even distances along the way."""
    order = np.argsort(np.array(times), kind="stable")
    ranks = np.empty(len(times), np.int64)
    ranks[order] = np.arange(len(times))
    steps = min(len(times), LATEST_DAY + 1)
    shown = order[np.linspace(0, len(times) - 1, min(MOMENTS, len(times))).astype(np.int64)]
    return (ranks * steps // len(times)).astype(np.uint16), [
        stored_time_text(times[row]).removesuffix(" UTC") for row in shown
    ]


def _days(created_at: Sequence[Any]) -> tuple[date, npt.NDArray[np.uint16]]:
    """Return the first day, and each record's number of days since then. 0 for records without a date."""
    texts = [str(text or "")[:10] for text in created_at]
    ordinals = {text: _ordinal(text) for text in set(texts)}
    dated = [ordinal for ordinal in ordinals.values() if ordinal]
    first = min(dated, default=date(1970, 1, 1).toordinal())
    days = [min(max((ordinals[text] or first) - first, 0), LATEST_DAY) for text in texts]
    return date.min + timedelta(days=first - 1), np.array(days, np.uint16)


def _ordinal(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return None
