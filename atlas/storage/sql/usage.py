"""Usage of records: uses with outcomes, and counts of retrievals.

The totals of a record are in a separate row, so that a use, or a search that returns many records, changes only these
rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from atlas.core.errors import PlanOutdated
from atlas.core.operations import NO_USAGE, Usage, Use
from atlas.protocols.infra import Clock
from atlas.storage.damage import instant
from atlas.storage.sql.connection import Connection, Database, Texts
from atlas.storage.sql.filters import USAGE_COLUMNS, absorbed_sql, counted_usage

USE = "use"
BY = ":"
"""Between the kind of an event and the trajectory that caused it: `use`, or `use:` and the trajectory's id."""

UNDONE, WAITING = 1, 2
"""Reasons why a use is not counted, as bits of its column `undone`: undone, or waiting for review."""


class SqlUsage:
    """The usage of the records of every collection."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of each record and of the records merged into it.

        Empty usage for unused records.
        """
        counted = counted_usage(collection, ids)
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT counts_for, {', '.join(USAGE_COLUMNS)} FROM ({counted.text})", counted.parameters
            ).fetchall()
            found: dict[str, Usage] = {}
            for record_id, *figures in rows:
                found[record_id] = _plus(found.get(record_id, NO_USAGE), _usage(*figures))
        return {record_id: found.get(record_id, NO_USAGE) for record_id in ids}

    def uses(self, collection: str, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the uses of each record and of those merged into it, oldest first, at most one for each attempt."""
        absorbed, columns = absorbed_sql(collection, ids), "record_id, kind, success, task_id, created_at, actor, seq"
        with self._database.read() as connection:
            rows = connection.execute(
                f"{absorbed.text}, counted AS (SELECT j.value AS counts_for, u.* FROM json_each(?) j "
                "CROSS JOIN events u ON u.collection = ? AND u.record_id = j.value "
                "UNION ALL SELECT a.kept, u.* FROM absorbed a "
                "CROSS JOIN events u ON u.collection = a.collection AND u.record_id = a.gone) "
                f"SELECT counts_for, {columns} FROM counted "
                "WHERE undone = 0 AND seq NOT IN (SELECT seq FROM repeated) ORDER BY seq",
                (*absorbed.parameters, Texts(ids), collection),
            ).fetchall()
            found: dict[str, list[Use]] = {record_id: [] for record_id in ids}
            for counts_for, *event, _ in rows:
                found[counts_for].append(_use(*event))
        return found

    def by_attempt(self) -> dict[str, list[tuple[str, str]]]:
        """Return the records that each attempt used, each as its collection and id, by the attempt's own id.

        Records that are gone are among them. Uses that name no attempt are not.
        """
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT kind, collection, record_id FROM events "
                "WHERE undone = 0 AND kind > ? AND kind < ? ORDER BY seq",
                (f"{USE}{BY}", f"{USE}{chr(ord(BY) + 1)}"),
            ).fetchall()
        used: dict[str, list[tuple[str, str]]] = {}
        for kind, collection, record_id in rows:
            used.setdefault(kind.partition(BY)[2], []).append((collection, record_id))
        return used

    def check_unused(self, collection: str, seen: Mapping[str, Usage]) -> None:
        """Raise `PlanOutdated` if a record's usage has changed, as part of a transaction inside one."""
        if self.read(collection, list(seen)) != dict(seen):
            raise PlanOutdated(
                "experiences that the plan removes have been used since it was made; nothing was done. Plan again"
            )

    def record(
        self,
        collection: str,
        record_id: str,
        success: bool,
        *,
        task_id: str,
        actor: str,
        trajectory_id: str = "",
        operation_id: str = "",
        is_waiting: bool = False,
    ) -> None:
        """Add one use and its outcome, durably. A second use of the record by an attempt is ignored.

        Args:
            operation_id: The operation that it is part of, and with which it is undone.
            is_waiting: Whether it is not counted until a curator accepts the operation's records.
        """
        kind, at = _kind(trajectory_id), self._clock.now().isoformat()
        with self._database.write() as connection:
            if trajectory_id and _counts(connection, collection, record_id, kind):
                return
            connection.execute(
                "INSERT INTO events (collection, record_id, kind, success, task_id, created_at, actor, operation, "
                "undone) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (collection, record_id, kind, success, task_id, at, actor, operation_id, WAITING * is_waiting),
            )
            if is_waiting:
                return
            connection.execute(
                "INSERT INTO usage (collection, record_id, n_uses, n_successes, last_used_at) VALUES (?, ?, 1, ?, ?) "
                "ON CONFLICT (collection, record_id) DO UPDATE SET n_uses = usage.n_uses + 1, "
                "n_successes = usage.n_successes + excluded.n_successes, "
                "last_used_at = excluded.last_used_at",
                (collection, record_id, success, at),
            )

    def retrieved_since(self, collection: str, since: str) -> dict[str, str]:
        """Return the time of the last retrieval of each record retrieved after a time."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT record_id, last_retrieved_at FROM usage WHERE collection = ? AND last_retrieved_at > ?",
                (collection, since),
            )
            return dict(rows.fetchall())

    def record_retrievals(self, retrievals: Mapping[str, Mapping[str, int]]) -> None:
        """Add to the numbers of retrievals, by collection and record."""
        at = self._clock.now().isoformat()
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO usage (collection, record_id, n_retrieved, last_retrieved_at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (collection, record_id) DO UPDATE SET "
                "n_retrieved = usage.n_retrieved + excluded.n_retrieved, "
                "last_retrieved_at = excluded.last_retrieved_at",
                [
                    (collection, record_id, count, at)
                    for collection, counts in retrievals.items()
                    for record_id, count in counts.items()
                ],
            )


def change_uses(connection: Connection, operation_id: str, why: int, *, is_set: bool) -> None:
    """Exclude the uses of an operation from every count and list, or include them again.

    Args:
        why: `UNDONE` or `WAITING`. A use counts if neither is set.
        is_set: Whether the reason is set or removed.
    """
    events = connection.execute(
        "SELECT seq, collection, record_id, kind, success, undone FROM events WHERE operation = ? "
        f"AND (undone & ?) {'=' if is_set else '<>'} 0",
        (operation_id, why),
    ).fetchall()
    for seq, collection, record_id, kind, success, before in events:
        after = before ^ why
        if not after and kind != USE and _counts(connection, collection, record_id, kind):
            continue  # the attempt was recorded again meanwhile
        connection.execute("UPDATE events SET undone = ? WHERE seq = ?", (after, seq))
        if sign := (not after) - (not before):
            _change_totals(connection, collection, record_id, sign, sign * success)


def _change_totals(connection: Connection, collection: str, record_id: str, n: int, n_successes: int) -> None:
    """Add to the totals of a record, which lacks totals while all its uses wait."""
    connection.execute(
        "INSERT INTO usage (collection, record_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (collection, record_id)
    )
    connection.execute(
        "UPDATE usage SET n_uses = n_uses + ?3, n_successes = n_successes + ?4, last_used_at = (SELECT "
        "max(created_at) FROM events WHERE collection = ?1 AND record_id = ?2 AND undone = 0) "
        "WHERE collection = ?1 AND record_id = ?2",
        (collection, record_id, n, n_successes),
    )


def restore_usage(connection: Connection, collection: str, usage: Mapping[str, Usage]) -> None:
    """Set the totals of records that were imported with theirs. Records that have totals already keep them."""
    connection.executemany(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (
                collection,
                record_id,
                u.n_uses,
                u.n_successes,
                _text(u.last_used_at),
                u.n_retrieved,
                _text(u.last_retrieved_at),
            )
            for record_id, u in usage.items()
            if u != NO_USAGE
        ],
    )


def restore_uses(connection: Connection, collection: str, uses: Mapping[str, Sequence[Use]]) -> None:
    """Write the imported uses of records. Records that already have uses are skipped."""
    rows = connection.execute(
        "SELECT DISTINCT record_id FROM events WHERE collection = ? AND record_id IN (SELECT value FROM json_each(?))",
        (collection, Texts(uses)),
    ).fetchall()
    known_ids = {record_id for (record_id,) in rows}
    connection.executemany(
        "INSERT INTO events (collection, record_id, kind, success, task_id, created_at, actor) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (collection, record_id, _kind(use.trajectory_id), use.success, use.task_id, use.at.isoformat(), use.actor)
            for record_id, of in uses.items()
            for use in of
            if record_id not in known_ids
        ],
    )


def _counts(connection: Connection, collection: str, record_id: str, kind: str) -> bool:
    row = connection.execute(
        "SELECT 1 FROM events WHERE collection = ? AND record_id = ? AND kind = ? AND undone = 0 LIMIT 1",
        (collection, record_id, kind),
    ).fetchone()
    return row is not None


def _kind(trajectory_id: str) -> str:
    return f"{USE}{BY}{trajectory_id}" if trajectory_id else USE


def _use(record_id: str, kind: str, success: int, task_id: str, created_at: str, actor: str) -> Use:
    return Use(
        record_id=record_id,
        success=bool(success),
        task_id=task_id,
        trajectory_id=kind.partition(BY)[2],
        at=instant(created_at),
        actor=actor,
    )


def _usage(
    n_uses: int, n_successes: int, last_used_at: str | None, n_retrieved: int, last_retrieved_at: str | None
) -> Usage:
    return Usage(
        n_uses=n_uses,
        n_successes=n_successes,
        last_used_at=_instant(last_used_at),
        n_retrieved=n_retrieved,
        last_retrieved_at=_instant(last_retrieved_at),
    )


def _plus(first: Usage, second: Usage) -> Usage:
    if first == NO_USAGE:
        return second
    return Usage(
        n_uses=first.n_uses + second.n_uses,
        n_successes=first.n_successes + second.n_successes,
        last_used_at=_latest(first.last_used_at, second.last_used_at),
        n_retrieved=first.n_retrieved + second.n_retrieved,
        last_retrieved_at=_latest(first.last_retrieved_at, second.last_retrieved_at),
    )


def _latest(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second


def _instant(text: str | None) -> datetime | None:
    return instant(text) if text else None


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
