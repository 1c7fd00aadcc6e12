"""ChromaDB as the index on disk: derived from the ledger, shared by processes under a lock, and rebuilt if damaged.

Measured on chromadb 1.5.9: processes that add at the same time, each with its own client, lose rows. A client's `query`
does not find rows that others added after it was opened. Damaged HNSW files crash the whole process on opening with a
segmentation fault. So every use locks the index between processes, a client is reopened when another process has
written, and the files are compared with the checksum of their last writer before they are opened.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

from atlas.core.types import Vector, Vectors
from atlas.infra import fork_safety
from atlas.infra.directories import make_directory_in
from atlas.infra.fork_safety import InterProcessLock
from atlas.infra.permissions import restrict_permissions
from atlas.storage.following_index import IndexCheckpoint, IndexUnusable, LocalIndex, parse_checkpoint

BATCH = 1_000
FORMER_NAME = "vectors"
"""Name of ChromaDB's collection in earlier versions, and for a collection whose own name ChromaDB does not accept."""

NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")
"""The names that ChromaDB accepts."""

HNSW = {"space": "cosine"}
"""The other settings are ChromaDB's defaults, which find all true neighbours of text embeddings."""

LENGTH_BYTES = 4
"""Number of bytes in which hnswlib stores each vector's length."""

_user_pids: set[int] = set()
"""Ids of processes that have used ChromaDB: this process, or its ancestors."""


class ChromaIndex(LocalIndex):
    """One ChromaDB collection in its own directory. Every method locks the index."""

    is_counted = True

    def __init__(self, directory: Path, collection: str) -> None:
        self._directory = directory / collection
        self._name = collection if NAME.fullmatch(collection) else FORMER_NAME
        self._lock = InterProcessLock(directory.with_name(f"{directory.name}-{collection}.lock"))
        self._thread_lock = threading.RLock()
        self._system: Any = None
        """ChromaDB's components, which have the files open."""

        self._collection: Any = None
        self._opened_checkpoint: IndexCheckpoint | None = None
        self._writing_mark = ""
        """Random text that this instance puts in place of the checkpoint while it writes, else empty."""

        fork_safety.register(self)

    @contextmanager
    def locked(self, timeout_seconds: float = -1, *, to_write: bool = True) -> Iterator[bool]:
        """Lock the index for several calls. Yields False if another process locks it for longer than the timeout.

        Also yields False in a fork of a process that has used ChromaDB, because ChromaDB would hang there.

        Args:
            to_write: False for readers, which need the lock too.
        """
        if _is_forked() or not self._thread_lock.acquire(timeout=timeout_seconds):
            yield False
            return
        try:
            with self._lock.locked(timeout_seconds) as has_lock:
                yield has_lock
        finally:
            self._thread_lock.release()

    def checkpoint(self) -> IndexCheckpoint:
        """Return the checkpoint of the last writer. Empty if its write is unfinished, or the checkpoint is damaged."""
        try:
            return parse_checkpoint(self._checkpoint_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return IndexCheckpoint()

    def begin(self, checkpoint: IndexCheckpoint, n_changes: int = 0) -> None:
        """Open the files for writing. The checkpoint is invalid until the writer sets the next one.

        Args:
            n_changes: Ignored.

        Raises:
            IndexUnusable: The files do not match the checkpoint, for example because they were deleted since.
        """
        with self._use():
            self._open(checkpoint, to_write=True)

    def set_checkpoint(
        self, ledger_id: str, revision: int, *, change: int = 0, change_name: str = "", n_keys: int | None = None
    ) -> None:
        """Finish writing: close the files, then record the position in the ledger.

        Args:
            change: The newest change of the ledger that the files contain, and its name.
            n_keys: Expected number of keys.

        Raises:
            IndexUnusable: The files contain another number of keys, or were deleted or replaced during the write.
        """
        with self._use():
            n_stored = int(self._collection_to_write().count())
            if n_keys not in (None, n_stored):
                raise IndexUnusable(f"the index contains {n_stored} vectors, but the ledger {n_keys}")
            writing_mark = self._writing_mark
            self.close()
            _clear_unused_space(self._directory)
            checkpoint = IndexCheckpoint(
                ledger_id=ledger_id,
                revision=revision,
                files=self._checksum_files(),
                n_keys=n_stored,
                change=change,
                change_name=change_name,
            )
            temporary = self._checkpoint_path.with_suffix(".tmp")
            temporary.write_text(json.dumps(asdict(checkpoint)), encoding="utf-8")
            restrict_permissions(self._directory.parent.parent, [self._directory.parent])
            if self._checkpoint_path.read_text(encoding="utf-8") != writing_mark:
                raise IndexUnusable("the index's files were replaced while they were written")
            temporary.replace(self._checkpoint_path)

    def upsert(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Insert or replace vectors by key."""
        with self._use():
            collection = self._collection_to_write()
            for start in range(0, len(keys), BATCH):
                end = start + BATCH
                collection.upsert(ids=list(keys[start:end]), embeddings=vectors[start:end])

    def remove(self, keys: Sequence[str]) -> None:
        """Remove vectors by key, ignoring unknown keys."""
        with self._use():
            collection = self._collection_to_write()
            for start in range(0, len(keys), BATCH):
                collection.delete(ids=list(keys[start : start + BATCH]))

    def query(self, vector: Vector, k: int, *, checkpoint: IndexCheckpoint | None = None) -> list[tuple[str, float]]:
        """Return at most k keys with their similarities, highest first. Approximate: one in a hundred may be missing.

        Args:
            checkpoint: Answer only from files that match this checkpoint, or None for the present files.

        Raises:
            IndexUnusable: The checkpoint has changed or is missing, or the files are damaged.
        """
        if k <= 0:
            return []
        with self._use():
            collection = self._collection_to_read(self.checkpoint() if checkpoint is None else checkpoint)
            result = collection.query(query_embeddings=vector[None], n_results=k, include=["distances"])
            return [
                (key, 1.0 - distance) for key, distance in zip(result["ids"][0], result["distances"][0], strict=True)
            ]

    def count(self) -> int:
        """Return the number of keys."""
        with self._use():
            return int(self._collection_to_read(self.checkpoint()).count())

    def exists(self) -> bool:
        """Return whether there are any files, damaged or not."""
        return self._directory.exists()

    @property
    def is_open(self) -> bool:
        """True while files are open or being opened."""
        return self._system is not None

    def clear(self) -> bool:
        """Delete all files, even damaged ones, or return False if this process may not use them."""
        with self.locked() as has_lock:
            if not has_lock:
                return False
            self.close()
            while self._directory.is_dir():
                with suppress(FileNotFoundError):  # another process is deleting it too
                    shutil.rmtree(self._directory)
            for path in (self._directory.parent, self._directory):
                if path.is_file():
                    path.unlink()
        return True

    def close(self) -> None:
        """Close the files."""
        system, self._system = self._system, None
        self._collection, self._opened_checkpoint, self._writing_mark = None, None, ""
        if system is not None:
            system.stop()

    def before_fork(self) -> None:
        """Close the files, unless another thread is using them."""
        if self._thread_lock.acquire(blocking=False):
            try:
                self.close()
            finally:
                self._thread_lock.release()

    def after_fork(self, *, in_child: bool) -> None:
        """Forget the open files in a child process, where ChromaDB's threads do not run."""
        if in_child:
            fork_safety.keep_inherited(self._system)
            self._system = self._collection = self._opened_checkpoint = None
            self._writing_mark = ""
            self._thread_lock = threading.RLock()

    @property
    def _checkpoint_path(self) -> Path:
        return self._directory / "seal.json"

    def _collection_to_write(self) -> Any:
        """Return the collection, without a valid checkpoint until the writer sets a new one."""
        if self._collection is None or not self._writing_mark:
            self._open(self.checkpoint(), to_write=True)
        return self._collection

    def _collection_to_read(self, checkpoint: IndexCheckpoint) -> Any:
        """Return the collection in the state that a checkpoint describes.

        A collection that was opened with this checkpoint is used again, even if its files were deleted since.
        """
        if self._collection is None or self._opened_checkpoint != checkpoint:
            self._open(checkpoint)
        return self._collection

    def _open(self, checkpoint: IndexCheckpoint, *, to_write: bool = False) -> None:
        """Open the files, which must match a checkpoint. For writing, make the checkpoint invalid."""
        self.close()
        if self.checkpoint() != checkpoint:
            raise IndexUnusable("the index was deleted or replaced after its checkpoint was read")
        if self._directory.exists() and checkpoint.files != self._checksum_files():
            raise IndexUnusable("the index files changed after they were last written")
        make_directory_in(self._directory.parent.parent, *self._directory.parts[-2:])
        if to_write or checkpoint == IndexCheckpoint():
            self._writing_mark = f"written by {uuid4().hex}"
            self._checkpoint_path.write_text(self._writing_mark, encoding="utf-8")
        self._connect()
        if self._collection.count() != checkpoint.n_keys:
            raise IndexUnusable("the index contains another number of vectors than its last writer recorded")
        self._opened_checkpoint = IndexCheckpoint() if self._writing_mark else checkpoint

    def _connect(self) -> None:
        import chromadb  # slow to import: about a second
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

        _user_pids.add(os.getpid())
        settings = Settings(anonymized_telemetry=False, is_persistent=True)
        # ChromaDB caches the components of a path, even if its files were replaced, or a full disk stopped their start.
        # So the cache is cleared. Then a client's `close` does not find the components, and `close` here stops them.
        try:
            client: Any = chromadb.PersistentClient(str(self._directory), settings=settings)
            self._system = client._system
        finally:
            SharedSystemClient.clear_system_cache()
        _rename_former_collection(client, self._name)
        self._collection = client.get_or_create_collection(
            self._name, configuration={"hnsw": HNSW}, embedding_function=None
        )

    def _checksum_files(self) -> str:
        """Return a checksum over every file that ChromaDB reads without checking it.

        HNSW files without metadata are ignored: ChromaDB creates them again on each opening, for small collections.
        """
        digest = hashlib.blake2b(digest_size=16)
        directories = [metadata.parent for metadata in self._directory.glob("*/index_metadata.pickle")]
        for path in sorted(path for directory in directories for path in directory.iterdir()):
            digest.update(path.relative_to(self._directory).as_posix().encode())
            with path.open("rb") as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)
        return digest.hexdigest()

    @contextmanager
    def _use(self) -> Iterator[None]:
        """Lock the index, and convert the errors of ChromaDB on a damaged index to `IndexUnusable`."""
        with self.locked() as has_lock:
            if not has_lock:
                raise IndexUnusable("ChromaDB cannot be used in a process forked from one that has used it")
            from chromadb.errors import ChromaError

            earlier_error = sys.exc_info()[1]
            try:
                yield
            except (ChromaError, OSError, ValueError, RuntimeError, KeyError, AttributeError) as error:
                self.close()
                raise IndexUnusable(str(_find_cause(error, earlier_error))) from error
            except BaseException as error:
                self.close()
                if type(error).__name__ == "PanicException":  # ChromaDB's Rust code derives it from BaseException
                    raise IndexUnusable(str(error)) from error
                raise


def _find_cause(error: BaseException, earlier_error: BaseException | None) -> BaseException:
    """Return the original cause of ChromaDB's error, such as a full disk, which later errors hide.

    Args:
        earlier_error: The exception that was already being handled before ChromaDB was called. It is not the cause.
    """
    while error.__context__ is not None and error.__context__ is not earlier_error:
        error = error.__context__
    return error


def _rename_former_collection(client: Any, name: str) -> None:
    """Rename a collection from its former name to the current one, without copying vectors.

    An empty collection with the former name, which an earlier version may have created, is deleted.
    """
    names = {collection.name for collection in client.list_collections()}
    if name == FORMER_NAME or FORMER_NAME not in names:
        return
    if name in names:
        client.delete_collection(FORMER_NAME)
    else:
        client.get_collection(FORMER_NAME, embedding_function=None).modify(name=name)


def _clear_unused_space(directory: Path) -> None:
    """Overwrite the unused space at the end of HNSW files with zeros.

    hnswlib fills it with uninitialised memory, which may contain any data of the process.
    """
    for header in directory.glob("*/header.bin"):
        _, _, _, n_vectors, n_bytes = struct.unpack("<i4Q", header.read_bytes()[:36])
        for name, size in (("data_level0.bin", n_bytes), ("length.bin", LENGTH_BYTES)):
            with header.with_name(name).open("r+b") as file:
                n_unused = file.seek(0, os.SEEK_END) - n_vectors * size
                file.seek(n_vectors * size)
                file.write(bytes(max(0, n_unused)))


def _is_forked() -> bool:
    """Return whether this process was forked from one that has used ChromaDB."""
    return bool(_user_pids) and os.getpid() not in _user_pids
