"""Rewording of records next to purged ones: a log embeds each with the beginnings of those before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from atlas.embedding.chunking import EncodedText, encode_texts
from atlas.memory.journal import Journal, conversations, entries
from atlas.memory.journal.conversations import Conversations
from atlas.memory.journal.neighbours import Telling, text_of, title_of
from atlas.storage.history import Image, Reword


def rewording(journal: Journal | None, talks: Conversations | None) -> Reword | None:
    """Return what takes the beginnings of purged records out of the texts of others, and embeds these again."""
    logs = [(journal, entries.TELLING), (talks, conversations.TELLING)]
    held = {
        memory.collection_name: (memory.embedder, memory.collection.packer(), telling)
        for memory, telling in logs
        if memory is not None and memory.collection.count()
    }
    if not held:
        return None

    def reword(
        collection: str, purged: Sequence[Image], others: Iterable[tuple[str, str]]
    ) -> Mapping[str, tuple[str, EncodedText]]:
        if collection not in held:
            return {}
        embedder, pack, telling = held[collection]
        gone = {title_of(_said(telling, image["content"])) for image in purged if "content" in image}
        texts = {document: _without(document, _said(telling, content), gone) for document, content in others}
        changed = {before: after for before, after in texts.items() if after != before}
        encoded = encode_texts(embedder, list(changed.values()), pack)
        return {before: (changed[before], made) for before, made in zip(changed, encoded, strict=True)}

    return reword


def _said(telling: Telling, encoded: str) -> str:
    return telling.said({"id": "", "metadata": {"content": encoded}})


def _without(document: str, said: str, gone: set[str]) -> str:
    """Return the text that finds a record, without those of the beginnings after what it says itself."""
    if not document.startswith(f"{said}\n\n"):
        return document
    before = document.removeprefix(f"{said}\n\n").split("\n\n")
    return text_of(said, [one for one in before if one not in gone])
