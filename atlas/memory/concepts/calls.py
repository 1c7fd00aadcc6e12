"""Relations between concepts: calls, callers, and origins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.types import CodeConcept
from atlas.memory.base.memory import Row
from atlas.memory.concepts.records import defined_names, from_row, undefined_calls, undefined_calls_of_row
from atlas.storage.collection import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptUses:
    """The references to a concept in the library, and its uses in attempts."""

    found_in: tuple[str, ...]
    """Ids of the experiences from which the concept was extracted."""

    called_by: tuple[str, ...]
    """Ids of the concepts whose code calls the concept."""

    part_of: tuple[str, ...]
    """Ids of the concepts that were composed of the concept."""

    n_uses: int
    """Number of recorded uses."""

    n_successes: int


def read_concepts(store: Collection, rows: Sequence[Row]) -> list[CodeConcept]:
    """Return rows as concepts. Their `calls` are resolved again from the names that the code calls.

    A called concept may have been deleted since, and its name given to another concept.
    """
    usage = store.usage([row["id"] for row in rows])
    concepts = [from_row(row, usage[row["id"]]) for row in rows]
    undefined_names = [undefined_calls_of_row(row, concept) for row, concept in zip(rows, concepts, strict=True)]
    if not any(undefined_names):
        return concepts
    titles, defines = store.column("title"), store.column("defines")
    return [
        resolve_calls(concept, names_of_concept, titles, defines)
        for concept, names_of_concept in zip(concepts, undefined_names, strict=True)
    ]


def find_callers(store: Collection, ids: Sequence[str]) -> list[str]:
    """Return the ids of the concepts that call one of the given concepts, or were composed of one."""
    if not ids:
        return []
    names = set[str]()
    for row in store.get(list(ids)):
        names.update([row["metadata"]["title"], *row["metadata"].get("defines", ())])
    is_id, is_name = {"$in": list(ids)}, {"$in": sorted(names)}
    candidate_ids = store.ids({"$or": [{"calls": is_id}, {"composed_of": is_id}, {"needs": is_name}]})
    needs = store.column("needs")
    candidate_ids += [concept_id for concept_id in store.ids() if concept_id not in needs]  # of earlier versions
    candidates = read_concepts(store, store.get(list(dict.fromkeys(candidate_ids))))
    return [concept.id for concept in candidates if not set(ids).isdisjoint((*concept.calls, *concept.composed_of))]


def collect_callees(concept: CodeConcept, get_many: Callable[[list[str]], list[CodeConcept]]) -> list[CodeConcept]:
    """Return the transitive dependencies of a concept: the concepts that it calls or was composed of, nearest first.

    Args:
        get_many: Function that returns the concepts with the given ids, skipping unknown ids.
    """
    callees: dict[str, CodeConcept] = {}
    frontier = [concept]
    while frontier:
        ids = dict.fromkeys(callee_id for caller in frontier for callee_id in (*caller.calls, *caller.composed_of))
        frontier = get_many([callee_id for callee_id in ids if callee_id not in callees and callee_id != concept.id])
        callees |= {callee.id: callee for callee in frontier}
    return list(callees.values())


def with_calls(store: Collection, concepts: Sequence[CodeConcept]) -> list[CodeConcept]:
    """Return concepts with `calls` filled in: the ids of the given or stored concepts that their code calls by name."""
    titles = store.column("title") | {concept.id: concept.name for concept in concepts}
    defines = store.column("defines") | {concept.id: [*defined_names(concept)] for concept in concepts}
    return [
        concept if concept.calls else resolve_calls(concept, undefined_calls(concept), titles, defines)
        for concept in concepts
    ]


def resolve_calls(
    concept: CodeConcept, called_names: Set[str], titles: Mapping[str, str], defines: Mapping[str, Any]
) -> CodeConcept:
    """Return a concept with `calls` filled in: the ids of the concepts that its code calls by name.

    Existing ids in `calls` stay. A called name that none of these concepts defines is resolved to the last concept that
    defines it. The new id takes the place of a deleted concept's id in `calls`, if there is one.

    Args:
        called_names: The names that the concept's code calls.
        titles: Names of all concepts, keyed by id.
        defines: Further names that each concept's code defines, a string or a list, keyed by id. `titles` take
            precedence.
    """
    defined = [(concept_id, name) for concept_id, names in defines.items() for name in _as_list(names)]
    all_names = [*defined, *titles.items()]
    resolved_names = {name for concept_id, name in all_names if concept_id in concept.calls}
    ids_by_name = {
        name: concept_id
        for concept_id, name in all_names
        if name in called_names - resolved_names and concept_id != concept.id
    }
    if not ids_by_name:
        return concept
    resolved_ids = [ids_by_name[name] for name in sorted(ids_by_name)]
    deleted_ids = [callee_id for callee_id in concept.calls if callee_id not in titles]
    existing_ids = [callee_id for callee_id in concept.calls if callee_id in titles]
    calls = dict.fromkeys([*existing_ids, *resolved_ids, *deleted_ids[len(resolved_ids) :]])
    return replace(concept, calls=tuple(calls))


def _as_list(names: Any) -> Sequence[str]:
    return [names] if isinstance(names, str) else names
