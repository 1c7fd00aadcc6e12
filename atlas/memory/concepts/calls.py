"""Where concepts stand beside one another: what each calls, what calls it, and where it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.core.types import CodeConcept
from atlas.infra.twin import twin
from atlas.memory.base.memory import Memory, Row
from atlas.memory.base.records import listed
from atlas.memory.concepts.linking import linked
from atlas.memory.concepts.records import called_names, defined_names, from_row, needs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ConceptUses:
    """Where a concept stands in the library and in what was done."""

    found_in: tuple[str, ...]
    """Ids of the experiences that it was found in."""

    called_by: tuple[str, ...]
    """Ids of the concepts whose code calls it."""

    part_of: tuple[str, ...]
    """Ids of the concepts that were composed of it."""

    n_uses: int
    """Tasks that it was used for and whose outcome was recorded."""

    n_successes: int


class ConceptLineage(Memory[CodeConcept]):
    """Concepts in a vector store, linked by what their code calls."""

    noun = "concept"

    def uses(self, concept_id: str) -> ConceptUses:
        """Where a concept was found, who calls it, and how often it was used; `NotFound` where it is not there."""
        concept = self._whole_concept(concept_id)
        usage = self._store.usage([concept_id])[concept_id]
        callers = self.get_many(self._naming([concept_id]))
        return ConceptUses(
            found_in=concept.found_in,
            called_by=tuple(one.id for one in callers if concept_id in one.calls),
            part_of=tuple(self._store.ids({"composed_of": concept_id})),
            n_uses=usage.n_uses,
            n_successes=usage.n_successes,
        )

    auses = twin(uses)

    def depends_on(self, concept_id: str) -> list[CodeConcept]:
        """The concepts that one needs to run, directly or through others, and those that it was composed of.

        Nearest first, each once; those that were deleted are left out.

        Raises:
            NotFound: It is not there.
        """
        found: dict[str, CodeConcept] = {}
        concept = self._whole_concept(concept_id)
        waiting = [concept]
        while waiting:
            ids = [i for one in waiting for i in (*one.calls, *one.composed_of) if i not in found and i != concept_id]
            waiting = self.get_many(list(dict.fromkeys(ids)))
            found |= {one.id: one for one in waiting}
        return list(found.values())

    adepends_on = twin(depends_on)

    def dependents(self, concept_ids: Sequence[str]) -> list[CodeConcept]:
        """The other concepts that call one of these, or were composed of one: those that would lack them."""
        among = set(listed(concept_ids))
        return self.get_many([found for found in self._naming(concept_ids) if found not in among])

    adependents = twin(dependents)

    # Steps of the above

    def _read(self, rows: Sequence[Row]) -> list[CodeConcept]:
        """What they call is told by what there is now: a callee may have been deleted, and another have its name."""
        usage = self._store.usage([row["id"] for row in rows])
        found = [from_row(row, usage[row["id"]]) for row in rows]
        needed = [needs_of(row, concept) for row, concept in zip(rows, found, strict=True)]
        if not any(needed):
            return found
        titles, defines = self._store.column("title"), self._store.column("defines")
        return [linked(one, needs, titles, defines) for one, needs in zip(found, needed, strict=True)]

    def _whole_concept(self, concept_id: str) -> CodeConcept:
        return self._read([self._row(concept_id)])[0]

    def _naming(self, ids: Sequence[str]) -> list[str]:
        """The ids of the concepts that name one of these as what they call or were composed of, by id or by name."""
        if not ids:
            return []
        among = {"$in": list(ids)}
        rows = self._store.get(list(ids))
        names = {name for row in rows for name in (row["metadata"]["title"], *row["metadata"].get("defines", ()))}
        named = {"$in": sorted(names)}
        stored = self._store.ids({"$or": [{"calls": among}, {"composed_of": among}, {"needs": named}]})
        say_needs = self._store.column("needs")
        silent = [found for found in self._store.ids() if found not in say_needs]
        return [
            concept.id
            for concept in self.get_many(list(dict.fromkeys([*stored, *silent])))
            if not set(ids).isdisjoint((*concept.calls, *concept.composed_of))
        ]

    def _with_calls(self, concepts: Sequence[CodeConcept]) -> list[CodeConcept]:
        """The concepts with the ids of what they call by name, of one another and of the library."""
        titles = self._store.column("title") | {concept.id: concept.name for concept in concepts}
        defines = self._store.column("defines") | {one.id: [*defined_names(one)] for one in concepts}
        return [one if one.calls else linked(one, called_names(one), titles, defines) for one in concepts]
