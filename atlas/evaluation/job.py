"""Evaluation of a store on its own attempts, as a job of the worker process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy.typing as npt

from atlas.core.schema import decode, encode
from atlas.evaluation.judged import JUDGED_TASK
from atlas.evaluation.leave_one_out import OWN_ATTEMPTS
from atlas.evaluation.metrics import METRICS
from atlas.evaluation.report import OwnEvaluation, as_json
from atlas.evaluation.tasks import ATTEMPTS_TASK, JUDGEMENTS_TASK, evaluate_own
from atlas.infra.clock import SystemClock
from atlas.jobs.artefact import ArtefactFile
from atlas.jobs.live import LiveResult
from atlas.jobs.memory_job import MemoryJob
from atlas.maps.map import OnProgress
from atlas.maps.snapshot import n_changed
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Progress

MIN_EXPERIENCES = 20
"""Smallest number of experiences for an evaluation in the background. For fewer, the figures mean little."""

NICENESS = 19

STEP_PROGRESS: Mapping[str, tuple[int, int]] = {
    ATTEMPTS_TASK: (2, 40),
    JUDGEMENTS_TASK: (40, 44),
    "foretelling outcomes": (44, 76),
    "trying other strictness": (76, 89),
    "asking foreign queries": (89, 90),
    f"context blocks of {OWN_ATTEMPTS}": (90, 99),
    f"context blocks of {JUDGED_TASK}": (99, 100),
}
"""Progress of the whole evaluation, in percent, at which each step begins and ends, as measured on the sample store."""


class EvaluationFile(ArtefactFile[OwnEvaluation]):
    """The file with the latest evaluation of one collection."""

    kind = "evaluation"

    def _header(self, artefact: OwnEvaluation) -> Mapping[str, Any]:
        return encode_evaluation(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> OwnEvaluation:
        return decode_evaluation(header)


def encode_evaluation(evaluation: OwnEvaluation) -> dict[str, Any]:
    """Return an evaluation as JSON values. Its report becomes one string."""
    return {**encode(evaluation), "report": as_json(evaluation.report)}


def decode_evaluation(encoded: Mapping[str, Any]) -> OwnEvaluation:
    """Return the evaluation that `encode_evaluation` encoded.

    Raises:
        ValueError: The evaluation lacks its time, its tasks or some of the metrics.
        InvalidInput: The evaluation lacks another field, or a field has the wrong type.
    """
    evaluation = decode(OwnEvaluation, {**encoded, "report": json.loads(encoded["report"])}, "evaluation", strict=True)
    if datetime.fromisoformat(evaluation.measured_at).tzinfo is None or not evaluation.report.tasks:
        raise ValueError(
            f"expected a time with a time zone and at least one task, got {evaluation.measured_at!r} and "
            f"{len(evaluation.report.tasks)} tasks"
        )
    for task in filter(attrgetter("rows"), evaluation.report.tasks):
        differences = [differences_by_metric for row in task.rows for differences_by_metric in row.differences.values()]
        for figures in (task.chance, *(row.estimates for row in task.rows), *differences):
            if not {*METRICS} <= {*figures}:
                raise ValueError(f"expected the metrics {', '.join(METRICS)} in each row, got {', '.join(figures)}")
    return evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationJob(MemoryJob):
    """A job that evaluates all ways to search a store, including its profiles, and saves the result in a file."""

    seed: int = 0
    is_background: bool = False
    """True for a job with the lowest scheduling priority."""

    def file(self) -> EvaluationFile:
        """Return the file in which the evaluation is saved."""
        return EvaluationFile(Path(self.output), COLLECTION)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> OwnEvaluation:
        """Return the evaluation of the store."""
        if self.is_background:
            with suppress(OSError):
                os.nice(NICENESS)
        with self.open_read_only(on_progress) as memory:
            return evaluate_now(memory, seed=self.seed, on_progress=on_progress)


def evaluate_now(memory: MemorySystem, *, seed: int, on_progress: OnProgress) -> OwnEvaluation:
    """Return the evaluation of a store on its own records.

    Raises:
        NotFound: No task was tried twice, no outcome is known and no query was judged.
    """
    ledger, profiles = memory.storage.ledger, memory.storage.profiles
    revision, ledger_id = ledger.revision(), ledger.position(memory.experience.collection_name).ledger_id
    usable = usable_profiles(memory)
    in_use = profiles.in_use().name
    judged = memory.storage.judgements.state()
    report = evaluate_own(memory, half="both", seed=seed, watch=partial(_scale_progress, on_progress))
    return OwnEvaluation(
        report=report,
        measured_at=SystemClock().now().isoformat(timespec="seconds"),
        revision=revision,
        ledger_id=ledger_id,
        profiles=usable,
        in_use=in_use,
        judged=judged,
    )


def _scale_progress(on_progress: OnProgress, label: str) -> Progress:
    """Return a callback that converts the progress of one step to progress of the whole evaluation."""
    start, end = STEP_PROGRESS[label]
    return lambda done, total: on_progress(round(start + (end - start) * done / (total or 1)), 100, label)


def usable_profiles(memory: MemorySystem) -> dict[str, dict[str, float]]:
    """Return the weights of each valid profile, keyed by its name."""
    profiles = memory.storage.profiles.all()
    return {profile.name: asdict(profile.weights) for profile in profiles if not profile.problem}


class LiveEvaluation(LiveResult[OwnEvaluation]):
    """The latest evaluation of a store, and the jobs that renew it."""

    _n_at_last_start: int | None = None
    """Number of experiences at the last start in the background. A failed or cancelled evaluation is repeated only
    after the store has grown."""

    def ask(self) -> None:
        """Submit a job that evaluates the store."""
        self._submit(EvaluationJob(**self._job_arguments))

    def keep_up(self) -> None:
        """Submit a background evaluation if the store has changed by more than `Settings.evaluate_growth`."""
        growth, n_experiences = self.memory.storage.settings.evaluate_growth, self.memory.experience.count()
        if not growth or self.memory.storage.read_only or n_experiences < MIN_EXPERIENCES:
            return
        with self._lock:
            was_tried_recently = (
                self._n_at_last_start is not None and n_experiences < (1 + growth) * self._n_at_last_start
            )
            if not was_tried_recently and not self._is_working() and self._has_outgrown(growth, n_experiences):
                self._n_at_last_start = n_experiences
                self._submit(EvaluationJob(**self._job_arguments, is_background=True))

    def _is_working(self) -> bool:
        status = self.status()
        return status is not None and status.state in ("queued", "running")

    def _has_outgrown(self, growth: float, n_records: int) -> bool:
        """Return whether the store was never evaluated, or has changed too much since the last evaluation.

        Args:
            growth: Records that may be added before another evaluation, as a share of those at the last one.
            n_records: Number of records now.
        """
        collection, latest = self.memory.experience.collection_name, self.current()
        if latest is None or latest.ledger_id != self.memory.storage.ledger.position(collection).ledger_id:
            return True
        return n_changed(self.memory.storage, collection, latest.revision) > growth * n_records / (1 + growth)

    def file(self, directory: Path) -> EvaluationFile:
        """Return the file of the latest evaluation in a directory."""
        return EvaluationFile(directory, self.memory.experience.collection_name)
