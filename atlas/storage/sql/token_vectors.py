"""Packed token vectors of texts, which are derived and so have no history."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from atlas.storage.records import PROJECTION
from atlas.storage.sql.connection import Connection, Database, IntegerArray

TABLE = """
-- One row for each text, shared by its records. They are derived, and computed again by `atlas reembed`.
CREATE TABLE token_vectors (
    text_hash BLOB PRIMARY KEY,
    packed    BLOB NOT NULL                      -- 24 bytes for each word piece
) WITHOUT ROWID;
"""


class SqlTokenVectors:
    """The token vectors of the texts of every collection."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_by_seq(self, seqs: Sequence[int]) -> dict[int, bytes]:
        """Return the packed token vectors of the records that have any, keyed by record number."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT r.seq, t.packed FROM records r JOIN token_vectors t ON t.text_hash = r.text_hash "
                "WHERE r.seq IN (SELECT value FROM json_each(?)) AND length(t.packed) > 0",
                (IntegerArray(seqs),),
            ).fetchall()
        return dict(rows)

    def clear(self) -> None:
        """Delete all token vectors, and the projection that packs them."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM token_vectors")
            connection.execute("DELETE FROM meta WHERE name = ?", (PROJECTION,))

    def count_missing(self) -> int:
        """Return the number of distinct texts of live records without token vectors."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT count(DISTINCT text_hash) FROM records "
                "WHERE deleted = 0 AND text_hash NOT IN (SELECT text_hash FROM token_vectors)"
            ).fetchone()
        return int(row[0])


def text_hash(text: str) -> bytes:
    """Return the BLAKE2b hash of a text, 16 bytes long."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def write_tokens(connection: Connection, text: str, packed: bytes) -> None:
    """Store the token vectors of a text, unless they exist."""
    connection.executemany(
        "INSERT INTO token_vectors VALUES (?, ?) ON CONFLICT DO NOTHING", [(text_hash(text), packed)]
    )


def delete_tokens_except(connection: Connection, texts: Sequence[str] = ()) -> None:
    """Delete the token vectors of all texts except these."""
    hashes = {text_hash(text) for text in texts}
    rows = connection.execute("SELECT text_hash FROM token_vectors").fetchall()
    connection.executemany(
        "DELETE FROM token_vectors WHERE text_hash = ?", [row for row in rows if row[0] not in hashes]
    )
