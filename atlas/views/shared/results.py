"""Results of long work that every page may show, by the names that pages import."""

from atlas.jobs.live import LiveResult
from atlas.jobs.live_map import LiveMap
from atlas.jobs.warming import WarmUp
from atlas.jobs.worker import JobStatus, Worker
from atlas.maps.columns import LiveColumns
from atlas.maps.map import MemoryMap

__all__ = ["JobStatus", "LiveColumns", "LiveMap", "LiveResult", "MemoryMap", "WarmUp", "Worker"]
