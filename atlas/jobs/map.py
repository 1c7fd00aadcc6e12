"""The job that fits the map of a collection, the map's file, and the positions on the map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt

from atlas.core.errors import NotFound
from atlas.core.schema import decode, encode
from atlas.jobs.artefact import CACHE, ArtefactFile, open_database_store
from atlas.jobs.job import CollectionJob
from atlas.maps.labels import DomainNames
from atlas.maps.map import Domain, MapRecipe, MemoryMap, OnProgress, extend, make_map, regroup
from atlas.maps.projection import SEED
from atlas.maps.snapshot import EmbeddedRecords, read_embedded
from atlas.memory.base.tables import NO_POSITIONS, MapPosition, MapPositions
from atlas.memory.system import MemorySystem


class MapFile(ArtefactFile[MemoryMap]):
    """The map of one collection."""

    kind = "map"

    def _header(self, artefact: MemoryMap) -> Mapping[str, Any]:
        return {
            "ids": artefact.ids,
            "domains": [encode(domain) for domain in artefact.domains],
            "recipe": encode(artefact.recipe),
            "trustworthiness": artefact.trustworthiness,
            "revision": artefact.revision,
            "ledger_id": artefact.ledger_id,
        }

    def _arrays(self, artefact: MemoryMap) -> Mapping[str, npt.NDArray[Any]]:
        return {name: getattr(artefact, name) for name in ("coordinates", "is_placed", "labels", "strengths")}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> MemoryMap:
        memory_map = MemoryMap(
            ids=tuple(header["ids"]),
            domains=tuple(decode(Domain, encoded, "domain") for encoded in header["domains"]),
            recipe=decode(MapRecipe, header["recipe"], "recipe"),
            trustworthiness=header["trustworthiness"],
            revision=header["revision"],
            ledger_id=header.get("ledger_id", ""),
            coordinates=arrays["coordinates"],
            is_placed=arrays["is_placed"],
            labels=arrays["labels"],
            strengths=arrays["strengths"],
        )
        lengths = {
            len(column)
            for column in (
                memory_map.ids,
                memory_map.coordinates,
                memory_map.is_placed,
                memory_map.labels,
                memory_map.strengths,
            )
        }
        if len(lengths) != 1 or memory_map.coordinates.shape[1:] != (2,):
            raise ValueError("the columns differ in length")
        return memory_map


@dataclass(frozen=True, slots=True, kw_only=True)
class MapJob(CollectionJob):
    """Job that makes a new map of a collection, and saves it as a `MapFile`."""

    engine: str = "umap"
    """One of `ENGINES`."""

    min_domain_size: int = 0
    seed: int = SEED

    def file(self) -> MapFile:
        """Return the file of the map."""
        return MapFile(Path(self.output), self.collection)

    def make(self, on_progress: OnProgress, file: ArtefactFile[Any]) -> MemoryMap:
        """Fit the map, aligned with the previous one, whose domains are kept."""
        return make_map(
            self.read(on_progress),
            engine=self.engine,
            min_domain_size=self.min_domain_size,
            previous=file.load(),
            seed=self.seed,
            on_progress=on_progress,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MapDrawing:
    """An up-to-date map with the records' titles."""

    map: MemoryMap
    titles: Mapping[str, str]
    """The title of each record, by id: untrusted text."""


def draw_now(
    memory: MemorySystem, *, engine: str = "umap", min_domain_size: int = 0, on_progress: OnProgress | None = None
) -> MapDrawing:
    """Return the map of all experiences: the dashboard's if it has the same parameters, else a new one.

    Args:
        memory: Only read.
        engine: One of `ENGINES`.
        min_domain_size: Minimum number of experiences of a domain; 0 for a default that depends on their number.
        on_progress: Called with the amount done, the total, and a description.

    Raises:
        NotFound: There is no record to show.
    """
    collection = memory.experience.collection_name
    embedded = read_embedded(memory.storage, collection)
    if not embedded.ids:
        raise NotFound("there are no experiences to map yet; import some first: atlas import PATH")
    saved_map = MapFile(memory.storage.path / CACHE, collection).with_shared_state(memory.storage.ledger.shared).load()
    memory_map = _update_saved_map(saved_map, embedded, engine, min_domain_size) or make_map(
        embedded, engine=engine, min_domain_size=min_domain_size, previous=saved_map, on_progress=on_progress
    )
    named_map = DomainNames.of(memory.storage, collection).apply(memory_map)
    return MapDrawing(map=named_map, titles=dict(zip(embedded.ids, embedded.titles, strict=True)))


def load_positions(directory: Path, collection: str) -> MapPositions:
    """Return the positions of a collection's records on the stored map. Empty if there is no map."""
    file, names = MapFile(directory / CACHE, collection), DomainNames(directory, collection)
    with open_database_store(directory, read_only=True) as database_store:
        if database_store is not None:
            file = file.with_shared_state(database_store.ledger.shared)
            names = DomainNames.of(database_store, collection)
        saved_map = file.load()
        return map_positions(names.apply(saved_map)) if saved_map is not None else NO_POSITIONS


def map_positions(memory_map: MemoryMap) -> MapPositions:
    """Return the positions of a map's records, keyed by id."""
    names = {domain.number: domain.name for domain in memory_map.domains}
    rows = zip(memory_map.ids, memory_map.labels.tolist(), memory_map.coordinates.tolist(), strict=True)
    return {record_id: MapPosition(names.get(label, ""), *coordinates) for record_id, label, coordinates in rows}


def _update_saved_map(
    saved_map: MemoryMap | None, embedded: EmbeddedRecords, engine: str, min_domain_size: int
) -> MemoryMap | None:
    """Return the saved map, updated, or None if it has to be fitted again."""
    if saved_map is None or (saved_map.recipe.engine, saved_map.recipe.model) != (engine, embedded.model):
        return None
    updated_map = extend(saved_map, embedded)
    if updated_map.needs_refit:
        return None
    has_domain_size = min_domain_size in (0, updated_map.recipe.min_domain_size)
    return updated_map if has_domain_size else regroup(updated_map, embedded, min_domain_size)
