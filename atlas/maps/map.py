"""The map of a memory: the position and domain of each record, and the settings of the map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from atlas.core.types import Vectors
from atlas.maps.domains import UNCLUSTERED as UNCLUSTERED
from atlas.maps.domains import (
    Labels,
    Strengths,
    default_min_size,
    find_domains,
    labels_from_neighbours,
    match_domains,
    renumber,
)
from atlas.maps.knn import nearest_neighbours
from atlas.maps.naming import name_domains, number_by_template, unique_names
from atlas.maps.projection import (
    N_NEIGHBOURS,
    SEED,
    align,
    fit,
    pca,
    place_newcomers,
    rotate_to_fill,
    trustworthiness,
)
from atlas.maps.projection import Coordinates as Coordinates
from atlas.maps.snapshot import EmbeddedRecords

OnProgress = Callable[[int, int, str], None]
"""Callback for the amount done, the total and the name of the step."""

_Rows = npt.NDArray[np.int64]

MIN_SHARE_FOR_NAME = 0.5
"""Smallest share of an earlier domain's members that a domain must contain to keep the earlier name."""

OLD_SEPARATOR = " · "
"""Separator that earlier versions used in generated names. Such names are generated again."""

MAX_TYPICAL = 5
N_JUDGED_FOR_PREVIEW = 100
"""Number of points for a preview's trustworthiness, which is small because a user waits for the result."""

MIN_SHARE_FOR_REFIT = 0.1
"""Smallest share of records placed after the fit at which a map should be refitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRecipe:
    """The settings and library versions that reproduce a map."""

    model: str
    """The embedding model of the vectors."""

    engine: str
    """`pca`, `umap` or `umap-learn`."""

    seed: int
    n_neighbours: int
    min_domain_size: int
    versions: str
    """The libraries and their versions, as one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A cluster of records on a map."""

    number: int
    """Number of the domain, the same in later maps as long as most members are the same."""

    name: str
    """Name of the domain: by a person or a language model, or else a phrase for the subject of the tasks."""

    is_named_by_person: bool
    terms: tuple[str, ...]
    n: int
    centre: tuple[float, float]
    """Position of the label on the map."""

    typical: tuple[str, ...]
    """Ids of the records whose vectors are nearest to the mean direction, at most `MAX_TYPICAL`."""

    suggested_by: str = ""
    """The language model that suggested the name, or empty for other names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMap:
    """The position and domain of each record of a collection."""

    ids: tuple[str, ...]
    coordinates: Coordinates
    is_placed: npt.NDArray[np.bool_]
    """Shape (n,): True for records that were placed by their neighbours after the fit."""

    labels: npt.NDArray[np.int32]
    """Shape (n,): the number of each record's domain, or `UNCLUSTERED`."""

    strengths: npt.NDArray[np.float32]
    """Shape (n,): strength of membership in the domain, in [0, 1]."""

    domains: tuple[Domain, ...]
    """Domains of the map, largest first."""

    recipe: MapRecipe
    trustworthiness: float
    """Trustworthiness for 15 neighbours, in [0, 1]. For many records, it is estimated from a sample."""

    revision: int
    """Revision of the store that the map shows."""

    ledger_id: str = ""
    """Id of the ledger, or empty if unknown. A restore changes the id."""

    @property
    def is_sketch(self) -> bool:
        """True for the quick map of `preview`, without a search for domains."""
        return not self.domains and self.recipe.engine == "pca"

    @property
    def share_placed(self) -> float:
        """Share of the records that were placed after the fit, in [0, 1]."""
        return float(self.is_placed.mean()) if len(self.ids) else 0.0

    @property
    def needs_refit(self) -> bool:
        """True if so many records were placed that the map should be refitted."""
        return self.share_placed > MIN_SHARE_FOR_REFIT

    @property
    def share_unclustered(self) -> float:
        """Share of the records outside all domains, in [0, 1]."""
        return float((self.labels == UNCLUSTERED).mean()) if len(self.ids) else 0.0

    def domain(self, number: int) -> Domain | None:
        """Return the domain with this number, or None."""
        return next((domain for domain in self.domains if domain.number == number), None)

    def members(self, number: int) -> tuple[str, ...]:
        """Return the ids of a domain's records. `UNCLUSTERED` selects the unclustered records."""
        return tuple(self.ids[row] for row in np.flatnonzero(self.labels == number))


def preview(embedded: EmbeddedRecords) -> MemoryMap:
    """Return a map by PCA without domains, which is fast even for a large memory."""
    n, coordinates = len(embedded.ids), pca(embedded.vectors)
    return MemoryMap(
        ids=embedded.ids,
        coordinates=coordinates,
        is_placed=np.zeros(n, np.bool_),
        labels=np.full(n, UNCLUSTERED, np.int32),
        strengths=np.zeros(n, np.float32),
        domains=(),
        recipe=_make_recipe(embedded, "pca", SEED, 0),
        trustworthiness=trustworthiness(embedded.vectors, coordinates, n_judged=N_JUDGED_FOR_PREVIEW),
        revision=embedded.revision,
        ledger_id=embedded.ledger_id,
    )


def make_map(
    embedded: EmbeddedRecords,
    *,
    engine: str = "umap",
    min_domain_size: int = 0,
    previous: MemoryMap | None = None,
    seed: int = SEED,
    on_progress: OnProgress | None = None,
) -> MemoryMap:
    """Fit a map and find its domains.

    Args:
        embedded: The experiences to show.
        engine: `pca`, `umap` or `umap-learn`.
        min_domain_size: Smallest number of records of a domain. 0 for a default by the number of records.
        previous: An earlier map. The new map is aligned with it, and matching domains keep their numbers and names.
        seed: Equal seeds give equal maps.
        on_progress: Called from time to time.

    Raises:
        InvalidInput: There is no such engine.
    """
    report = on_progress or _ignore_progress
    neighbours = nearest_neighbours(
        embedded.vectors, N_NEIGHBOURS, on_progress=lambda done, total: report(40 * done // total, 100, "comparing")
    )
    coordinates = fit(
        embedded.vectors,
        neighbours,
        engine=engine,
        seed=seed,
        on_progress=lambda done, total: report(40 + 45 * done // total, 100, "laying out"),
    )
    if previous is not None:
        coordinates = align(coordinates, previous.coordinates, _shared_rows(embedded.ids, previous.ids))
    else:
        coordinates = rotate_to_fill(coordinates)
    report(85, 100, "judging")
    fitted = MemoryMap(
        ids=embedded.ids,
        coordinates=coordinates,
        is_placed=np.zeros(len(embedded.ids), np.bool_),
        labels=np.full(len(embedded.ids), UNCLUSTERED, np.int32),
        strengths=np.zeros(len(embedded.ids), np.float32),
        domains=(),
        recipe=_make_recipe(embedded, engine, seed, min_domain_size),
        trustworthiness=trustworthiness(embedded.vectors, coordinates),
        revision=embedded.revision,
        ledger_id=embedded.ledger_id,
    )
    report(90, 100, "finding domains")
    return _add_domains(fitted, embedded, min_domain_size, previous)


def regroup(memory_map: MemoryMap, embedded: EmbeddedRecords, min_domain_size: int) -> MemoryMap:
    """Return the map clustered again, with another minimum size of domains. Matching domains keep numbers and names.

    Args:
        memory_map: The map to cluster again.
        embedded: The same records, or more of them.
        min_domain_size: Smallest number of records of a domain. 0 for a default by the number of records.
    """
    current = extend(memory_map, embedded)
    recipe = _make_recipe(embedded, current.recipe.engine, current.recipe.seed, min_domain_size)
    return _add_domains(replace(current, recipe=recipe), embedded, min_domain_size, memory_map)


def extend(memory_map: MemoryMap, embedded: EmbeddedRecords, fitted: MemoryMap | None = None) -> MemoryMap:
    """Return the map updated to the current records: new records near their neighbours, without deleted records.

    Args:
        memory_map: A map of an earlier state.
        embedded: The current records.
        fitted: The map as it was fitted. Records that were deleted and restored return to their positions on it.
    """
    kept_rows, old_rows, new_rows = _match_rows(memory_map.ids, embedded.ids)
    if not len(new_rows) and len(kept_rows) == len(memory_map.ids):
        return replace(memory_map, revision=embedded.revision, ledger_id=embedded.ledger_id)
    if not len(kept_rows):
        return replace(make_map(embedded, engine="pca"), is_placed=np.ones(len(new_rows), np.bool_))
    old_vectors, new_vectors = embedded.vectors[old_rows], embedded.vectors[new_rows]
    placed = _place_newcomers(new_vectors, old_vectors, memory_map, kept_rows)
    domains = {domain.number: domain for domain in memory_map.domains}
    if fitted is not None:
        placed.restore([embedded.ids[row] for row in new_rows], fitted)
        domains = {domain.number: domain for domain in fitted.domains} | domains
    has_no_deletions = len(kept_rows) == len(memory_map.ids)
    ids = memory_map.ids if has_no_deletions else tuple(memory_map.ids[row] for row in kept_rows.tolist())
    extended_map = replace(
        memory_map,
        ids=(*ids, *(embedded.ids[row] for row in new_rows.tolist())),
        coordinates=np.concatenate([memory_map.coordinates[kept_rows], placed.coordinates]),
        is_placed=np.concatenate([memory_map.is_placed[kept_rows], placed.is_placed]),
        labels=np.concatenate([memory_map.labels[kept_rows], placed.labels]),
        strengths=np.concatenate([memory_map.strengths[kept_rows], placed.strengths]),
        revision=embedded.revision,
        ledger_id=embedded.ledger_id,
    )
    rows = np.concatenate([np.arange(len(embedded.ids))[old_rows], new_rows])
    changed_domains = set(placed.labels.tolist()) if has_no_deletions else set(domains)
    unchanged = tuple(domain for domain in memory_map.domains if domain.number not in changed_domains)
    changed = _measure_domains(
        extended_map, embedded.vectors, rows, {n: domain for n, domain in domains.items() if n in changed_domains}
    )
    return replace(extended_map, domains=_sort_by_size([*unchanged, *changed]))


def _match_rows(map_ids: Sequence[str], ids: Sequence[str]) -> tuple[_Rows, _Rows | slice, _Rows]:
    """Return the rows of the common records in the map, their rows in `ids`, and the rows of new records in `ids`."""
    n_on_map = len(map_ids)
    # The usual case, new records only, should be cheap for a map of any size.
    if tuple(ids[:n_on_map]) == tuple(map_ids):
        return np.arange(n_on_map), slice(0, n_on_map), np.arange(n_on_map, len(ids))
    kept_rows, old_rows = _shared_rows(map_ids, ids)
    return kept_rows, old_rows, np.setdiff1d(np.arange(len(ids)), old_rows)


@dataclass(frozen=True, slots=True)
class _PlacedRecords:
    """The positions and domains of records that were placed on a fitted map."""

    coordinates: Coordinates
    is_placed: npt.NDArray[np.bool_]
    labels: Labels
    strengths: Strengths

    def restore(self, ids: Sequence[str], fitted: MemoryMap) -> None:
        """Give records that are on the fitted map their values there, so that undoing a prune restores the map."""
        rows, fitted_rows = _shared_rows(ids, fitted.ids)
        for target, source in (
            (self.coordinates, fitted.coordinates),
            (self.is_placed, fitted.is_placed),
            (self.labels, fitted.labels),
            (self.strengths, fitted.strengths),
        ):
            target[rows] = source[fitted_rows]


def _place_newcomers(newcomers: Vectors, old: Vectors, memory_map: MemoryMap, kept_rows: _Rows) -> _PlacedRecords:
    """Return positions and domains of new records, from their neighbours among the map's rows `kept_rows`.

    Args:
        old: Vectors of the rows `kept_rows`.
    """
    labels, strengths = labels_from_neighbours(
        newcomers, old, memory_map.labels[kept_rows], memory_map.strengths[kept_rows]
    )
    coordinates = place_newcomers(newcomers, old, memory_map.coordinates[kept_rows])
    return _PlacedRecords(coordinates, np.ones(len(newcomers), np.bool_), labels, strengths)


def _add_domains(fitted: MemoryMap, embedded: EmbeddedRecords, min_size: int, previous: MemoryMap | None) -> MemoryMap:
    """Return a fitted map with domains. A domain that matches one of the previous map keeps its number and name."""
    clusters = find_domains(fitted.coordinates, min_size)
    rows = {record_id: row for row, record_id in enumerate(embedded.ids)}
    order = [rows[record_id] for record_id in fitted.ids]
    texts = [embedded.texts[row] for row in order]
    labels, kept_domains = renumber(clusters.labels, number_by_template(texts, clusters.labels)), dict[int, Domain]()
    if previous is not None:
        labels, kept_domains = _keep_names(fitted.ids, labels, previous)
    names_by_domain = name_domains(texts, labels)
    names_needed = {number: terms for number, terms in names_by_domain.items() if number not in kept_domains}
    names = unique_names(names_needed, {domain.name for domain in kept_domains.values()})
    domains = {
        number: kept_domains.get(number) or _unmeasured_domain(number, names[number], terms.terms)
        for number, terms in names_by_domain.items()
    }
    clustered_map = replace(fitted, labels=labels, strengths=clusters.strengths)
    return replace(
        clustered_map,
        domains=_sort_by_size(_measure_domains(clustered_map, embedded.vectors, np.array(order), domains)),
    )


def _keep_names(ids: Sequence[str], labels: Labels, previous: MemoryMap) -> tuple[Labels, dict[int, Domain]]:
    """Return labels with an earlier map's numbers, and the earlier domains that keep their names, keyed by number."""
    rows_now, rows_before = _shared_rows(ids, previous.ids)
    new_rows = np.setdiff1d(np.arange(len(ids)), rows_now)
    numbers = match_domains(previous.labels[rows_before], labels[np.concatenate([rows_now, new_rows])])
    labels = renumber(labels, numbers)
    kept_domains = {}
    for domain in previous.domains:
        was_member = previous.labels[rows_before] == domain.number
        has_old_name = OLD_SEPARATOR in domain.name and not (domain.is_named_by_person or domain.suggested_by)
        if (
            was_member.any()
            and not has_old_name
            and (labels[rows_now][was_member] == domain.number).mean() >= MIN_SHARE_FOR_NAME
        ):
            kept_domains[domain.number] = domain
    return labels, kept_domains


def _shared_rows(ids: Sequence[str], other_ids: Sequence[str]) -> tuple[_Rows, _Rows]:
    """Return the rows in two lists of the ids that both contain, in the order of the first list."""
    if len(ids) < len(other_ids):
        rows = {record_id: row for row, record_id in enumerate(ids)}
        pairs = sorted((rows[record_id], row) for row, record_id in enumerate(other_ids) if record_id in rows)
    else:
        rows = {record_id: row for row, record_id in enumerate(other_ids)}
        pairs = [(row, rows[record_id]) for row, record_id in enumerate(ids) if record_id in rows]
    row_pairs = np.array(pairs, np.int64).reshape(-1, 2)
    return row_pairs[:, 0], row_pairs[:, 1]


def _unmeasured_domain(number: int, name: str, terms: tuple[str, ...]) -> Domain:
    return Domain(
        number=number,
        name=name,
        is_named_by_person=False,
        terms=terms,
        n=0,
        centre=(0.0, 0.0),
        typical=(),
    )


def _measure_domains(
    memory_map: MemoryMap, vectors: Vectors, rows: _Rows, named_domains: Mapping[int, Domain]
) -> list[Domain]:
    """Return the domains that have members, with size and typical members computed again.

    Args:
        rows: The rows in `vectors` of the map's records.
    """
    measured = []
    for number, domain in named_domains.items():
        members = np.flatnonzero(memory_map.labels == number)
        if len(members):
            x, y = np.median(memory_map.coordinates[members], axis=0)
            member_vectors = vectors[rows[members]]
            ids = tuple(memory_map.ids[row] for row in members[_most_typical(member_vectors)])
            measured.append(replace(domain, n=len(members), centre=(float(x), float(y)), typical=ids))
    return measured


def _most_typical(vectors: Vectors) -> list[int]:
    """Return the rows of at most `MAX_TYPICAL` vectors, those nearest to the mean direction first.

    Attempts at one task have equal vectors. Of equal vectors, only the first is returned, unless there are too few
    others.
    """
    nearest = np.argsort(-(vectors @ vectors.mean(axis=0)), kind="stable").tolist()
    first_rows = {vectors[row].tobytes(): row for row in reversed(nearest)}
    distinct_rows = set(first_rows.values())
    return sorted(nearest, key=lambda row: row not in distinct_rows)[:MAX_TYPICAL]


def _sort_by_size(domains: Sequence[Domain]) -> tuple[Domain, ...]:
    return tuple(sorted(domains, key=lambda domain: (-domain.n, domain.number)))


def _make_recipe(embedded: EmbeddedRecords, engine: str, seed: int, min_domain_size: int) -> MapRecipe:
    libraries = ("numpy", "scipy", "scikit-learn", *(["umap-learn"] if engine == "umap-learn" else []))
    return MapRecipe(
        model=embedded.model,
        engine=engine,
        seed=seed,
        n_neighbours=N_NEIGHBOURS,
        min_domain_size=min_domain_size or default_min_size(len(embedded.ids)),
        versions=", ".join(f"{name} {version(name)}" for name in libraries),
    )


def _ignore_progress(done: int, total: int, what: str) -> None: ...
