"""What was worked out and is kept beside the store: written whole or not at all, and never needed to read the store."""

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
from dataclasses import asdict, fields
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.core.errors import StoreUnavailable
from atlas.evaluation.metrics import METRICS
from atlas.evaluation.report import OwnEvaluation, as_json, from_json
from atlas.infra.places import make_directory_in
from atlas.jobs.validation import check_form
from atlas.maps.duplicates import DuplicateGroup, Duplicates
from atlas.maps.map import Domain, MapRecipe, MemoryMap
from atlas.storage.erasing import CACHE as CACHE
from atlas.storage.erasing import caching

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1
_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What damage to a file may raise, in `zipfile`, in numpy, or here."""


class ArtefactFile(ABC, Generic[T]):
    """What was worked out last on one collection, in one file of a directory."""

    kind: ClassVar[str]
    """What it is, in the file's name."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.{self.kind}.npz"

    def load(self) -> T | None:
        """It as it was saved last; None where there is none, or the file cannot be read."""
        return load_artefact(self.path, self._decode)

    def save(self, artefact: T) -> None:
        """Put it in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
            PlanOutdated: The store was restored, embedded anew or purged of a record while it was worked out.
        """
        header = self._header(artefact)
        read_from = header.get("ledger_id") or header.get("moment", {}).get("ledger_id", "")
        with caching(self.path.parent, read_from):
            save_artefact(self.path, header, **self._arrays(artefact))

    @abstractmethod
    def _header(self, artefact: T) -> Mapping[str, Any]:
        """What JSON can hold of it."""

    def _arrays(self, artefact: T) -> Mapping[str, npt.NDArray[Any]]:
        """The rest."""
        return {}

    @abstractmethod
    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> T:
        """It from what is in a file; one of `_UNREADABLE` where that is not what was saved."""


class MapFile(ArtefactFile[MemoryMap]):
    """The map of one collection."""

    kind = "map"

    def _header(self, artefact: MemoryMap) -> Mapping[str, Any]:
        return {
            "ids": artefact.ids,
            "domains": [asdict(domain) for domain in artefact.domains],
            "recipe": asdict(artefact.recipe),
            "trustworthiness": artefact.trustworthiness,
            "revision": artefact.revision,
            "ledger_id": artefact.ledger_id,
        }

    def _arrays(self, artefact: MemoryMap) -> Mapping[str, npt.NDArray[Any]]:
        return {name: getattr(artefact, name) for name in ("coordinates", "is_placed", "labels", "strengths")}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> MemoryMap:
        return _to_map(header, arrays)


class DuplicatesFile(ArtefactFile[Duplicates]):
    """The near-duplicates of one collection."""

    kind = "duplicates"

    def _header(self, artefact: Duplicates) -> Mapping[str, Any]:
        return asdict(artefact)

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Duplicates:
        return _to_duplicates(header)


class EvaluationFile(ArtefactFile[OwnEvaluation]):
    """What was measured on one collection itself."""

    kind = "evaluation"

    def _header(self, artefact: OwnEvaluation) -> Mapping[str, Any]:
        header = {field.name: getattr(artefact, field.name) for field in fields(artefact)}
        return {**header, "report": as_json(artefact.report)}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> OwnEvaluation:
        return _to_evaluation(header)


def _to_map(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> MemoryMap:
    found = MemoryMap(
        ids=tuple(header["ids"]),
        domains=tuple(
            Domain(**{**domain, **{name: tuple(domain[name]) for name in ("terms", "centre", "typical")}})
            for domain in header["domains"]
        ),
        recipe=MapRecipe(**header["recipe"]),
        trustworthiness=header["trustworthiness"],
        revision=header["revision"],
        ledger_id=header.get("ledger_id", ""),
        coordinates=arrays["coordinates"],
        is_placed=arrays["is_placed"],
        labels=arrays["labels"],
        strengths=arrays["strengths"],
    )
    lengths = {len(of) for of in (found.ids, found.coordinates, found.is_placed, found.labels, found.strengths)}
    if len(lengths) != 1 or found.coordinates.shape[1:] != (2,):
        raise ValueError("its columns are not of one length")
    return found


def _to_duplicates(header: Mapping[str, Any]) -> Duplicates:
    groups = tuple(
        DuplicateGroup(ids=tuple(group["ids"]), similarity_min=group["similarity_min"]) for group in header["groups"]
    )
    return Duplicates(
        groups=groups,
        threshold=header["threshold"],
        revision=header["revision"],
        ledger_id=header.get("ledger_id", ""),
    )


def _to_evaluation(header: Mapping[str, Any]) -> OwnEvaluation:
    found = OwnEvaluation(**{**header, "report": from_json(header["report"])})
    check_form(found, OwnEvaluation)
    if datetime.fromisoformat(found.measured_at).tzinfo is None or not found.report.tasks:
        raise ValueError("it says neither when it was measured nor on what")
    for task in filter(attrgetter("rows"), found.report.tasks):
        compared = [by for row in task.rows for by in row.differences.values()]
        for by_metric in (task.chance, *(row.estimates for row in task.rows), *compared):
            if not {*METRICS} <= {*by_metric}:
                raise ValueError(f"it lacks some of {', '.join(METRICS)}")
    return found


def load_artefact(path: Path, decode: Callable[[Mapping[str, Any], Mapping[str, npt.NDArray[Any]]], T]) -> T | None:
    """What a file was decoded to; None where there is none, or it cannot be read, whatever is wrong with it."""
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
        logger.info("%s is of no use and will be made anew: %s", path, error)
        return None


def _array(content: bytes) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


def save_artefact(path: Path, header: Mapping[str, Any], **arrays: npt.NDArray[Any]) -> None:
    """Put a header of JSON's values, and arrays, in the place of a file.

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
