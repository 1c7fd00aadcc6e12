"""Results of background jobs that any page may show, re-exported for pages."""

from atlas.jobs.live import LiveResult
from atlas.jobs.live_map import LiveMap
from atlas.jobs.warming import WarmUp
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.columns import LiveColumns
from atlas.maps.map import MemoryMap
from atlas.views.shared.wording import counted, percent

__all__ = ["JobStatus", "LiveColumns", "LiveMap", "LiveResult", "MemoryMap", "WarmUp", "Worker", "time_left"]

ENOUGH_SHARE, ENOUGH_SECONDS = 0.06, 3.0
"""Progress from which the time left is estimated."""


def time_left(status: JobStatus, now: float) -> str:
    """Return `40% done, about 2 minutes left.`, or how long it has run where that is too early to estimate.

    Args:
        now: Value of the monotonic clock in seconds.
    """
    if not status.started_seconds:
        return ""
    seconds = now - status.started_seconds
    share = status.done / status.total if status.total else 0.0
    if share < ENOUGH_SHARE or seconds < ENOUGH_SECONDS:
        return f"Begun {seconds:.0f} s ago."
    left = seconds * (1 - share) / share
    return f"{percent(share)} done, about {_duration(left)} left."


def _duration(seconds: float) -> str:
    if seconds >= 90:
        return counted(round(seconds / 60), "minute")
    return f"{max(5, 5 * round(seconds / 5))} s"
