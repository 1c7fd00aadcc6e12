"""Updates of a library's primitives to the versions of their loader."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from atlas.core.codec import encode_concept
from atlas.core.json_values import dump
from atlas.core.types import CodeConcept
from atlas.memory.concepts.records import validate
from atlas.protocols.strategies import PrimitiveLoader

SHIPPED_DIGEST = "shipped"
"""Metadata key for the digest of the version of a primitive that was loaded."""

IGNORED_FIELDS = ("id", "created_at", "calls", "found_in", "composed_of")


def mark_shipped(concept: CodeConcept) -> CodeConcept:
    """Return a loader's concept with a digest of the content in the metadata."""
    return replace(concept, metadata={**concept.metadata, SHIPPED_DIGEST: _digest(concept)})


def find_updates(
    loader: PrimitiveLoader,
    get_many: Callable[[Sequence[str]], list[CodeConcept]],
    has_versions: Callable[[CodeConcept], bool],
) -> list[CodeConcept]:
    """Return the loader's version of each primitive that differs from the library's, in the form that is stored.

    Args:
        get_many: Function that returns the library's concepts with the given ids.
        has_versions: Function that returns whether a concept of the library was ever edited.
    """
    shipped = {concept.id: mark_shipped(concept) for concept in loader.load().values()}
    updates = []
    for concept in get_many(list(shipped)):
        was_edited = SHIPPED_DIGEST not in concept.metadata and has_versions(concept)
        update = plan_update(concept, shipped[concept.id], was_edited=was_edited)
        if update is not None:
            updates.append(validate(update))
    return updates


def plan_update(concept: CodeConcept, shipped: CodeConcept, *, was_edited: bool) -> CodeConcept | None:
    """Return the updated form of a primitive, or None if the stored one is current or was edited.

    Args:
        shipped: The loader's version, with its digest.
        was_edited: Whether the concept has earlier versions. This decides for concepts without a digest, which an
            earlier version of ATLAS loaded.
    """
    loaded_digest = concept.metadata.get(SHIPPED_DIGEST)
    digest = _digest(concept)
    if shipped.metadata[SHIPPED_DIGEST] in (loaded_digest, digest):
        return None
    is_edited = was_edited if loaded_digest is None else digest != loaded_digest
    if is_edited:
        return None
    merge_metadata: Mapping[str, object] = {
        name: value for name, value in concept.metadata.items() if name.startswith("merged_")
    }
    return replace(
        shipped,
        metadata={**merge_metadata, **shipped.metadata},
        found_in=concept.found_in,
        composed_of=concept.composed_of,
        created_at=concept.created_at,
    )


def _digest(concept: CodeConcept) -> str:
    """Return a digest of a concept's content that does not depend on ids, times and merges."""
    encoded = {name: value for name, value in encode_concept(concept).items() if name not in IGNORED_FIELDS}
    metadata = {
        name: value
        for name, value in concept.metadata.items()
        if name != SHIPPED_DIGEST and not name.startswith("merged_")  # the notes of a merge are not edits
    }
    return hashlib.sha256(dump({**encoded, "metadata": metadata}).encode()).hexdigest()
