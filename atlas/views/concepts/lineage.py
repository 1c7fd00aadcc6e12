"""Callers and callees of a concept, with a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.types import CodeConcept
from atlas.memory.concepts import ConceptUses
from atlas.memory.concepts.records import PYTHON
from atlas.memory.system import MemorySystem
from atlas.views.charts.palette import GREY, PALETTE
from atlas.views.lists.queries import Row
from atlas.views.shared.wording import shortened

DRAWN = 12
"""Concepts of each kind that the picture shows."""

LABEL_CHARACTERS = 36

CALLS, CALLED_BY, COMPOSED_OF, PART_OF = "it calls", "calls it", "composed of", "is part of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(Row):
    """Another concept that this one has to do with. Name and description are untrusted text."""

    how: str
    """Trusted text."""

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
    kinds = {CALLS: concept.calls, CALLED_BY: uses.called_by, COMPOSED_OF: concept.composed_of, PART_OF: uses.part_of}
    related_by_kind = {how: memory.concepts.get_many(list(ids)) for how, ids in kinds.items()}
    named = {*concept.calls, *concept.composed_of}
    relations = tuple(_relation(how, other) for how, related in related_by_kind.items() for other in related)
    n_hidden = sum(max(0, len(related) - DRAWN) for related in related_by_kind.values())
    return Lineage(
        relations=relations,
        n_missing=len(named - {other.id for other in (*related_by_kind[CALLS], *related_by_kind[COMPOSED_OF])}),
        dot="\n".join(_dot(concept, {how: related[:DRAWN] for how, related in related_by_kind.items()}))
        if relations
        else "",
        caption=_caption(n_hidden) if relations else _empty_caption(concept),
    )


def quoted(name: str) -> str:
    """Return a name as a DOT string: one line of printable characters, all escapes removed."""
    plain = "".join(character if character.isprintable() else " " for character in name[: 4 * LABEL_CHARACTERS])
    plain = " ".join(plain.split())
    entities = shortened(plain, LABEL_CHARACTERS).replace("&", "&amp;")  # Graphviz would read others
    return '"' + entities.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _caption(n_hidden: int) -> str:
    return f"The picture leaves out {n_hidden:,} more; the table has them all." if n_hidden else ""


def _empty_caption(concept: CodeConcept) -> str:
    if concept.language == PYTHON:
        return "It calls no other concept, and none calls it."
    return "Calls are read from Python code only, and no calls are recorded for this concept."


def _relation(how: str, other: CodeConcept) -> Relation:
    return Relation(id=other.id, how=how, name=other.name, description=" ".join(other.description[:400].split()))


def _dot(concept: CodeConcept, related_by_kind: dict[str, Sequence[CodeConcept]]) -> Iterator[str]:
    """Return a picture from left to right: callers, the concept, its callees. Parts it was composed of are dashed."""
    numbers = {concept.id: 0}
    for related in related_by_kind.values():
        for other in related:
            numbers.setdefault(other.id, len(numbers))
    named = {concept.id: concept.name} | {
        other.id: other.name for related in related_by_kind.values() for other in related
    }
    yield "digraph {"
    yield 'graph [rankdir=LR, bgcolor="transparent", pad=0.1, nodesep=0.15]'
    yield (
        f'node [shape=box, style="rounded,filled", color="{GREY}", fillcolor="{GREY}", fontcolor="white", '
        'fontname="sans-serif", fontsize=11, height=0.3, margin="0.12,0.05"]'
    )
    yield f'edge [color="{GREY}", arrowsize=0.6]'
    for other_id, number in numbers.items():
        colour = f', color="{PALETTE[0]}", fillcolor="{PALETTE[0]}"' if number == 0 else ""
        yield f"n{number} [label={quoted(named[other_id])}{colour}]"
    for how, related in related_by_kind.items():
        for other in related:
            number = numbers[other.id]
            ends = f"n{number} -> n0" if how in (CALLED_BY, PART_OF) else f"n0 -> n{number}"
            yield ends + (" [style=dashed]" if how in (COMPOSED_OF, PART_OF) else "")
    yield "}"
