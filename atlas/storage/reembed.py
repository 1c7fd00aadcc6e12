"""Changing the embedding model of a store: every record, and every record in the history, is embedded anew."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from atlas.core.types import Vectors
from atlas.embedding.chunking import encode_documents
from atlas.protocols.infra import Progress, WholeEmbedder
from atlas.storage.sqlite.history.tombstones import GONE
from atlas.storage.sqlite.ledger import SqliteLedger
from atlas.storage.sqlite.records import FLOAT, read_revision
from atlas.storage.sqlite.stored import parsed

BATCH = 256

_IS_IMAGE = f"aspect = 'record' AND before <> '{GONE}'"


def reembed(ledger: SqliteLedger, embedder: WholeEmbedder, on_progress: Progress | None = None) -> int:
    """Embed all texts of a store with another model and bind the store to it; how many texts there were.

    The vectors are made first and swapped in one transaction; records that others add meanwhile are embedded inside it.
    From then on, processes that still use the old model are refused with `EmbeddingModelMismatch`.
    """
    vectors: dict[str, Vectors] = {}
    with ledger.database.read() as connection:
        texts = list(dict.fromkeys(_texts(connection)))
    for start in range(0, len(texts), BATCH):
        _embed(embedder, texts[start : start + BATCH], vectors)
        if on_progress:
            on_progress(len(vectors), len(texts))
    with ledger.database.write() as connection:
        late = [text for text in dict.fromkeys(_texts(connection)) if text not in vectors]
        _embed(embedder, late, vectors)
        _replace_records(connection, vectors)
        _replace_images(connection, vectors)
        for name, value in (("embedding_model", embedder.model_name), ("embedding_dimension", embedder.dimension)):
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, str(value)))
        # Another identity: whoever holds vectors of the old model in memory or in an index drops them.
        connection.execute("UPDATE meta SET value = lower(hex(randomblob(16))) WHERE name = 'ledger_id'")
    return len(vectors)


def _texts(connection: sqlite3.Connection) -> Iterator[str]:
    for (document,) in connection.execute("SELECT document FROM records WHERE deleted = 0"):
        yield document
    for (before,) in connection.execute(f"SELECT before FROM changes WHERE {_IS_IMAGE}"):
        yield parsed(before, "document")["document"]


def _embed(embedder: WholeEmbedder, texts: Sequence[str], vectors: dict[str, Vectors]) -> None:
    vectors |= dict(zip(texts, encode_documents(embedder, texts), strict=True))


def _replace_records(connection: sqlite3.Connection, vectors: dict[str, Vectors]) -> None:
    revision = read_revision(connection)
    connection.execute("DELETE FROM vectors")
    for seq, document in connection.execute("SELECT seq, document FROM records WHERE deleted = 0").fetchall():
        revision += 1
        windows = vectors[document]
        connection.executemany(
            "INSERT INTO vectors VALUES (?, ?, ?)",
            [(seq, window, vector.astype(FLOAT).tobytes()) for window, vector in enumerate(windows)],
        )
        connection.execute(
            "UPDATE records SET revision = ?, n_windows = max(n_windows, ?) WHERE seq = ?",
            (revision, len(windows), seq),
        )
    connection.execute("UPDATE meta SET value = ? WHERE name = 'revision'", (str(revision),))


def _replace_images(connection: sqlite3.Connection, vectors: dict[str, Vectors]) -> None:
    rows = connection.execute(f"SELECT seq, before FROM changes WHERE {_IS_IMAGE}").fetchall()
    for seq, before in rows:
        image = parsed(before, "document")
        windows = vectors[image["document"]]
        image["n_vectors"] = len(windows)
        connection.execute(
            "UPDATE changes SET before = ?, vectors = ? WHERE seq = ?",
            (json.dumps(image, ensure_ascii=False), windows.astype(FLOAT).tobytes(), seq),
        )
