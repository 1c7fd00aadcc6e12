"""Long work on a whole collection, as values that travel to another process."""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

from atlas.jobs.artefact import DuplicatesFile, MapFile
from atlas.maps.duplicates import THRESHOLD, Duplicates, near_duplicates
from atlas.maps.map import OnProgress, make_map
from atlas.maps.projection import SEED
from atlas.maps.snapshot import Embedded, read_embedded
from atlas.storage.store import Store


class Job(Protocol):
    """A frozen dataclass of JSON's values, which may be declared in any module that the child can import."""

    @property
    def key(self) -> str:
        """Equal for jobs that do the same."""
        ...

    def run(self, on_progress: OnProgress) -> None:
        """Do it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreJob(ABC):
    """What every job has that reads a store and keeps what it makes in a file."""

    store: str
    """The store's directory; it is only read."""

    out: str
    """The directory of the file: the store's `cache`, or another one where the store must not be written."""

    @property
    def key(self) -> str:
        """Equal for jobs that do the same."""
        return json.dumps(encode_job(self), sort_keys=True)

    @abstractmethod
    def run(self, on_progress: OnProgress) -> None:
        """Do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitMap(StoreJob):
    """Fit the map of a collection anew and save it as a `MapFile`."""

    collection: str
    engine: str = "umap"
    min_domain_size: int = 0
    seed: int = SEED

    def run(self, on_progress: OnProgress) -> None:
        """Do it."""
        file = MapFile(Path(self.out), self.collection)
        found = make_map(
            _read(self, on_progress),
            engine=self.engine,
            min_domain_size=self.min_domain_size,
            previous=file.load(),
            seed=self.seed,
            on_progress=on_progress,
        )
        file.save(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class FindDuplicates(StoreJob):
    """Find the near-duplicates of a collection and save them as a `DuplicatesFile`."""

    collection: str
    threshold: float = THRESHOLD

    def run(self, on_progress: OnProgress) -> None:
        """Do it."""
        embedded = _read(self, on_progress)
        groups = near_duplicates(embedded, self.threshold, lambda done, total: on_progress(done, total, "comparing"))
        found = Duplicates(
            groups=groups, threshold=self.threshold, revision=embedded.revision, ledger_id=embedded.ledger_id
        )
        DuplicatesFile(Path(self.out), self.collection).save(found)


def encode_job(job: Job) -> dict[str, Any]:
    """A job as JSON holds it."""
    kind = type(job)
    return {"module": kind.__module__, "kind": kind.__name__, **asdict(cast("DataclassInstance", job))}


def decode_job(encoded: Mapping[str, Any]) -> Job:
    """The job that was encoded; whatever module declares it is imported."""
    fields = {name: value for name, value in encoded.items() if name not in ("module", "kind")}
    job: Job = getattr(importlib.import_module(encoded["module"]), encoded["kind"])(**fields)
    return job


def _read(job: FitMap | FindDuplicates, on_progress: OnProgress) -> Embedded:
    on_progress(0, 100, "reading")
    with Store.open(job.store, read_only=True) as store:
        return read_embedded(store, job.collection)
