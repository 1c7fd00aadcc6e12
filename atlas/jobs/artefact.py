"""Artefacts: files of results that are derived from a store. They are written atomically, and can be computed again.

Several servers of one store share results through the database. The local files are then caches, with the version as
mtime.
"""

from __future__ import annotations

import io
import json
import logging
import os
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import NotAllowed, PlanOutdated, ReadOnlyStore, StoreUnavailable
from atlas.infra.directories import make_directory_in
from atlas.infra.permissions import create_private, file_mode, temporary_path
from atlas.storage.engine import Publication, SharedState
from atlas.storage.erasing import CACHE as CACHE
from atlas.storage.erasing import lock_cache, lock_cache_of_ledger
from atlas.storage.store import LABEL, LEDGER, Store

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1

MAX_BYTES = 200_000_000
"""Maximum size of a published result. A larger one is only stored on the machine that made it."""

_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""Exceptions raised for a damaged file."""


class ArtefactFile(ABC, Generic[T]):
    """File of the latest result of one kind of job on one collection."""

    kind: ClassVar[str]
    """Name of the kind, which is part of the file's name."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.name = f"{collection}.{self.kind}"
        self.path = directory / f"{self.name}.npz"
        self._shared: SharedState | None = None
        self._job = ""

    def with_shared_state(self, shared: SharedState | None, job: str = "") -> Self:
        """Connect the file to the state that all servers of a store share, and return the file.

        Args:
            shared: State shared by the servers, or None for a store in a directory.
            job: Id of the job that makes the next result.
        """
        self._shared, self._job = shared, job
        return self

    @property
    def written_at(self) -> int:
        """Time of the last save, in nanoseconds since 1970, or 0 without one."""
        self._synchronise()
        return self._file_time()

    def load(self) -> T | None:
        """Return the saved artefact, or None if the file is missing or damaged."""
        self._synchronise()
        return load_artefact(self.path, self._decode)

    def save(self, artefact: T) -> None:
        """Write the artefact, replacing the current one.

        Raises:
            StoreUnavailable: The directory cannot be written; the current one is kept.
            PlanOutdated: The store was restored, re-embedded or purged during the computation.
        """
        header, arrays = self._header(artefact), self._arrays(artefact)
        source_ledger_id = _ledger_id(header)
        if self._shared is None:
            with lock_cache_of_ledger(self.path.parent, source_ledger_id):
                _write_file(self.path, header, arrays)
            return
        with lock_cache(self.path.parent):
            _write_file(self.path, header, arrays, partial(self._publish, self._shared, ledger_id=source_ledger_id))

    def is_published_since(self, previous: Publication | None) -> bool:
        """Return whether another server has published a result of this job since `previous`."""
        publication = self._shared.publication(self.name) if self._shared is not None else None
        if publication is None or (previous is not None and publication.version == previous.version):
            return False
        return publication.is_whole and publication.job == self._job

    def _file_time(self) -> int:
        try:
            return self.path.stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def _publish(self, shared: SharedState, file: Path, *, ledger_id: str) -> None:
        """Publish a file before it is renamed into place, and set its mtime to the published version."""
        is_small = file.stat().st_size <= MAX_BYTES
        if not is_small:
            logger.warning(
                "%s has %.0f MB, more than the limit of %.0f, so other servers keep the previous version",
                *(self.name, file.stat().st_size / 1e6, MAX_BYTES / 1e6),
            )
        content = file.read_bytes() if is_small else b""
        version = shared.publish(self.name, content, job=self._job, ledger_id=ledger_id)
        os.utime(file, ns=(version, version))

    def _synchronise(self) -> None:
        """Bring the local file up to date with the version that all servers share.

        A newer version is fetched. A local file that was never published is published, or removed if it is outdated.
        """
        shared = self._shared
        if shared is None:
            return
        publication, file_time = shared.publication(self.name), self._file_time()
        if publication is None and file_time:
            self._publish_or_drop(shared)
        elif publication is not None and publication.is_whole and publication.version != file_time:
            self._fetch(shared, publication.version)

    def _fetch(self, shared: SharedState, version: int) -> None:
        """Copy a published version into the local file, unless it was deleted in the meantime."""
        with lock_cache(self.path.parent):  # read inside the lock, because a purge may have deleted it
            content = shared.content(self.name, version)
            if content is None:
                return

            def write_content(file: Path) -> None:
                file.write_bytes(content)
                os.utime(file, ns=(version, version))

            try:
                _write_atomically(self.path, write_content)
            except StoreUnavailable as error:
                logger.warning("the result of another server cannot be loaded: %s", error)

    def _publish_or_drop(self, shared: SharedState) -> None:
        """Publish a file that was never shared, or remove it if it belongs to an older ledger."""
        with lock_cache(self.path.parent):
            if shared.publication(self.name) is not None:
                return
            ledger_id = load_artefact(self.path, lambda header, arrays: _ledger_id(header))
            if ledger_id and ledger_id == shared.ledger_id():
                with suppress(ReadOnlyStore, NotAllowed, PlanOutdated):
                    self._publish(shared, self.path, ledger_id=ledger_id)
            else:
                self.path.unlink(missing_ok=True)

    @abstractmethod
    def _header(self, artefact: T) -> Mapping[str, Any]:
        """Return the fields of an artefact that are stored as JSON."""

    def _arrays(self, artefact: T) -> Mapping[str, npt.NDArray[Any]]:
        """Return the arrays of an artefact."""
        return {}

    @abstractmethod
    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> T:
        """Decode an artefact, or raise one of `_UNREADABLE` if it is damaged."""


def load_artefact(path: Path, decode: Callable[[Mapping[str, Any], Mapping[str, npt.NDArray[Any]]], T]) -> T | None:
    """Return the decoded content of a file, or None if it is missing or cannot be read."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            if damaged := archive.testzip():  # numpy would continue, and fail with arbitrary errors
                raise zipfile.BadZipFile(f"the part {damaged} is damaged")
            arrays = {name.removesuffix(".npy"): _parse_array(archive.read(name)) for name in archive.namelist()}
        header = json.loads(arrays.pop("header").tobytes())
        if header.pop("version") != VERSION:
            return None
        return decode(header, arrays)
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        logger.info("%s is unreadable and will be recomputed: %s", path, error)
        return None


def _parse_array(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def save_artefact(path: Path, header: Mapping[str, Any], **arrays: npt.NDArray[Any]) -> None:
    """Write a JSON header and arrays to a file, atomically.

    Raises:
        StoreUnavailable: The directory cannot be written; the current file is kept.
    """
    _write_file(path, header, arrays)


@contextmanager
def open_database_store(directory: Path, *, read_only: bool = False) -> Iterator[Store | None]:
    """Yield the PostgreSQL store whose local files are in a directory, or None if the directory itself is a store."""
    if (directory / LEDGER).exists() or not (directory / LABEL).exists():
        yield None
        return
    store = Store.open(directory, create=False, read_only=read_only)
    try:
        yield store
    finally:
        store.ledger.close()


def _ledger_id(header: Mapping[str, Any]) -> str:
    """Return the id of the ledger that a result was derived from, or an empty string if unknown."""
    return str(header.get("ledger_id") or header.get("moment", {}).get("ledger_id", ""))


def _write_file(
    path: Path,
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    before_replace: Callable[[Path], None] = lambda file: None,
) -> None:
    """Write a file. If `before_replace` raises, the file is not replaced."""
    text = json.dumps({**header, "version": VERSION}, ensure_ascii=False).encode("utf-8", "surrogatepass")

    def write_content(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, header=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]
        before_replace(temporary)

    _write_atomically(path, write_content)


def _write_atomically(path: Path, write_content: Callable[[Path], None]) -> None:
    """Write a file atomically, with content from `write_content`."""
    temporary = temporary_path(path)
    try:
        make_directory_in(path.parent.parent, path.parent.name)
        create_private(temporary, mode=file_mode(path.parent))
        write_content(temporary)
        temporary.replace(path)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror}); check the free space and its permissions"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
