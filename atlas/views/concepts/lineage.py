"""Callers and callees of a concept, with a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from atlas.core.types import CodeConcept
from atlas.memory.concepts import ConceptUses
from atlas.memory.concepts.records import PYTHON
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import GREY, PALETTE
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import shortened

MAX_DRAWN = 12
"""Limit of the concepts that the picture shows for each relation."""

LABEL_CHARACTERS = 36

CALLS, CALLED_BY, COMPOSED_OF, PART_OF = "it calls", "calls it", "composed of", "is part of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(Row):
    """Another concept to which one has a relation. Name and description are untrusted text."""

    how: str
    """The relation, such as `it calls`, as trusted text."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The concepts around one."""

    relations: tuple[Relation, ...]
    n_missing: int
    """Concepts that it calls or was composed of, and that were deleted."""

    dot: str
    """The picture in the DOT language, with names as labels, or empty if there are no relations."""

    caption: str
    """The concepts that the picture leaves out, or why there is no picture, or empty if it shows all."""


def lineage_of(memory: MemorySystem, concept: CodeConcept, uses: ConceptUses) -> Lineage:
    """Return the concepts that a concept calls, is called by, was composed of or is part of, in that order."""
    ids_by_relation = {
        CALLS: concept.calls,
        CALLED_BY: uses.called_by,
        COMPOSED_OF: concept.composed_of,
        PART_OF: uses.part_of,
    }
    related = {relation: memory.concepts.get_many(list(ids)) for relation, ids in ids_by_relation.items()}
    drawn = {relation: concepts[:MAX_DRAWN] for relation, concepts in related.items()}
    relations = tuple(_relation(relation, other) for relation, concepts in related.items() for other in concepts)
    referenced_ids = {*concept.calls, *concept.composed_of}
    stored_ids = {other.id for other in (*related[CALLS], *related[COMPOSED_OF])}
    n_hidden = sum(len(related[relation]) - len(drawn[relation]) for relation in related)
    return Lineage(
        relations=relations,
        n_missing=len(referenced_ids - stored_ids),
        dot="\n".join(_dot_lines(concept, drawn)) if relations else "",
        caption=_caption(n_hidden) if relations else _empty_caption(concept),
    )


def quoted(name: str) -> str:
    """Return a name as a DOT string: one line of printable characters, all escapes removed."""
    printable = "".join(character if character.isprintable() else " " for character in name[: 4 * LABEL_CHARACTERS])
    entities = shortened(" ".join(printable.split()), LABEL_CHARACTERS).replace(
        "&", "&amp;"
    )  # Graphviz would read others
    return '"' + entities.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _caption(n_hidden: int) -> str:
    return f"The picture leaves out {n_hidden:,} more; the table has them all." if n_hidden else ""


def _empty_caption(concept: CodeConcept) -> str:
    if concept.language == PYTHON:
        return "It calls no other concept, and none calls it."
    return "Calls are read from Python code only, and no calls are recorded for this concept."


def _relation(relation: str, neighbour: CodeConcept) -> Relation:
    description = " ".join(neighbour.description[:400].split())
    return Relation(id=neighbour.id, how=relation, name=neighbour.name, description=description)


def _dot_lines(concept: CodeConcept, neighbours_by_relation: Mapping[str, Sequence[CodeConcept]]) -> Iterator[str]:
    """Return the lines of a picture, from left to right: callers, the concept, callees. Composition is dashed."""
    numbers, names = {concept.id: 0}, {concept.id: concept.name}
    for neighbour in chain.from_iterable(neighbours_by_relation.values()):
        numbers.setdefault(neighbour.id, len(numbers))
        names[neighbour.id] = neighbour.name
    yield "digraph {"
    yield 'graph [rankdir=LR, bgcolor="transparent", pad=0.1, nodesep=0.15]'
    yield (
        f'node [shape=box, style="rounded,filled", color="{GREY}", fillcolor="{GREY}", fontcolor="white", '
        'fontname="sans-serif", fontsize=11, height=0.3, margin="0.12,0.05"]'
    )
    yield f'edge [color="{GREY}", arrowsize=0.6]'
    for concept_id, number in numbers.items():
        colour = f', color="{PALETTE[0]}", fillcolor="{PALETTE[0]}"' if number == 0 else ""
        yield f"n{number} [label={quoted(names[concept_id])}{colour}]"
    for relation, neighbours in neighbours_by_relation.items():
        for neighbour in neighbours:
            number = numbers[neighbour.id]
            ends = f"n{number} -> n0" if relation in (CALLED_BY, PART_OF) else f"n0 -> n{number}"
            yield ends + (" [style=dashed]" if relation in (COMPOSED_OF, PART_OF) else "")
    yield "}"
