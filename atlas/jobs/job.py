"""Jobs: serialisable descriptions of long-running work on a collection."""

from __future__ import annotations

import hashlib
import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

from atlas.jobs.artefact import CACHE, ArtefactFile, open_database_store
from atlas.maps.map import OnProgress
from atlas.maps.snapshot import EmbeddedRecords, read_embedded
from atlas.storage.store import Store

COMPUTED_ELSEWHERE = "another server is computing it"


class Job(Protocol):
    """A job: a frozen dataclass of JSON values, in any module that the child process can import."""

    @property
    def key(self) -> str:
        """Key that is equal for equal jobs."""
        ...

    @property
    def store(self) -> str:
        """The store's directory."""
        ...

    def run(self, on_progress: OnProgress) -> None:
        """Do the work and report progress."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreJob(ABC):
    """A job that reads a store and saves its result in a file."""

    store: str
    """The store's directory, which is only read."""

    output: str
    """The directory of the result: the store's `cache`, or a temporary one for a read-only store."""

    @property
    def key(self) -> str:
        """Key that is equal for equal jobs."""
        return json.dumps(encode_job(self), sort_keys=True)

    @abstractmethod
    def file(self) -> ArtefactFile[Any]:
        """Return the file of the result."""

    @abstractmethod
    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> Any:
        """Do the work, report progress, and return the result.

        Args:
            file: File of the previous result.
        """

    def run(self, on_progress: OnProgress) -> None:
        """Do the work and save the result. If another server runs the same job, wait for the result of that server.

        Raises:
            PlanOutdated: The store was restored, re-embedded or purged during the job.
        """
        store = Path(self.store)
        output = Path(self.output)
        file = self.file()
        with open_database_store(store) as database_store:
            shared = database_store.ledger.shared if database_store is not None and output == store / CACHE else None
            if shared is None:
                file.save(self.make(on_progress, file))
                return
            previous_publication = shared.publication(file.name)
            with shared.locked(self._shared_key, lambda: on_progress(0, 0, COMPUTED_ELSEWHERE)) as has_waited:
                file.with_shared_state(shared, self._shared_key)
                if has_waited and file.is_published_since(previous_publication):
                    return
                file.save(self.make(on_progress, file))

    @property
    def _shared_key(self) -> str:
        """Key that is equal for equal jobs on any machine."""
        encoded = {name: value for name, value in encode_job(self).items() if name not in ("store", "output")}
        return hashlib.blake2b(json.dumps(encoded, sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionJob(StoreJob, ABC):
    """A job on the vectors of one collection."""

    collection: str

    def read(self, on_progress: OnProgress) -> EmbeddedRecords:
        """Return the records of the collection with their vectors."""
        on_progress(0, 100, "reading")
        with Store.open(self.store, read_only=True) as store:
            return read_embedded(store, self.collection)


def kind_of(job: Job) -> str:
    """Return the kind of a job: `map` for a `MapJob`."""
    return type(job).__name__.removesuffix("Job").lower()


def encode_job(job: Job) -> dict[str, Any]:
    """Encode a job as JSON values."""
    kind = type(job)
    return {"module": kind.__module__, "kind": kind.__name__, **asdict(cast("DataclassInstance", job))}


def decode_job(encoded: Mapping[str, Any]) -> Job:
    """Decode a job, and import the job's module."""
    fields = {name: value for name, value in encoded.items() if name not in ("module", "kind")}
    job: Job = getattr(importlib.import_module(encoded["module"]), encoded["kind"])(**fields)
    return job
