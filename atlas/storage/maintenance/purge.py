"""Forgetting for good: records leave the ledger, its history and every file of the store, and cannot be brought back.

All of the ledger's part is one transaction: a purge is committed whole or not at all. What is left to do then, in
files and free pages, is done at once, or by whoever opens the store next: see `atlas.storage.erasing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.tables import TableRow, Tabular
from atlas.infra.actor import actor_name
from atlas.storage.erasing import copies, strangers
from atlas.storage.history import Left, Quote, Removal, Reword
from atlas.storage.maintenance.backup import Backup, read_backups
from atlas.storage.place.audit import PURGED
from atlas.storage.records import Moment
from atlas.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan(Tabular):
    """The effect of a purge, with its limits."""

    records: tuple[Removal, ...]
    quotes: tuple[Quote, ...]
    """Other records that repeat a passage of these, or name one. They stay."""

    n_reasons: int
    """Operations whose reason quotes one of them, and would lose it."""

    n_judged: int
    """Judgements of them, or whose query quotes one of them, which would go too."""

    copies: tuple[str, ...]
    """Older copies of the ledger and of marks in the store's directory, which would go too."""

    strangers: tuple[str, ...]
    """Other files in that directory, which stay."""

    backups: tuple[Backup, ...]
    """The recorded backups of this store. They stay."""

    indexes: tuple[str, ...]
    """Indexes in services that are another store's, or whose service was left for good. They stay."""

    moment: Moment
    """Moment in the store's history at which the plan was made."""

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
    """Why purged records are still in files of the store, with the remedy. Empty if they are not."""


def plan_purge(store: Store, ids: Sequence[str], *, collection: str = "") -> PurgePlan:
    """Return a plan to purge records. The store is not changed.

    Args:
        ids: Ids, or beginnings that no other record's id shares; of records that exist or were deleted. One that
            records in several collections have means all of these.
        collection: The collection to search; empty for all.

    Raises:
        NotFound: None, or several, begin with one of them, or it was purged already.
        InvalidInput: The list is empty, or one of the ids is.
    """
    if isinstance(ids, str) or not ids:
        raise InvalidInput(f"a purge should be given a list of at least one id, but got {ids!r}")
    with store.reading():
        found = store.ledger.purges.sight(ids, collection)
        return PurgePlan(
            records=found.records,
            quotes=found.quotes,
            n_reasons=found.n_reasons,
            n_judged=found.n_judged,
            copies=tuple(str(path) for path in copies(store.path)),
            strangers=tuple(str(path) for path in strangers(store.path)),
            indexes=tuple(store.indexes.staying({record.collection for record in found.records})),
            backups=tuple(read_backups(store.ledger)),
            moment=found.moment,
        )


def apply_purge(store: Store, plan: PurgePlan, *, reason: str = "", reword: Reword | None = None) -> PurgeResult:
    """Purge exactly the records of a plan, as one operation, which cannot be undone.

    Raises:
        PlanOutdated: One of them, or its marks, has changed since; the store was not changed.
    """
    draft = store.ledger.draft("purge", actor=actor_name(store.settings.actor), reason=reason)
    keys = [(record.collection, record.id) for record in plan.records]
    left = Left(collections=sorted({collection for collection, _ in keys}))
    store.ledger.purges.purge(keys, draft, left, unchanged_since=plan.moment, reword=reword)
    store.audit.note(PURGED, who=draft.actor, about=f"{len(keys):,} records, {draft.id}")
    return PurgeResult(operation_id=draft.id, n_records=len(keys), problem=store.finish_purges())
