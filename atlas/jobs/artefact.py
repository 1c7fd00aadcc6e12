"""Results that are kept beside the store: written whole or not at all, and never needed to read the store."""

from __future__ import annotations

import io
import json
import logging
import os
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import StoreUnavailable
from atlas.infra.directories import make_directory_in
from atlas.storage.erasing import CACHE as CACHE
from atlas.storage.erasing import caching

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1
_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""Errors that damage to a file may raise, in `zipfile`, in numpy, or here."""


class ArtefactFile(ABC, Generic[T]):
    """The latest result of one kind of work on one collection, in one file of a directory."""

    kind: ClassVar[str]
    """Name of the kind, in the file's name."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.{self.kind}.npz"

    @property
    def written_at(self) -> int:
        """Time at which it was saved last, in nanoseconds since 1970. 0 where there is none."""
        try:
            return self.path.stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def load(self) -> T | None:
        """Return it as it was saved last. None where there is none, or the file cannot be read."""
        return load_artefact(self.path, self._decode)

    def save(self, artefact: T) -> None:
        """Write it in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
            PlanOutdated: The store was restored, embedded again or purged of a record while it was worked out.
        """
        header = self._header(artefact)
        read_from = header.get("ledger_id") or header.get("moment", {}).get("ledger_id", "")
        with caching(self.path.parent, read_from):
            save_artefact(self.path, header, **self._arrays(artefact))

    @abstractmethod
    def _header(self, artefact: T) -> Mapping[str, Any]:
        """Return what JSON can hold of it."""

    def _arrays(self, artefact: T) -> Mapping[str, npt.NDArray[Any]]:
        """Return the rest, as arrays."""
        return {}

    @abstractmethod
    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> T:
        """Return it from the content of a file. Raise one of `_UNREADABLE` where that is not what was saved."""


def load_artefact(path: Path, decode: Callable[[Mapping[str, Any], Mapping[str, npt.NDArray[Any]]], T]) -> T | None:
    """Return what a file decodes to. None where there is none, or it cannot be read, whatever is wrong with it."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as held:
            if damaged := held.testzip():  # numpy would read on, and fail in many ways
                raise zipfile.BadZipFile(f"{damaged} in it is damaged")
            arrays = {name.removesuffix(".npy"): _array(held.read(name)) for name in held.namelist()}
        header = json.loads(arrays.pop("header").tobytes())
        if header.pop("version") != VERSION:
            return None
        return decode(header, arrays)
    except FileNotFoundError:
        return None
    except _UNREADABLE as error:
        logger.info("%s is of no use and will be made again: %s", path, error)
        return None


def _array(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def save_artefact(path: Path, header: Mapping[str, Any], **arrays: npt.NDArray[Any]) -> None:
    """Write a header of JSON's values, and arrays, in place of a file.

    Raises:
        StoreUnavailable: The directory cannot be written; what was there is still there.
    """
    text = json.dumps({**header, "version": VERSION}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        make_directory_in(path.parent.parent, path.parent.name)
        with beside.open("wb") as file:
            np.savez(file, header=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]
        beside.replace(path)
    except StoreUnavailable:
        raise
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StoreUnavailable(f"{path} cannot be written ({error.strerror}); nothing in the store changed") from error
