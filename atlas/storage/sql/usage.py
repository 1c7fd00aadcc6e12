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
from atlas.storage.damage import parse_time
from atlas.storage.sql.connection import Connection, Database, Sql, TextArray

USE = "use"
SEPARATOR = ":"
"""Separator in the kind of an event: `use`, or `use:` and the id of the trajectory that caused it."""

UNDONE, WAITING = 1, 2
"""Reasons why a use is not counted, as bits of its column `undone`: undone, or waiting for review."""

USAGE_COLUMNS = ("n_uses", "n_successes", "last_used_at", "n_retrieved", "last_retrieved_at")

IS_COUNTED_HERE = "NOT EXISTS (SELECT 1 FROM attributes e WHERE e.key = m.key AND e.value = m.value AND e.seq < m.seq)"
"""SQL condition that a live record is the first that lists the merged id `m`, so the usage counts for this record.

Two live records may list the same id after a merged record was restored.
"""

_MERGED_JOIN = (
    "JOIN records gone ON gone.collection = k.collection AND gone.id = m.value AND gone.deleted = 1 "
    f"WHERE n.collection = ? AND n.name = 'merged_from' AND {IS_COUNTED_HERE}"
)

_DUPLICATE_USES_SQL = (
    "SELECT collection, kept, seq, success FROM (SELECT m.collection, m.kept, e.seq, e.success, "
    "row_number() OVER (PARTITION BY m.kept, e.kind ORDER BY e.seq) AS nth FROM "
    "(SELECT collection, kept, gone AS member FROM absorbed UNION SELECT collection, kept, kept FROM absorbed) m "
    "CROSS JOIN events e ON e.collection = m.collection AND e.record_id = m.member "
    "WHERE e.undone = 0 AND e.kind <> 'use') "
    "WHERE nth > 1"
)
"""Query for duplicate uses: one attempt used several records that were merged later."""


class SqlUsage:
    """The usage of the records of every collection."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def read(self, collection: str, ids: Sequence[str]) -> dict[str, Usage]:
        """Return the usage of each used record, including that of records merged into it, keyed by id."""
        usage_rows = counted_usage_sql(collection, ids)
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT counts_for, {', '.join(USAGE_COLUMNS)} FROM ({usage_rows.text})", usage_rows.parameters
            ).fetchall()
            totals: dict[str, Usage] = {}
            for record_id, *columns in rows:
                totals[record_id] = _add_usage(totals.get(record_id, NO_USAGE), _decode_usage(*columns))
        return totals

    def uses(self, collection: str, ids: Sequence[str]) -> dict[str, list[Use]]:
        """Return the uses of each record and of records merged into it, oldest first, one per attempt, keyed by id."""
        with_clause = merged_usage_sql(collection, ids)
        with self._database.read() as connection:
            rows = connection.execute(
                f"{with_clause.text}, counted AS (SELECT j.value AS counts_for, u.* FROM json_each(?) j "
                "CROSS JOIN events u ON u.collection = ? AND u.record_id = j.value "
                "UNION ALL SELECT a.kept, u.* FROM absorbed a "
                "CROSS JOIN events u ON u.collection = a.collection AND u.record_id = a.gone) "
                "SELECT counts_for, record_id, kind, success, task_id, created_at, actor FROM counted "
                "WHERE undone = 0 AND seq NOT IN (SELECT seq FROM repeated) ORDER BY seq",
                (*with_clause.parameters, TextArray(ids), collection),
            ).fetchall()
            uses: dict[str, list[Use]] = {record_id: [] for record_id in ids}
            for counts_for, *event in rows:
                uses[counts_for].append(_decode_use(*event))
        return uses

    def records_by_attempt(self, attempt_ids: Sequence[str] | None = None) -> dict[str, list[tuple[str, str]]]:
        """Return the (collection, record id) pairs of the records that each attempt used, keyed by attempt id.

        Deleted records are included. Uses without an attempt are left out.

        Args:
            attempt_ids: Attempts to look for, or None for all.
        """
        if attempt_ids is None:
            condition = Sql("kind > ? AND kind < ?", (f"{USE}{SEPARATOR}", f"{USE}{chr(ord(SEPARATOR) + 1)}"))
        else:
            kinds = TextArray(f"{USE}{SEPARATOR}{attempt_id}" for attempt_id in attempt_ids)
            condition = Sql("kind IN (SELECT value FROM json_each(?))", (kinds,))
        with self._database.read() as connection:
            rows = connection.execute(
                f"SELECT kind, collection, record_id FROM events WHERE undone = 0 AND {condition.text} ORDER BY seq",
                condition.parameters,
            ).fetchall()
        records: dict[str, list[tuple[str, str]]] = {}
        for kind, collection, record_id in rows:
            records.setdefault(kind.partition(SEPARATOR)[2], []).append((collection, record_id))
        return records

    def check_unused(self, collection: str, expected: Mapping[str, Usage]) -> None:
        """Raise `PlanOutdated` if a record's usage differs from the expected usage. Call it inside a transaction."""
        usage = self.read(collection, list(expected))
        if any(usage.get(record_id, NO_USAGE) != expected_usage for record_id, expected_usage in expected.items()):
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
        """Add one use and its outcome, durably. A second use by the same attempt is ignored.

        Args:
            operation_id: The operation that the use belongs to. Undoing the operation undoes the use.
            is_waiting: Whether the use counts only once a curator has accepted the operation's records.
        """
        kind, at = _event_kind(trajectory_id), self._clock.now().isoformat()
        with self._database.write() as connection:
            if trajectory_id and _has_counted_use(connection, collection, record_id, kind):
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
        """Return the last retrieval time of each record that was retrieved after `since`, keyed by id."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT record_id, last_retrieved_at FROM usage WHERE collection = ? AND last_retrieved_at > ?",
                (collection, since),
            )
            return dict(rows.fetchall())

    def record_retrievals(self, retrievals: Mapping[str, Mapping[str, int]]) -> None:
        """Increase the retrieval counts of records, given by collection and record id."""
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


def merged_usage_sql(collection: str, ids: Sequence[str] | None = None) -> Sql:
    """Return the `WITH` clause of the tables `absorbed` and `repeated`, for all records of a collection or for some.

    `absorbed` maps each merged record, `gone`, to the remaining record, `kept`, which inherits its uses. `repeated`
    lists the uses that would then count twice. A merge does not move uses, so undoing it, or restoring a record,
    restores every count.
    """
    columns = "SELECT k.collection, k.id AS kept, gone.id AS gone FROM attribute_keys n"
    if ids is None:
        absorbed = f"{columns} JOIN attributes m ON m.key = n.key JOIN records k ON k.seq = m.seq {_MERGED_JOIN}"
    else:
        absorbed = (
            f"{columns} CROSS JOIN json_each(?) j CROSS JOIN records k ON k.collection = n.collection "
            f"AND k.id = j.value CROSS JOIN attributes m ON m.seq = k.seq AND m.key = n.key CROSS {_MERGED_JOIN}"
        )
    parameters = (collection,) if ids is None else (TextArray(ids), collection)
    return Sql(f"WITH absorbed AS ({absorbed}), repeated AS ({_DUPLICATE_USES_SQL})", parameters)


def counted_usage_sql(collection: str, ids: Sequence[str] | None = None) -> Sql:
    """Return the query for usage rows. The column `counts_for` names the record to whose totals a row is added.

    Negative rows cancel uses that are counted twice.
    """
    with_clause = merged_usage_sql(collection, ids)
    condition = "" if ids is None else "AND own.record_id IN (SELECT value FROM json_each(?)) "
    parameters = (collection,) if ids is None else (collection, TextArray(ids))
    return Sql(
        f"{with_clause.text} "
        f"SELECT own.*, own.record_id AS counts_for FROM usage own WHERE own.collection = ? {condition}"
        "UNION ALL SELECT u.*, a.kept FROM absorbed a "
        "CROSS JOIN usage u ON u.collection = a.collection AND u.record_id = a.gone "
        "UNION ALL SELECT collection, kept, -count(*), -sum(success), NULL, 0, NULL, kept FROM repeated "
        "GROUP BY collection, kept",
        (*with_clause.parameters, *parameters),
    )


def total_sql(column: str) -> str:
    """Return the aggregate of a column of `usage AS u` over several records: a sum, or the last time."""
    return f"coalesce(sum(u.{column}), 0)" if column.startswith("n_") else f"max(u.{column})"


def set_exclusion(connection: Connection, operation_id: str, reason: int, *, is_excluded: bool) -> None:
    """Set or remove a reason to exclude the uses of an operation from every count and list.

    Args:
        reason: `UNDONE` or `WAITING`. A use counts if neither is set.
        is_excluded: Whether to set the reason, or to remove it.
    """
    events = connection.execute(
        "SELECT seq, collection, record_id, kind, success, undone FROM events WHERE operation = ? "
        f"AND (undone & ?) {'=' if is_excluded else '<>'} 0",
        (operation_id, reason),
    ).fetchall()
    for seq, collection, record_id, kind, success, reasons_before in events:
        reasons_after = reasons_before ^ reason
        if not reasons_after and kind != USE and _has_counted_use(connection, collection, record_id, kind):
            continue  # the attempt was recorded again meanwhile
        connection.execute("UPDATE events SET undone = ? WHERE seq = ?", (reasons_after, seq))
        if n_added := (not reasons_after) - (not reasons_before):  # 1 or -1
            _add_to_totals(connection, collection, record_id, n_added, n_added * success)


def _add_to_totals(connection: Connection, collection: str, record_id: str, n_uses: int, n_successes: int) -> None:
    """Add to the totals of a record. Its row is created if all of its uses were pending."""
    connection.execute(
        "INSERT INTO usage (collection, record_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (collection, record_id)
    )
    connection.execute(
        "UPDATE usage SET n_uses = n_uses + ?3, n_successes = n_successes + ?4, last_used_at = (SELECT "
        "max(created_at) FROM events WHERE collection = ?1 AND record_id = ?2 AND undone = 0) "
        "WHERE collection = ?1 AND record_id = ?2",
        (collection, record_id, n_uses, n_successes),
    )


def restore_usage(connection: Connection, collection: str, usage: Mapping[str, Usage]) -> None:
    """Write the imported totals of records. Records that have totals already keep them."""
    connection.executemany(
        "INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        [
            (
                collection,
                record_id,
                totals.n_uses,
                totals.n_successes,
                _encode_time(totals.last_used_at),
                totals.n_retrieved,
                _encode_time(totals.last_retrieved_at),
            )
            for record_id, totals in usage.items()
            if totals != NO_USAGE
        ],
    )


def restore_uses(connection: Connection, collection: str, uses: Mapping[str, Sequence[Use]]) -> None:
    """Write the imported uses of records. Records that already have uses are skipped."""
    rows = connection.execute(
        "SELECT DISTINCT record_id FROM events WHERE collection = ? AND record_id IN (SELECT value FROM json_each(?))",
        (collection, TextArray(uses)),
    ).fetchall()
    ids_with_uses = {record_id for (record_id,) in rows}
    connection.executemany(
        "INSERT INTO events (collection, record_id, kind, success, task_id, created_at, actor) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                collection,
                record_id,
                _event_kind(use.trajectory_id),
                use.success,
                use.task_id,
                use.at.isoformat(),
                use.actor,
            )
            for record_id, uses_of_record in uses.items()
            for use in uses_of_record
            if record_id not in ids_with_uses
        ],
    )


def _has_counted_use(connection: Connection, collection: str, record_id: str, kind: str) -> bool:
    """Return whether a use of a record that is not excluded has this kind, which names its attempt."""
    row = connection.execute(
        "SELECT 1 FROM events WHERE collection = ? AND record_id = ? AND kind = ? AND undone = 0 LIMIT 1",
        (collection, record_id, kind),
    ).fetchone()
    return row is not None


def _event_kind(trajectory_id: str) -> str:
    """Return the kind of a use, which includes the id of its attempt, if any."""
    return f"{USE}{SEPARATOR}{trajectory_id}" if trajectory_id else USE


def _decode_use(record_id: str, kind: str, success: int, task_id: str, created_at: str, actor: str) -> Use:
    return Use(
        record_id=record_id,
        success=bool(success),
        task_id=task_id,
        trajectory_id=kind.partition(SEPARATOR)[2],
        at=parse_time(created_at),
        actor=actor,
    )


def _decode_usage(
    n_uses: int, n_successes: int, last_used_at: str | None, n_retrieved: int, last_retrieved_at: str | None
) -> Usage:
    return Usage(
        n_uses=n_uses,
        n_successes=n_successes,
        last_used_at=_decode_time(last_used_at),
        n_retrieved=n_retrieved,
        last_retrieved_at=_decode_time(last_retrieved_at),
    )


def _add_usage(first: Usage, second: Usage) -> Usage:
    """Return the sum of two usages, with the later times."""
    if first == NO_USAGE:
        return second
    return Usage(
        n_uses=first.n_uses + second.n_uses,
        n_successes=first.n_successes + second.n_successes,
        last_used_at=_later_time(first.last_used_at, second.last_used_at),
        n_retrieved=first.n_retrieved + second.n_retrieved,
        last_retrieved_at=_later_time(first.last_retrieved_at, second.last_retrieved_at),
    )


def _later_time(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second


def _decode_time(text: str | None) -> datetime | None:
    return parse_time(text) if text else None


def _encode_time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
