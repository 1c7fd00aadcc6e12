"""Exported models in the user's cache directory, which all stores and processes share.

    CACHE/encoders/KEY/         a model's graph, its tokenizer and what is to be known of them
    CACHE/encoders/KEY.problem  why it could not be exported, and by which versions of the libraries
    CACHE/encoders/KEY.lock     held by the process that exports it
    CACHE/projections/KEY       the projection of a model's word pieces, with its prompts; empty if it has no useful one
    CACHE/keys/…                keys of files that were read once, by their paths, sizes and times

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

from atlas.core.imports.distribution import require
from atlas.embedding.foreign_queries import calibration_queries
from atlas.embedding.late_interaction import Projection, projection_of
from atlas.embedding.onnx_encoder import FACTS, GRAPH, TOKENIZER, WEIGHTS, OnnxEncoder, UnloadableExport
from atlas.infra.child_process import import_environment, module_command

EXPORTER = "2"
"""Version of what is exported. Another one exports every model again."""

LIMIT_SECONDS = 900.0
"""Longest time that an export may take, or that another process's is waited for."""

_FILES = {".json", ".txt", ".model", ".safetensors", ".bin", ".py"}
"""Suffixes of the files that make a model what it is."""

_SKIPPED = {"onnx", "openvino", ".cache", ".git"}
"""Directories beside a model that sentence-transformers does not read."""

_SEAL = "seal.json"
"""File that holds size, time and checksum of the others. It is written last."""

_SEALED = (GRAPH, WEIGHTS, TOKENIZER, FACTS)

_LIBRARIES = ("torch", "sentence-transformers", "transformers", "onnx", "onnxruntime")
_ROOM = 5
"""Free space that an export needs, as a multiple of the model's size."""

_RETRY_SECONDS = 86_400.0
"""Time after which an export that failed is tried once more: memory or a disk may have been short."""

_STALE_SECONDS = 3_600.0
"""Age from which a directory that an export left unfinished is removed."""


class MissingExport(Exception):
    """There is no graph of a model. Its message is the reason."""


class OnnxCache:
    """The exports that lie in one cache directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def key(self, files: Path) -> str:
        """Return the key of a model whose files lie in a directory. They are read once, until they change."""
        files_found = sorted(_model_files(files))
        states = [(str(file), (state := file.stat()).st_size, state.st_mtime_ns) for file in files_found]
        remembered = self.path / "keys" / _digest(EXPORTER, json.dumps(states))
        with suppress(OSError):
            if len(key := remembered.read_text(encoding="ascii")) == 32:
                return key
        key = _digest(EXPORTER, *(f"{file.relative_to(files)} {_checksum(file)}" for file in files_found))
        _keep(remembered, key)  # else they are read again next time, in less than a second
        return key

    def projection(
        self, key: str, prompts: str, dimension: int, measure: Callable[[], Projection | None]
    ) -> Projection | None:
        """Return the projection of a model's word pieces, which is measured once. None if it has no useful one.

        Args:
            key: Key of the model.
            prompts: Its prompts as text.
            dimension: Dimension of its vectors.
            measure: Returns the projection, in some seconds.
        """
        file = self.path / "projections" / _digest(key, prompts, *calibration_queries())
        with suppress(OSError, ValueError):
            text = file.read_text(encoding="ascii")
            return projection_of(text, dimension) if text else None
        projection = measure()
        _keep(file, projection.as_text() if projection else "")
        return projection

    def find(self, key: str) -> Path | None:
        """Return the directory of an export that is whole, or None."""
        directory = self.path / "encoders" / key
        try:
            seal = json.loads((directory / _SEAL).read_text(encoding="utf-8"))
            is_whole = all(_is_as_sealed(directory / name, seal[name]) for name in _SEALED)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return directory if is_whole else None

    def has(self, files: Path) -> bool:
        """Return whether a model with these files is exported.

        Raises:
            MissingExport: There is no export, and none can be made.
        """
        key = self.key(files)
        if self.find(key) is None:
            self._check(key)
            self._make_room(files)
            return False
        return True

    def load(self, model: str, files: Path, batch_size: int, announce: Callable[[str], None]) -> OnnxEncoder:
        """Return a model from its export. If there is no complete one, a separate process makes it.

        Args:
            model: The name that sentence-transformers loads it by.
            files: Directory of its files.
            batch_size: Most texts embedded at once.
            announce: Told each step of an export.

        Raises:
            MissingExport: It cannot be exported.
        """
        key = self.key(files)
        directory = self.find(key)
        if directory is None:
            self._check(key)
            directory = self._make(key, model, files, announce)
        try:
            return OnnxEncoder(directory, batch_size)
        except UnloadableExport as error:  # it is whole, so another try would end alike
            raise MissingExport(f"its export cannot be loaded: {error}") from error

    def _check(self, key: str) -> None:
        """Raise `MissingExport` if a package is missing, or an export by the same libraries failed a short time ago."""
        require("models", "exporting a model", MissingExport)
        file = self._problem_file(key)
        with suppress(OSError, ValueError, KeyError, TypeError):
            failure = json.loads(file.read_text(encoding="utf-8"))
            if failure["versions"] == _versions() and time.time() - file.stat().st_mtime < _RETRY_SECONDS:
                raise MissingExport(str(failure["problem"]))

    def _make(self, key: str, model: str, files: Path, announce: Callable[[str], None]) -> Path:
        encoders = self.path / "encoders"
        with self._writing():
            encoders.mkdir(parents=True, exist_ok=True)
            with _acquire(FileLock(encoders / f"{key}.lock"), announce):
                if existing := self.find(key):  # another process has made it meanwhile
                    return existing
                self._make_room(files)
                return self._export(key, model, files, announce)

    def _export(self, key: str, model: str, files: Path, announce: Callable[[str], None]) -> Path:
        directory = self.path / "encoders" / key
        beside = directory.with_name(f".{key}.{uuid4().hex}")
        beside.mkdir()
        try:
            _run_exporter(model, beside, announce)
            if self.key(files) != key:
                raise MissingExport("its files were changed while it was exported")
            seal = {name: _seal(beside / name) for name in _SEALED}
            (beside / _SEAL).write_text(json.dumps(seal), encoding="utf-8")
            shutil.rmtree(directory, ignore_errors=True)  # a damaged one
            beside.rename(directory)
        except MissingExport as error:
            failure = {"problem": str(error), "versions": _versions()}
            self._problem_file(key).write_text(json.dumps(failure), encoding="utf-8")
            raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        self._problem_file(key).unlink(missing_ok=True)
        return directory

    def _make_room(self, files: Path) -> None:
        """Remove what killed exports left behind, and raise `MissingExport` if there is no room for another."""
        encoders = self.path / "encoders"
        with self._writing():
            encoders.mkdir(parents=True, exist_ok=True)
            for leftover in encoders.glob(".*.*"):
                with suppress(FileNotFoundError):  # of another model, and ready just now
                    if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                        shutil.rmtree(leftover, ignore_errors=True)
            free = shutil.disk_usage(encoders).free
        needed = _ROOM * sum(file.stat().st_size for file in _model_files(files))
        if free < needed:
            raise MissingExport(
                f"{encoders} has {free / 2**20:.0f} MB free, and an export needs {needed / 2**20:.0f} MB; "
                "make room, or name another directory in ATLAS_CACHE"
            )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Raise `MissingExport` if the cache cannot be written, or another process keeps it locked."""
        try:
            yield
        except Timeout as error:
            raise MissingExport("another process has been exporting it for too long") from error
        except OSError as error:
            raise MissingExport(
                f"the cache directory {self.path} cannot be written ({error.strerror or error}); "
                "name another one in ATLAS_CACHE"
            ) from error

    def _problem_file(self, key: str) -> Path:
        return self.path / "encoders" / f"{key}.problem"


def _acquire(lock: FileLock, announce: Callable[[str], None]) -> AbstractContextManager[Any]:
    """Return a lock, held. Another process that holds it is waited for."""
    try:
        return lock.acquire(timeout=0)
    except Timeout:
        announce("waiting for another process, which exports the model")
        return lock.acquire(timeout=LIMIT_SECONDS)


def _run_exporter(model: str, directory: Path, announce: Callable[[str], None]) -> None:
    """Export a model in a process of its own, which takes torch and its memory with it when it ends."""
    import subprocess  # most models are exported already, or come with their graph

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
        limit = threading.Timer(LIMIT_SECONDS, process.kill)
        limit.daemon = True
        limit.start()
        try:
            for line in process.stdout or ():
                message = _parse_message(line)
                problem = message.get("problem", problem)
                if "step" in message:
                    announce(message["step"])
        finally:
            limit.cancel()
    if process.returncode:
        raise MissingExport(problem or f"its export ended with status {process.returncode}")


def _parse_message(line: str) -> dict[str, str]:
    """Return the message in a line of the exporter, empty for output of a library."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return {name: str(value) for name, value in message.items()} if isinstance(message, dict) else {}


def _keep(file: Path, text: str) -> None:
    """Write a file at once and whole, unless the cache cannot be written."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}")
        beside.write_text(text, encoding="ascii")
        beside.replace(file)


def _model_files(directory: Path) -> Iterable[Path]:
    for file in directory.rglob("*"):
        if file.suffix in _FILES and not _SKIPPED & set(file.relative_to(directory).parts) and file.is_file():
            yield file


def _seal(file: Path) -> dict[str, Any]:
    """Return the size, time and checksum of a file, after it is written to disk."""
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
    return {"state": _state(file), "sha256": _checksum(file)}


def _is_as_sealed(file: Path, sealed: dict[str, Any]) -> bool:
    """Return whether a file is unchanged. It is read only if its size or time differs."""
    return bool(_state(file) == sealed["state"] or _checksum(file) == sealed["sha256"])


def _state(file: Path) -> list[int]:
    state = file.stat()
    return [state.st_size, state.st_mtime_ns]


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def _versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
