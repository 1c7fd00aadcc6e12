"""What was worked out and is kept beside the store: written whole or not at all, and never needed to read the store."""

from __future__ import annotations

import io
import json
import logging
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from atlas.analysis.duplicates import DuplicateGroup, Duplicates
from atlas.analysis.forms import check_form
from atlas.analysis.maps import Domain, MapRecipe, MemoryMap
from atlas.analysis.metrics import METRICS
from atlas.analysis.reporting import OwnEvaluation, as_json, from_json
from atlas.core.errors import StoreUnavailable

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = 1
CACHE = "cache"
"""The directory within a store where they are."""

_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, struct.error),
)
"""What damage to a file may raise, in `zipfile`, in numpy, or here."""


class MapFile:
    """The map of one collection, in one file of a directory."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.map.npz"

    def load(self) -> MemoryMap | None:
        """The map as it was saved last; None where there is none, or the file cannot be read."""
        return load_artefact(self.path, _to_map)

    def save(self, memory_map: MemoryMap) -> None:
        """Put a map in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
        """
        header = {
            "ids": memory_map.ids,
            "domains": [asdict(domain) for domain in memory_map.domains],
            "recipe": asdict(memory_map.recipe),
            "trustworthiness": memory_map.trustworthiness,
            "revision": memory_map.revision,
            "ledger_id": memory_map.ledger_id,
        }
        save_artefact(
            self.path,
            header,
            coordinates=memory_map.coordinates,
            is_placed=memory_map.is_placed,
            labels=memory_map.labels,
            strengths=memory_map.strengths,
        )


class DuplicatesFile:
    """The near-duplicates of one collection, in one file of a directory."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.duplicates.npz"

    def load(self) -> Duplicates | None:
        """The groups as they were saved last; None where there are none, or the file cannot be read."""
        return load_artefact(self.path, _to_duplicates)

    def save(self, duplicates: Duplicates) -> None:
        """Put groups in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
        """
        save_artefact(self.path, asdict(duplicates))


class EvaluationFile:
    """What was measured on one collection itself, in one file of a directory."""

    def __init__(self, directory: Path, collection: str) -> None:
        self.path = directory / f"{collection}.evaluation.npz"

    def load(self) -> OwnEvaluation | None:
        """What was saved last; None where there is nothing, or the file cannot be read."""
        return load_artefact(self.path, _to_evaluation)

    def save(self, evaluation: OwnEvaluation) -> None:
        """Put it in place of what is there.

        Raises:
            StoreUnavailable: The directory cannot be written; what was there is still there.
        """
        header = {field.name: getattr(evaluation, field.name) for field in fields(evaluation)}
        save_artefact(self.path, {**header, "report": as_json(evaluation.report)})


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


def _to_duplicates(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Duplicates:
    groups = tuple(
        DuplicateGroup(ids=tuple(group["ids"]), similarity_min=group["similarity_min"]) for group in header["groups"]
    )
    return Duplicates(
        groups=groups,
        threshold=header["threshold"],
        revision=header["revision"],
        ledger_id=header.get("ledger_id", ""),
    )


def _to_evaluation(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> OwnEvaluation:
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
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            np.savez(file, header=np.frombuffer(text, np.uint8), **arrays)  # type: ignore[arg-type]
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise StoreUnavailable(f"{path} cannot be written ({error.strerror}); nothing in the store changed") from error
