"""Primitives that a library holds otherwise than their loader brings them now, and which of the two has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from atlas.core.codec import encode_concept
from atlas.core.json_values import dump
from atlas.core.types import CodeConcept
from atlas.memory.concepts.records import checked
from atlas.protocols.strategies import PrimitiveLoader

SHIPPED = "shipped"
"""In a primitive's metadata: the digest of what its loader brought."""

LEFT_OUT = ("id", "created_at", "calls", "found_in", "composed_of")


def shipped(concept: CodeConcept) -> CodeConcept:
    """Return a loader's concept, marked with what it says."""
    return replace(concept, metadata={**concept.metadata, SHIPPED: _digest(concept)})


def updates(
    loader: PrimitiveLoader,
    get_many: Callable[[Sequence[str]], list[CodeConcept]],
    has_versions: Callable[[CodeConcept], bool],
) -> list[CodeConcept]:
    """Return the primitives that a loader brings otherwise than they are held, as they would become.

    Args:
        get_many: Gives those of some ids that the library holds.
        has_versions: Says whether one that the library holds was ever edited.
    """
    brought = {concept.id: shipped(concept) for concept in loader.load().values()}
    found = []
    for held in get_many(list(brought)):
        was_edited = SHIPPED not in held.metadata and has_versions(held)
        now = update_of(held, brought[held.id], was_edited=was_edited)
        found += [] if now is None else [checked(now)]
    return found


def update_of(held: CodeConcept, brought: CodeConcept, *, was_edited: bool) -> CodeConcept | None:
    """Return what a primitive would become, or None where it is as brought, or where a person changed it.

    Args:
        brought: By the loader now, `shipped`.
        was_edited: Whether it has earlier versions; only asked of one that an earlier ATLAS loaded, without a mark.
    """
    mark = held.metadata.get(SHIPPED)
    now = _digest(held)
    if brought.metadata[SHIPPED] in (mark, now):
        return None
    if now != mark if mark is not None else was_edited:
        return None
    kept: Mapping[str, object] = {name: value for name, value in held.metadata.items() if name.startswith("merged_")}
    return replace(
        brought,
        metadata={**kept, **brought.metadata},
        found_in=held.found_in,
        composed_of=held.composed_of,
        created_at=held.created_at,
    )


def _digest(concept: CodeConcept) -> str:
    said = {name: value for name, value in encode_concept(concept).items() if name not in LEFT_OUT}
    own = {
        name: value
        for name, value in concept.metadata.items()
        if name != SHIPPED and not name.startswith("merged_")  # what a merge notes is no edit
    }
    return hashlib.sha256(dump({**said, "metadata": own}).encode()).hexdigest()
