"""Removal of purged text from neighbouring records, which are indexed with the beginnings of their predecessors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from atlas.embedding.chunking import EncodedText, encode_texts
from atlas.memory.journal import Journal, conversations, entries
from atlas.memory.journal.conversations import Conversations
from atlas.memory.journal.neighbours import LogText, indexed_text, title_of
from atlas.storage.history import Image, Reword


def make_reword(journal: Journal | None, conversations_memory: Conversations | None) -> Reword | None:
    """Return a function that removes beginnings of purged records from indexed texts, and embeds the changed texts.

    Return None if neither memory has records.
    """
    logs = [(journal, entries.LOG_TEXT), (conversations_memory, conversations.LOG_TEXT)]
    indexed = {
        memory.collection_name: (memory.embedder, memory.collection.projection(), log_text)
        for memory, log_text in logs
        if memory is not None and memory.collection.count()
    }
    if not indexed:
        return None

    def reword(
        collection: str, purged: Sequence[Image], records: Iterable[tuple[str, str]]
    ) -> Mapping[str, tuple[str, EncodedText]]:
        if collection not in indexed:
            return {}
        embedder, projection, log_text = indexed[collection]
        purged_titles = {title_of(_decode_text(log_text, image["content"])) for image in purged if "content" in image}
        texts = {
            document: _remove_beginnings(document, _decode_text(log_text, content), purged_titles)
            for document, content in records
        }
        reworded_texts = {old_text: new_text for old_text, new_text in texts.items() if new_text != old_text}
        new_vectors = encode_texts(embedder, list(reworded_texts.values()), projection)
        return {
            old_text: (reworded_texts[old_text], encoding)
            for old_text, encoding in zip(reworded_texts, new_vectors, strict=True)
        }

    return reword


def _decode_text(log_text: LogText, encoded: str) -> str:
    return log_text.content_of({"id": "", "metadata": {"content": encoded}})


def _remove_beginnings(document: str, content: str, purged_beginnings: set[str]) -> str:
    """Return the text of a record without the beginnings of purged records."""
    if not document.startswith(f"{content}\n\n"):
        return document
    beginnings = document.removeprefix(f"{content}\n\n").split("\n\n")
    return indexed_text(content, [beginning for beginning in beginnings if beginning not in purged_beginnings])
