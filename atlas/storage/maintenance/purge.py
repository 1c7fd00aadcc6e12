"""Purge: irreversible removal of records from the ledger, its history and all files of the store.

The ledger is purged in one transaction. Files and free pages are cleaned right after, or by the next process that opens
the store: see `atlas.storage.erasing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.tables import TableRow, Tabular
from atlas.infra.actor import actor_name
from atlas.storage.erasing import find_foreign_files, find_ledger_copies
from atlas.storage.history import QuotingRecord, Removal, Reword, UnfinishedPurge
from atlas.storage.location.audit import PURGED
from atlas.storage.maintenance.backup import Backup, read_backups
from atlas.storage.records import Moment
from atlas.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan(Tabular):
    """Records that a purge would remove, and the places where traces of them would stay."""

    records: tuple[Removal, ...]
    quotes: tuple[QuotingRecord, ...]
    """Records that stay, and quote or name a purged record."""

    n_reasons: int
    """Number of operations whose reason quotes a purged record. The reasons would be removed."""

    n_judged: int
    """Number of judgements to remove: on a purged record, or with a query that quotes a purged record."""

    copies: tuple[str, ...]
    """Older copies of the ledger and of marks in the store's directory, which would be removed."""

    foreign_files: tuple[str, ...]
    """Other files in the store's directory, which stay."""

    backups: tuple[Backup, ...]
    """The recorded backups of this store, which stay."""

    indexes: tuple[str, ...]
    """Remote indexes that stay: of another store, or in a service that is no longer configured."""

    moment: Moment
    """Point in the store's history at which the plan was made."""

    def _caption(self) -> str:
        return f"{len(self.records):,} records would be erased for good, which cannot be undone"

    def _rows(self) -> Iterator[TableRow]:
        for removal in self.records:
            yield {"record": removal.title, "memory": removal.collection, "earlier states": removal.n_earlier}


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeResult:
    """The result of a purge."""

    operation_id: str
    n_records: int
    problem: str
    """Reason why purged records remain in files of the store, with a remedy, or empty if none remain."""


def plan_purge(store: Store, ids: Sequence[str], *, collection: str = "") -> PurgePlan:
    """Return a plan to purge records. The store is not changed.

    Args:
        ids: Ids or unique prefixes of live or deleted records. An id in several collections selects all of these
            records.
        collection: The collection to search; empty for all.

    Raises:
        NotFound: A prefix matches no record or several, or the record was purged already.
        InvalidInput: The list or an id is empty.
    """
    if isinstance(ids, str):
        raise InvalidInput(f"expected a list of ids to purge, got the string {ids!r:.80}; for one record, give [id]")
    if not ids:
        raise InvalidInput("expected at least one id to purge, got none")
    with store.reading():
        traces = store.ledger.purges.find_traces(ids, collection)
        return PurgePlan(
            records=traces.records,
            quotes=traces.quotes,
            n_reasons=traces.n_reasons,
            n_judged=traces.n_judged,
            copies=tuple(str(path) for path in find_ledger_copies(store.path)),
            foreign_files=tuple(str(path) for path in find_foreign_files(store.path)),
            indexes=tuple(store.indexes.unpurged_remote_indexes({record.collection for record in traces.records})),
            backups=tuple(read_backups(store.ledger)),
            moment=traces.moment,
        )


def apply_purge(store: Store, plan: PurgePlan, *, reason: str = "", reword: Reword | None = None) -> PurgeResult:
    """Purge exactly the records of a plan, as one operation, which cannot be undone.

    Raises:
        PlanOutdated: A record or its marks have changed since the plan was made; the store was not changed.
    """
    operation = store.ledger.new_operation("purge", actor=actor_name(store.settings.actor), reason=reason)
    keys = [(record.collection, record.id) for record in plan.records]
    unfinished = UnfinishedPurge(collections=sorted({collection for collection, _ in keys}))
    store.ledger.purges.purge(keys, operation, unfinished, unchanged_since=plan.moment, reword=reword)
    store.audit.add_event(PURGED, who=operation.actor, about=f"{len(keys):,} records, {operation.id}")
    return PurgeResult(operation_id=operation.id, n_records=len(keys), problem=store.finish_purges())
