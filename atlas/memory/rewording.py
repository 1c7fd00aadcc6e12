"""Rewording of entries next to purged ones: a journal embeds each entry with the beginnings of those before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from atlas.core.journal_codec import decode_entry
from atlas.core.types import Vectors
from atlas.embedding.chunking import encode_documents
from atlas.memory.journal import Journal
from atlas.memory.journal.records import text_of, title_of
from atlas.storage.history import Image, Reword


def rewording(journal: Journal | None) -> Reword | None:
    """Return what takes the beginnings of purged entries out of the texts of others, and embeds these again."""
    if journal is None:
        return None
    name, embedder = journal.collection_name, journal.embedder

    def reword(
        collection: str, purged: Sequence[Image], held: Iterable[tuple[str, str]]
    ) -> Mapping[str, tuple[str, Vectors]]:
        if collection != name:
            return {}
        gone = {title_of(_said(image["content"])) for image in purged if "content" in image}
        texts = {document: _without(document, _said(content), gone) for document, content in held}
        changed = {before: after for before, after in texts.items() if after != before}
        vectors = encode_documents(embedder, list(changed.values()))
        return {before: (changed[before], made) for before, made in zip(changed, vectors, strict=True)}

    return reword


def _said(encoded: str) -> str:
    return decode_entry(json.loads(encoded)).content


def _without(document: str, said: str, gone: set[str]) -> str:
    """Return the text that finds an entry, without those of the beginnings after what it says itself."""
    if not document.startswith(f"{said}\n\n"):
        return document
    before = document.removeprefix(f"{said}\n\n").split("\n\n")
    return text_of(said, [one for one in before if one not in gone])
