"""Long work on a whole collection, as values that travel to another process."""

from __future__ import annotations

import importlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

from atlas.maps.map import OnProgress
from atlas.maps.snapshot import Embedded, read_embedded
from atlas.storage.store import Store


class Job(Protocol):
    """A frozen dataclass of JSON's values, which may be declared in any module that the child can import."""

    @property
    def key(self) -> str:
        """Text that is equal for jobs that do the same."""
        ...

    def run(self, on_progress: OnProgress) -> None:
        """Do the work, telling now and then how far it is."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreJob(ABC):
    """A job that reads a store and keeps what it makes in a file."""

    store: str
    """The store's directory. It is only read."""

    out: str
    """The directory of the file: the store's `cache`, or another one where the store must not be written."""

    @property
    def key(self) -> str:
        """Text that is equal for jobs that do the same."""
        return json.dumps(encode_job(self), sort_keys=True)

    @abstractmethod
    def run(self, on_progress: OnProgress) -> None:
        """Do the work, telling now and then how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionJob(StoreJob, ABC):
    """A job that works on the vectors of one collection."""

    collection: str

    def read(self, on_progress: OnProgress) -> Embedded:
        """Return the records of the collection with their vectors."""
        on_progress(0, 100, "reading")
        with Store.open(self.store, read_only=True) as store:
            return read_embedded(store, self.collection)


def encode_job(job: Job) -> dict[str, Any]:
    """Return a job as JSON holds it."""
    kind = type(job)
    return {"module": kind.__module__, "kind": kind.__name__, **asdict(cast("DataclassInstance", job))}


def decode_job(encoded: Mapping[str, Any]) -> Job:
    """Return the job that was encoded. Whatever module declares it is imported."""
    fields = {name: value for name, value in encoded.items() if name not in ("module", "kind")}
    job: Job = getattr(importlib.import_module(encoded["module"]), encoded["kind"])(**fields)
    return job
