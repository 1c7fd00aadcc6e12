"""Exported models in the user's cache directory, which all stores and processes share.

    CACHE/encoders/KEY/         a model's graph, tokenizer and metadata
    CACHE/encoders/KEY.problem  reason why the export failed, with the library versions
    CACHE/encoders/KEY.lock     lock of the exporting process
    CACHE/projections/KEY       a model's projection and prompts, or empty if it is not usable
    CACHE/keys/…                cached keys of model files, by path, size and time

The key is a checksum over the model's files and the exporter's version.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import FileLock, Timeout

from atlas.core.imports.distribution import require_extra
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import Projection, parse_projection
from atlas.embedding.onnx_encoder import GRAPH, METADATA, TOKENIZER, WEIGHTS, OnnxEncoder, UnloadableExport
from atlas.infra.child_process import import_environment, module_command

EXPORTER = "2"
"""Version of the export format. A new version exports every model again."""

LIMIT_SECONDS = 900.0
"""Timeout of an export, and of waiting for another process's export."""

_FILES = {".json", ".txt", ".model", ".safetensors", ".bin", ".py"}
"""Suffixes of the files that the key depends on."""

_SKIPPED_DIRECTORIES = {"onnx", "openvino", ".cache", ".git"}
"""Subdirectories that sentence-transformers does not read."""

_CHECKSUMS = "seal.json"
"""Manifest with size, time and checksum of all other files of an export. It is written last."""

_CHECKED_FILES = (GRAPH, WEIGHTS, TOKENIZER, METADATA)

_LIBRARIES = ("torch", "sentence-transformers", "transformers", "onnx", "onnxruntime")
_SPACE_FACTOR = 5
"""Disk space that an export needs, as a multiple of the model's size."""

_RETRY_SECONDS = 86_400.0
"""Time after which a failed export is retried. Memory or disk space may have been short."""

_STALE_SECONDS = 3_600.0
"""Age after which the directory of an unfinished export is removed."""


class MissingExport(Exception):
    """A model has no exported graph. The message is the reason."""


class OnnxCache:
    """ONNX exports of embedding models in one cache directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def key(self, directory: Path) -> str:
        """Return a hash of the model's files in a directory. The hash is cached until the files change."""
        model_files = sorted(_model_files(directory))
        sizes_and_times = [(str(file), *_size_and_mtime(file)) for file in model_files]
        key_file = self.path / "keys" / _digest(EXPORTER, json.dumps(sizes_and_times))
        with suppress(OSError):
            if len(key := key_file.read_text(encoding="ascii")) == 32:
                return key
        key = _digest(EXPORTER, *(f"{file.relative_to(directory)} {_checksum(file)}" for file in model_files))
        _write_atomically(key_file, key)  # otherwise it is recomputed next time, in less than a second
        return key

    def projection(
        self, key: str, prompts: str, dimension: int, measure: Callable[[], Projection | None]
    ) -> Projection | None:
        """Return the projection of a model's word pieces, which is measured once, or None if it is not usable.

        Args:
            key: Key of the model.
            prompts: The model's prompts in stored form.
            dimension: Dimension of its vectors.
            measure: Function that computes the projection, which takes some seconds.
        """
        file = self.path / "projections" / _digest(key, prompts, *calibration_queries())
        with suppress(OSError, ValueError):
            text = file.read_text(encoding="ascii")
            return parse_projection(text, dimension) if text else None
        projection = measure()
        _write_atomically(file, projection.as_text() if projection else "")
        return projection

    def find(self, key: str) -> Path | None:
        """Return the directory of a complete export, or None."""
        directory = self.path / "encoders" / key
        try:
            checksums = json.loads((directory / _CHECKSUMS).read_text(encoding="utf-8"))
            is_complete = all(_is_unchanged(directory / name, checksums[name]) for name in _CHECKED_FILES)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return directory if is_complete else None

    def has_export(self, files: Path) -> bool:
        """Return whether a model with these files is exported.

        Raises:
            MissingExport: There is no export, and the model cannot be exported.
        """
        key = self.key(files)
        if self.find(key) is None:
            self._check_can_export(key)
            self._make_room(files)
            return False
        return True

    def load(self, model: str, files: Path, batch_size: int, announce: Callable[[str], None]) -> OnnxEncoder:
        """Load a model from its export. Without a complete export, a child process first exports the model.

        Args:
            model: Name of the model for sentence-transformers.
            files: Directory of the model's files.
            batch_size: Maximum texts per batch.
            announce: Called with a message at each step of an export.

        Raises:
            MissingExport: The model cannot be exported.
        """
        key = self.key(files)
        directory = self.find(key)
        if directory is None:
            self._check_can_export(key)
            directory = self._export_once(key, model, files, announce)
        try:
            return OnnxEncoder(directory, batch_size)
        except UnloadableExport as error:  # the files are intact, so a new export would fail in the same way
            raise MissingExport(f"the export cannot be loaded: {error}") from error

    def _check_can_export(self, key: str) -> None:
        """Raise `MissingExport` if a package is missing, or the last export failed recently with the same libraries."""
        require_extra("models", "exporting a model", MissingExport)
        file = self._problem_file(key)
        with suppress(OSError, ValueError, KeyError, TypeError):
            failure = json.loads(file.read_text(encoding="utf-8"))
            if failure["versions"] == _versions() and time.time() - file.stat().st_mtime < _RETRY_SECONDS:
                raise MissingExport(str(failure["problem"]))

    def _export_once(self, key: str, model: str, files: Path, announce: Callable[[str], None]) -> Path:
        """Export a model unless another process has done so meanwhile, and return the directory of the export."""
        encoders = self.path / "encoders"
        with self._lock_for_writing():
            encoders.mkdir(parents=True, exist_ok=True)
            with _acquire(FileLock(encoders / f"{key}.lock"), announce):
                if existing := self.find(key):  # another process has exported it in the meantime
                    return existing
                self._make_room(files)
                return self._run_export(key, model, files, announce)

    def _run_export(self, key: str, model: str, files: Path, announce: Callable[[str], None]) -> Path:
        """Export a model, and return the directory of the export. A failure is recorded, and raises `MissingExport`."""
        directory = self.path / "encoders" / key
        temporary = directory.with_name(f".{key}.{uuid4().hex}")
        temporary.mkdir()
        try:
            _run_exporter(model, temporary, announce)
            if self.key(files) != key:
                raise MissingExport("the model's files changed during the export; try again")
            checksums = {name: _flush_and_checksum(temporary / name) for name in _CHECKED_FILES}
            (temporary / _CHECKSUMS).write_text(json.dumps(checksums), encoding="utf-8")
            shutil.rmtree(directory, ignore_errors=True)  # a damaged export
            temporary.rename(directory)
        except MissingExport as error:
            failure = {"problem": str(error), "versions": _versions()}
            self._problem_file(key).write_text(json.dumps(failure), encoding="utf-8")
            raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self._problem_file(key).unlink(missing_ok=True)
        return directory

    def _make_room(self, files: Path) -> None:
        """Delete the files of interrupted exports, and raise `MissingExport` if there is too little disk space."""
        encoders = self.path / "encoders"
        with self._lock_for_writing():
            encoders.mkdir(parents=True, exist_ok=True)
            for leftover in encoders.glob(".*.*"):
                with suppress(FileNotFoundError):  # of another model, and finished in this moment
                    if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                        shutil.rmtree(leftover, ignore_errors=True)
            n_free_bytes = shutil.disk_usage(encoders).free
        n_required_bytes = _SPACE_FACTOR * sum(file.stat().st_size for file in _model_files(files))
        if n_free_bytes < n_required_bytes:
            raise MissingExport(
                f"{encoders} has {n_free_bytes / 2**20:.0f} MB free, but an export needs "
                f"{n_required_bytes / 2**20:.0f} MB; free some space, or set ATLAS_CACHE to another directory"
            )

    @contextmanager
    def _lock_for_writing(self) -> Iterator[None]:
        """Lock the cache, or raise `MissingExport` if it cannot be written or stays locked."""
        try:
            yield
        except Timeout as error:
            raise MissingExport("another process is still exporting the model; try again later") from error
        except OSError as error:
            raise MissingExport(
                f"the cache directory {self.path} cannot be written ({error.strerror or error}); set ATLAS_CACHE to "
                "another directory"
            ) from error

    def _problem_file(self, key: str) -> Path:
        return self.path / "encoders" / f"{key}.problem"


def _acquire(lock: FileLock, announce: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Acquire and return a lock. Wait while another process holds it."""
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        announce("waiting for another process that exports the model")
        return lock.acquire(timeout=LIMIT_SECONDS)


def _run_exporter(model: str, directory: Path, announce: Callable[[str], None]) -> None:
    """Export a model in a child process, whose end frees the memory of torch."""
    import subprocess  # imported late, as most models are exported already

    command = module_command("atlas.embedding.onnx_export", model, str(directory))
    environment = {**import_environment(), "PYTHONIOENCODING": "utf-8"}
    problem = ""
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
    ) as process:
        timer = threading.Timer(LIMIT_SECONDS, process.kill)
        timer.daemon = True
        timer.start()
        try:
            for line in process.stdout or ():
                message = _parse_message(line)
                problem = message.get("problem", problem)
                if "step" in message:
                    announce(message["step"])
        finally:
            timer.cancel()
    if process.returncode:
        raise MissingExport(problem or f"the export ended with status {process.returncode}")


def _parse_message(line: str) -> dict[str, str]:
    """Return the message in a line of the exporter's output, or an empty string if a library printed the line."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return {name: str(value) for name, value in message.items()} if isinstance(message, dict) else {}


def _write_atomically(file: Path, text: str) -> None:
    """Write a file atomically. Does nothing if the cache is read-only."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_suffix(f".{os.getpid()}")
        temporary.write_text(text, encoding="ascii")
        temporary.replace(file)


def _model_files(directory: Path) -> Iterable[Path]:
    """Yield the files of a model that sentence-transformers reads."""
    for file in directory.rglob("*"):
        if (
            file.suffix in _FILES
            and not _SKIPPED_DIRECTORIES & set(file.relative_to(directory).parts)
            and file.is_file()
        ):
            yield file


def _flush_and_checksum(file: Path) -> dict[str, Any]:
    """Flush a file to disk, and return its size, time of modification and SHA-256."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
    return {"state": _size_and_mtime(file), "sha256": _checksum(file)}


def _is_unchanged(file: Path, recorded: dict[str, Any]) -> bool:
    """Return whether a file has its recorded content. The content is only read if its size or time differs."""
    return bool(_size_and_mtime(file) == recorded["state"] or _checksum(file) == recorded["sha256"])


def _size_and_mtime(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(*texts: str) -> str:
    """Return a hash of texts, which is used as a file name."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def _versions() -> dict[str, str]:
    """Return the versions of the installed libraries that an export depends on."""
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
