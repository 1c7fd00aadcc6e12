"""Checking a store's derived parts against its ledger, and mending them from it."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from atlas.storage.sqlite.database import Unreadable
from atlas.storage.sqlite.history.erasing import unfinished
from atlas.storage.sqlite.history.tombstones import GONE
from atlas.storage.sqlite.records import attribute_values
from atlas.storage.sqlite.stored import parsed
from atlas.storage.sqlite.words.fts_schema import check_word_table, make_word_table_anew
from atlas.storage.store import Store
from atlas.storage.vectors.chroma import IndexUnusable
from atlas.storage.vectors.vector_search import Nearest

logger = logging.getLogger(__name__)

MOST_NAMED = 100
"""So many records are named one by one."""

_ORPHAN_VECTORS = "SELECT seq FROM vectors WHERE seq NOT IN (SELECT seq FROM records WHERE deleted = 0)"
_WITHOUT_VECTORS = "SELECT id FROM records WHERE deleted = 0 AND seq NOT IN (SELECT seq FROM vectors)"
_TEXTS = (
    "SELECT CAST(id AS BLOB), CAST(metadata AS BLOB) FROM records",
    "SELECT CAST(id AS BLOB), CAST(content AS BLOB) FROM records WHERE content <> '' AND collection GLOB 'atlas_*'",
    f"SELECT CAST(record_id AS BLOB), CAST(before AS BLOB) FROM changes WHERE before <> '{GONE}'",
)
"""What the rows hold as JSON, each with the id of the record that it is of: as bytes, as they may be no text any more.
Of the records' contents those of the memories, as others may write what they like."""

_DAMAGED = (
    "Nothing else was looked at, and nothing mended. Restore a backup into a new directory (atlas --store NEW restore "
    "FILE), or see: sqlite3 … .recover"
)
_WRONG_DIMENSION = "SELECT count(*) FROM vectors WHERE length(vector) <> 4 * ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    problem: str
    """What differs from the ledger; empty where nothing does."""

    is_fixed: bool = False


@dataclass(frozen=True, slots=True)
class _Check:
    name: str
    look: Callable[[Store], str]
    """What is wrong, or nothing."""

    mend: Callable[[Store], None] | None = None
    """None where only a person can decide what to do."""

    is_last: bool = False
    """Whether nothing else is looked at where it finds something: what is read then may raise, and a mend would write
    into the damage."""


def examine(store: Store, *, fix: bool = False) -> list[Finding]:
    """Check everything; with `fix`, mend what can be made anew from the ledger, and check again.

    Raises:
        StoreDamaged: The ledger itself cannot be read.
    """
    return list(_examine(store, fix))


def _examine(store: Store, fix: bool) -> Iterator[Finding]:
    for check in _CHECKS:
        problem, is_fixed = check.look(store), False
        if problem and fix and check.mend and not store.read_only:
            check.mend(store)
            left = check.look(store)
            is_fixed, problem = not left, left or problem
        yield Finding(check=check.name, problem=problem, is_fixed=is_fixed)
        if problem and check.is_last:
            return


def _look_at_file(store: Store) -> str:
    with store.ledger.database.session() as connection:
        rows = [row[0] for row in connection.execute("PRAGMA integrity_check(5)").fetchall()]
    return "" if rows == ["ok"] else f"SQLite finds: {'; '.join(rows)}. {_DAMAGED}"


def _look_at_rows(store: Store) -> str:
    with store.ledger.database.read() as connection:
        problems = [problem for query in _TEXTS for problem in _unreadable(connection, query)]
    return f"{len(problems)} texts cannot be read, such as {problems[0]}. {_DAMAGED}" if problems else ""


def _unreadable(connection: sqlite3.Connection, query: str) -> Iterator[str]:
    for owner, text in connection.execute(query):
        try:
            parsed((text or b"").decode())
        except (Unreadable, UnicodeDecodeError) as error:
            yield f"that of {(owner or b'').decode(errors='replace')!r} ({error})"


def _look_at_vectors(store: Store) -> str:
    with store.ledger.database.read() as connection:
        n_orphans = len(connection.execute(_ORPHAN_VECTORS).fetchall())
        bare = [row[0] for row in connection.execute(_WITHOUT_VECTORS).fetchall()]
        n_wrong = connection.execute(_WRONG_DIMENSION, (store.model.dimension,)).fetchone()[0] if store.model else 0
    problems = [
        f"{n_orphans} vectors without a record" if n_orphans else "",
        f"{len(bare)} records without a vector, such as {bare[0]}; run: atlas reembed" if bare else "",
        f"{n_wrong} vectors of another dimension; run: atlas reembed" if n_wrong else "",
    ]
    return "; ".join(filter(None, problems))


def _mend_vectors(store: Store) -> None:
    with store.ledger.database.write() as connection:
        connection.execute(f"DELETE FROM vectors WHERE seq IN ({_ORPHAN_VECTORS})")


def _look_at_words(store: Store) -> str:
    if store.read_only:
        return ""  # the check is a statement that writes
    with store.ledger.database.session() as connection:
        problems = {name: check_word_table(connection, name) for name in store.ledger.collections()}
    wrong = [f"of {name} ({problem})" for name, problem in problems.items() if problem]
    return f"keyword search {', '.join(wrong)} does not follow the records" if wrong else ""


def _mend_words(store: Store) -> None:
    with store.ledger.database.write() as connection:
        for name in store.ledger.collections():
            make_word_table_anew(connection, name)


def _look_at_filters(store: Store) -> str:
    with store.ledger.database.read() as connection:
        n_wrong = sum(1 for _ in _wrong_attributes(connection))
    return f"the filters of {n_wrong} records do not follow their metadata" if n_wrong else ""


def _mend_filters(store: Store) -> None:
    with store.ledger.database.write() as connection:
        for seq, collection, expected in list(_wrong_attributes(connection)):
            connection.execute("DELETE FROM attributes WHERE seq = ?", (seq,))
            for name, value in expected:
                connection.execute(
                    "INSERT OR IGNORE INTO attribute_keys (collection, name) VALUES (?, ?)", (collection, name)
                )
                connection.execute(
                    "INSERT INTO attributes SELECT key, ?, ? FROM attribute_keys WHERE collection = ? AND name = ?",
                    (value, seq, collection, name),
                )


def _wrong_attributes(connection: sqlite3.Connection) -> Iterator[tuple[int, str, set[tuple[str, object]]]]:
    """Records whose attributes differ from their metadata, with what they should be."""
    for seq, collection, metadata in connection.execute("SELECT seq, collection, metadata FROM records"):
        held = connection.execute(
            "SELECT k.name, a.value FROM attributes a JOIN attribute_keys k ON k.key = a.key WHERE a.seq = ?", (seq,)
        ).fetchall()
        expected = set(attribute_values(parsed(metadata)))
        if set(held) != expected:
            yield seq, collection, expected


def _look_at_index(store: Store) -> str:
    problems = (_index_problem(store, name) for name in store.ledger.collections())
    return "; ".join(filter(None, problems))


def _index_problem(store: Store, name: str) -> str:
    nearest = _nearest(store, name)
    if store.read_only or nearest.index is None or nearest.is_exact():
        return ""
    if flaw := nearest.flaw():
        return f"{name} {flaw}"
    if n_behind := store.ledger.position(name).revision - nearest.seal().revision:
        return f"the index of {name} is {n_behind} revisions behind"
    n_windows = store.ledger.count_vectors(name)
    try:
        n_indexed = nearest.index.count()
    except IndexUnusable as error:
        return f"the index of {name} is damaged ({error})"
    return "" if n_indexed == n_windows else f"the index of {name} holds {n_indexed} vectors, the ledger {n_windows}"


def _mend_index(store: Store) -> None:
    for name in store.ledger.collections():
        problem, nearest = _index_problem(store, name), _nearest(store, name)
        if not problem or nearest.index is None:
            continue
        if "behind" not in problem:
            nearest.index.clear()
        nearest.catch_up()


def _look_at_marks(store: Store) -> str:
    with store.ledger.database.read() as connection:
        n_pending = connection.execute("SELECT count(*) FROM pending_marks").fetchone()[0]
    strays, lost = [record_id for _, record_id in store.marks.strays()], store.marks.lost()
    problems = [
        f"{n_pending} marks have not reached their file" if n_pending else "",
        *store.marks.file_problems(),
        f"{len(strays)} marks of records that never were here, such as {strays[0]!r}" if strays else "",
        f"the last mark of {len(lost)} records was lost with its file; they have the one before it until they are "
        f"marked again: {_listed(lost)}"
        if lost
        else "",
    ]
    return "; ".join(filter(None, problems))


def _listed(ids: Sequence[str]) -> str:
    rest = f" and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(ids[:MOST_NAMED]) + rest


def _mend_marks(store: Store) -> None:
    store.marks.settle(thoroughly=True)
    if store.marks.strays():
        why = "of records that never were here"
        store.marks.drop_strays(store.ledger.draft("mark", actor=store.settings.actor, reason=why))


def _look_at_purges(store: Store) -> str:
    n_left = len(unfinished(store.ledger))
    are = "purge is" if n_left == 1 else "purges are"
    return f"{n_left} {are} not done: files of the store may still hold what was purged" if n_left else ""


def _mend_purges(store: Store) -> None:
    if problem := store.finish_purges():
        logger.warning("%s", problem)


def _nearest(store: Store, name: str) -> Nearest:
    return store.collection(name).parts.nearest


_CHECKS = (
    _Check("ledger file", _look_at_file, is_last=True),
    _Check("rows", _look_at_rows, is_last=True),
    _Check("vectors", _look_at_vectors, _mend_vectors),
    _Check("keyword search", _look_at_words, _mend_words),
    _Check("filters", _look_at_filters, _mend_filters),
    _Check("index", _look_at_index, _mend_index),
    _Check("marks", _look_at_marks, _mend_marks),
    _Check("purges", _look_at_purges, _mend_purges),
)
