"""Vectors of live records, and token vectors of all texts, including those in the history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from atlas.core.types import Vector, Vectors
from atlas.embedding.chunking import EncodedText
from atlas.storage.damage import parse_row
from atlas.storage.records import PROJECTION, Seqs
from atlas.storage.sql import meta
from atlas.storage.sql.connection import Connection, Database, IntegerArray, TextArray
from atlas.storage.sql.meta import PURGED_IMAGE
from atlas.storage.sql.records import FLOAT, join_vectors, write_vectors
from atlas.storage.sql.token_vectors import delete_tokens_except, text_hash, write_tokens

BATCH = 500
"""Batch size of looked up texts."""

_IS_RECORD_IMAGE_SQL = f"aspect = 'record' AND before <> '{PURGED_IMAGE}'"


class SqlVectors:
    """The vectors of the records of every collection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_by_seq(self, seqs: Seqs) -> tuple[Seqs, Vectors]:
        """Return two arrays with one row for each window of these records: record numbers and vectors."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT seq, vector FROM vectors WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq, window",
                (IntegerArray(seqs.tolist()),),
            ).fetchall()
            return np.array([row[0] for row in rows], np.int64), join_vectors([row[1] for row in rows])

    def read_windows(self, seqs: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of each record, keyed by record number, of shape (n_windows, dim). Empty if missing."""
        numbers = np.array(seqs, np.int64)
        owners, vectors = self.read_by_seq(numbers)
        starts, ends = np.searchsorted(owners, numbers, "left"), np.searchsorted(owners, numbers, "right")
        return {seq: vectors[start:end] for seq, start, end in zip(seqs, starts, ends, strict=True)}

    def read_by_text(self, documents: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of the texts that live records contain, keyed by text, each of shape (n_windows, dim)."""
        texts_by_hash = {text_hash(document): document for document in documents}
        seq_by_text: dict[str, int] = {}
        with self._database.read() as connection:
            for start in range(0, len(texts_by_hash), BATCH):
                batch = [*texts_by_hash][start : start + BATCH]
                rows = connection.execute(
                    f"SELECT text_hash, min(seq) FROM records WHERE text_hash IN ({', '.join('?' * len(batch))}) "
                    "AND deleted = 0 GROUP BY text_hash",
                    batch,
                )
                seq_by_text |= {texts_by_hash[bytes(row[0])]: row[1] for row in rows.fetchall()}
            vectors = self.read_windows(sorted(set(seq_by_text.values())))
        return {text: vectors[seq_by_text[text]] for text in dict.fromkeys(documents) if text in seq_by_text}

    def first_vectors(self, collection: str, ids: Sequence[str]) -> dict[str, Vector]:
        """Return each record's vector for its whole text (window 0), keyed by id."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT r.id, v.vector FROM records r JOIN vectors v ON v.seq = r.seq AND v.window = 0 "
                "WHERE r.collection = ? AND r.deleted = 0 AND r.id IN (SELECT value FROM json_each(?))",
                (collection, TextArray(ids)),
            ).fetchall()
            return dict(zip([row[0] for row in rows], join_vectors([row[1] for row in rows]), strict=True))

    def count(self, collection: str) -> int:
        """Return the number of vectors in a collection."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(*) FROM records r JOIN vectors v ON v.seq = r.seq WHERE r.collection = ?", (collection,)
            ).fetchone()
        return int(row[0])

    def has_more_than(self, collection: str, n_vectors: int) -> bool:
        """Return whether the live records of a collection have more than `n_vectors` vectors."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT 1 FROM records r JOIN vectors v ON v.seq = r.seq WHERE r.collection = ? AND r.deleted = 0 "
                "LIMIT 1 OFFSET ?",
                (collection, n_vectors),
            )
            return bool(rows.fetchall())

    def texts(self) -> list[str]:
        """Return the distinct embedded texts of all records and of their earlier versions."""
        with self._database.read() as connection:
            return read_embedded_texts(connection)

    def replace(
        self,
        vectors: Mapping[str, EncodedText],
        embed: Callable[[Sequence[str]], Mapping[str, EncodedText]],
        *,
        model: str,
        dimension: int,
        prompts: str = "",
        projection: str = "",
    ) -> int:
        """Replace all vectors by another model's, bind the store to that model, and return the number of texts.

        Args:
            vectors: The new vectors, keyed by text.
            prompts: Prompts of the model, as text.
            embed: Embeds texts that were added in the meantime.
            projection: The projection that packs token vectors, as text. Empty if the model has no token vectors.

        Returns:
            The number of texts.
        """
        with self._database.write() as connection:
            embedded_texts = read_embedded_texts(connection)  # texts purged in the meantime are gone
            all_vectors = {**vectors, **embed([text for text in embedded_texts if text not in vectors])}
            _replace_record_vectors(connection, all_vectors)
            _replace_image_vectors(connection, all_vectors)
            _replace_token_vectors(connection, {text: all_vectors[text] for text in embedded_texts}, projection)
            meta.bind_model(connection, model, dimension, prompts)
            meta.renew_ledger_id(connection)  # invalidates cached vectors of the old model
        return len(embedded_texts)


def read_embedded_texts(connection: Connection) -> list[str]:
    """Return the distinct embedded texts of all records and of their earlier versions."""
    return list(dict.fromkeys(_iterate_texts(connection)))


def _iterate_texts(connection: Connection) -> Iterator[str]:
    """Yield the embedded text of each live record and of each record in the history."""
    for (document,) in connection.execute("SELECT document FROM records WHERE deleted = 0"):
        yield document
    for (image_text,) in connection.execute(f"SELECT before FROM changes WHERE {_IS_RECORD_IMAGE_SQL}"):
        yield parse_row(image_text, "document")["document"]


def _replace_token_vectors(connection: Connection, texts: Mapping[str, EncodedText], projection: str) -> None:
    """Replace all token vectors, given by text, and the projection that packs them."""
    delete_tokens_except(connection)
    for text, encoded in texts.items():
        if encoded.tokens is not None:
            write_tokens(connection, text, encoded.tokens)
    connection.execute("DELETE FROM meta WHERE name = ?", (PROJECTION,))
    meta.write_notes(connection, PROJECTION, {"": projection} if projection else {})


def _replace_record_vectors(connection: Connection, vectors: Mapping[str, EncodedText]) -> None:
    """Replace the vectors of all live records, given by text."""
    revision = meta.read_revision(connection)
    connection.execute("DELETE FROM vectors")
    for seq, document in connection.execute("SELECT seq, document FROM records WHERE deleted = 0").fetchall():
        revision += 1
        windows = vectors[document].vectors
        write_vectors(connection, seq, windows)
        connection.execute(
            "UPDATE records SET revision = ?1, n_windows = CASE WHEN n_windows < ?2 THEN ?2 ELSE n_windows END "
            "WHERE seq = ?3",
            (revision, len(windows), seq),
        )
    meta.write_revision(connection, revision)


def _replace_image_vectors(connection: Connection, vectors: Mapping[str, EncodedText]) -> None:
    """Replace the vectors of all records in the history, given by text."""
    for seq, image_text in connection.execute(
        f"SELECT seq, before FROM changes WHERE {_IS_RECORD_IMAGE_SQL}"
    ).fetchall():
        image = parse_row(image_text, "document")
        replace_image(connection, seq, image, vectors[image["document"]].vectors)


def replace_image(connection: Connection, seq: int, image: dict[str, Any], vectors: Vectors) -> None:
    """Replace the before-image of a change, and its vectors."""
    image["n_vectors"] = len(vectors)
    connection.execute(
        "UPDATE changes SET before = ?, vectors = ? WHERE seq = ?",
        (json.dumps(image, ensure_ascii=False), np.ascontiguousarray(vectors, FLOAT).tobytes(), seq),
    )
