"""Job that plans the compaction of a journal, without writing to the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from atlas.infra.clock import SystemClock
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.compaction_file import CompactionFile
from atlas.jobs.live import LiveResult
from atlas.jobs.memory_job import MemoryJob, append_usage, requested_model, usage_text
from atlas.maps.map import OnProgress
from atlas.memory.journal import COLLECTION, CompactPlan, RetentionPolicy
from atlas.memory.system import MemorySystem

KEEP_RECENT = 200
"""Default number of latest entries that are always kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionJob(MemoryJob):
    """Job that plans which journal entries to compact. The plan is saved as a `CompactionFile`."""

    keep_recent: int = KEEP_RECENT
    keep_types: Mapping[str, int] = field(default_factory=dict)
    max_entries: int | None = None
    with_model: bool = False
    """True if the language model of the settings writes the summaries."""

    def file(self) -> CompactionFile:
        """Return the file of the plan."""
        return CompactionFile(Path(self.output), COLLECTION)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> CompactPlan:
        """Make the plan.

        Raises:
            LLMUnavailable: A model is required, but not configured.
        """
        with self.open_read_only(on_progress, requested_model(self.with_model, on_progress)) as memory:
            return plan_now(
                memory, self.keep_recent, self.keep_types, max_entries=self.max_entries, on_progress=on_progress
            )


def plan_now(
    memory: MemorySystem,
    keep_recent: int = KEEP_RECENT,
    keep_types: Mapping[str, int] | None = None,
    *,
    max_entries: int | None = None,
    on_progress: OnProgress = lambda done, total, message: None,
) -> CompactPlan:
    """Plan the compaction of the journal, with a language model for the summaries if one is configured."""
    llm = memory.journal.llm
    on_progress(0, 0, "weighing every entry")
    plan = memory.journal.plan_compact(
        keep_recent,
        keep_types,
        lambda done, total: on_progress(done, total, append_usage(f"summaries written: {done:,} of {total:,}", llm)),
        max_entries=max_entries,
    )
    return replace(plan, spent=usage_text(llm), made_at=SystemClock().now().isoformat(timespec="seconds"))


class LiveCompaction(LiveResult[CompactPlan]):
    """The latest compaction plan of a journal, made by the worker and shared by all viewers."""

    def submit(self, policy: RetentionPolicy, *, with_model: bool = False) -> None:
        """Submit a job that plans a compaction within these limits."""
        self._submit(
            CompactionJob(
                **self._job_arguments,
                keep_recent=policy.keep_recent,
                keep_types=dict(policy.keep_types),
                max_entries=policy.max_entries,
                with_model=with_model,
            )
        )

    def file(self, directory: Path) -> CompactionFile:
        """Return the file of the plan."""
        return CompactionFile(directory, COLLECTION)
