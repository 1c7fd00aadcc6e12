"""The measurement of searches that ships with the sample data, so that a new store of it shows figures immediately.

The measurement is the result of the usual job on such a store. `python -m tests.support.sample_measurement` makes it
again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from atlas.evaluation.job import EvaluationFile, decode_evaluation, encode_evaluation, usable_profiles
from atlas.evaluation.report import OwnEvaluation
from atlas.jobs.artefact import CACHE
from atlas.memory.system import MemorySystem

logger = logging.getLogger(__name__)

FILE = "measurement.json"


def store_measurement(memory: MemorySystem, files: Iterable[Path], directory: Path) -> bool:
    """Store the evaluation that comes with sample data, if it fits the store. Return whether it does.

    Args:
        memory: A store that contains nothing but the records of `files`.
    """
    measurement = _read(directory / FILE, hash_files(files))
    if measurement is None or not _fits_store(measurement, memory):
        return False
    ledger, collection = memory.storage.ledger, memory.experience.collection_name
    # not later than the store itself, whose clock may be set back
    measured_at = min(
        datetime.fromisoformat(measurement.measured_at), *(operation.created_at for operation in memory.history(1))
    )
    file = EvaluationFile(memory.storage.path.resolve() / CACHE, collection).with_shared_state(ledger.shared)
    position = ledger.position(collection)
    ids = {trajectory_id: record_id for record_id, trajectory_id in _trajectory_ids(memory).items()}
    file.save(
        replace(
            _with_ids(measurement, ids),
            measured_at=measured_at.isoformat(),
            revision=ledger.revision(),
            ledger_id=position.ledger_id,
        )
    )
    return True


def to_portable(evaluation: OwnEvaluation, memory: MemorySystem) -> OwnEvaluation:
    """Return an evaluation with trajectory ids instead of record ids. All stores of the sample data share these."""
    return _with_ids(evaluation, _trajectory_ids(memory))


def _trajectory_ids(memory: MemorySystem) -> dict[str, str]:
    """Return the trajectory id of each experience, keyed by the experience's id."""
    return memory.experience.column("trajectory_id")


def _with_ids(evaluation: OwnEvaluation, ids: Mapping[str, str]) -> OwnEvaluation:
    missed = evaluation.report.missed
    return replace(evaluation, report=replace(evaluation.report, missed=missed and missed.with_ids(ids)))


def write_measurement(evaluation: OwnEvaluation, files: Iterable[Path], directory: Path) -> None:
    """Write the result of `to_portable` to the directory of the sample data."""
    header = encode_evaluation(evaluation)
    content = {"of": hash_files(files), **header, "report": json.loads(header["report"])}
    (directory / FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def hash_files(files: Iterable[Path]) -> str:
    """Return a hash of the content of the files."""
    return sha256(b"".join(sha256(path.read_bytes()).digest() for path in files)).hexdigest()


def _read(path: Path, digest: str) -> OwnEvaluation | None:
    """Return the evaluation in a file, or None if the file is missing, damaged, or for other sample data."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.pop("of") != digest:
            return None
        return decode_evaluation({**content, "report": json.dumps(content["report"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        logger.warning("%s is left out, because it cannot be read: %s", path, error)
        return None


def _fits_store(evaluation: OwnEvaluation, memory: MemorySystem) -> bool:
    """Return whether a store uses the model and the search settings of an evaluation."""
    storage = memory.storage
    return (
        evaluation.report.model == memory.experience.embedder.model_name
        and (evaluation.profiles, evaluation.in_use) == (usable_profiles(memory), storage.profiles.in_use().name)
        and not storage.settings.reranker
        and storage.late is not None
    )
