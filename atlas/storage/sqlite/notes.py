"""Small texts that are kept by name, beside the records: rows of the ledger's `meta` table.

So a backup holds them, and every process that has the store open sees them.
"""

from __future__ import annotations

from collections.abc import Mapping

from atlas.core.errors import PlanOutdated
from atlas.storage.sqlite.database import Database
from atlas.storage.sqlite.tables.meta import SET, read_revision, read_text, read_texts, write_revision


class SqliteNotes:
    """Texts by name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, beginning: str) -> dict[str, str]:
        """Return each text whose name begins so, by the rest of its name, in the order of names."""
        with self._database.read() as connection:
            return read_texts(connection, beginning)

    def write(
        self, texts: Mapping[str, str | None], *, expected: Mapping[str, str | None] | None = None, moves: bool = False
    ) -> dict[str, str | None]:
        """Keep texts, or forget those that are None, and return what was kept under these names before.

        Args:
            expected: What should be kept under these names now.
            moves: Whether the store's revision moves, as results of searches that are kept under it are void then.

        Raises:
            PlanOutdated: Something else than expected is kept; nothing was written.
        """
        with self._database.write() as connection:
            held = {name: read_text(connection, name) for name in texts}
            if expected is not None and held != expected:
                raise PlanOutdated("it was changed again since; nothing was done. Look at it again")
            gone = [(name,) for name, text in texts.items() if text is None]
            connection.executemany("DELETE FROM meta WHERE name = ?", gone)
            connection.executemany(SET, [(name, text) for name, text in texts.items() if text is not None])
            if moves:
                write_revision(connection, read_revision(connection) + 1)
        return held
