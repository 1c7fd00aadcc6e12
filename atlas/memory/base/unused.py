"""Records that were not retrieved or used for a long time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from atlas.storage.damage import stored_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The ids of records that are no longer used, in two disjoint lists."""

    never_used: list[str]
    """Never retrieved and never used."""

    no_longer_used: list[str]
    """Retrieved or used before, but not recently."""


def find_idle(
    stored_at: Mapping[str, str], retrieved_at: Mapping[str, str], used_at: Mapping[str, str], *, until: datetime
) -> Idle:
    """Return the ids of the records that have not been retrieved or used since `until`.

    The other arguments are times in ISO 8601, keyed by id. `retrieved_at` and `used_at` lack records without any.
    """
    never_used, no_longer_used = [], []
    for record_id in stored_at:
        activity_times = [stored_instant(times, record_id) for times in (retrieved_at, used_at) if record_id in times]
        if not activity_times and stored_instant(stored_at, record_id) <= until:
            never_used.append(record_id)
        elif activity_times and max(activity_times) <= until:
            no_longer_used.append(record_id)
    return Idle(never_used=never_used, no_longer_used=no_longer_used)
