"""A LangGraph store whose items are journal entries, so that they are found by meaning, curated and undone.

graph = builder.compile(store=AtlasStore(memory))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import Any

from langgraph.store import base

from atlas.core.errors import InvalidInput
from atlas.core.filters import MAX_SCOPE_CHARACTERS, METADATA, SCOPE, scope_metadata
from atlas.core.types import JournalEntry
from atlas.infra.bridge import in_thread
from atlas.infra.clock import SystemClock
from atlas.integrations.item_filters import matches_path, passes_filter
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Clock, Where
from atlas.remote.system import RemoteMemory
from atlas.storage.records import IS_NOT_QUARANTINED

ENTRY_TYPE = "item"
NAMESPACE, VALUE, UPDATED_AT, IS_INDEXED = "item_namespace", "item_value", "updated_at", "is_indexed"
"""Metadata keys of an entry. The namespace is stored as JSON, to match it as a whole. Its labels are also the scope."""

ITEMS: Where = {"entry_type": ENTRY_TYPE, **IS_NOT_QUARANTINED}
"""The filter of all items. Items in quarantine do not exist for the graph."""

KEY = "item"
"""Field of the scope with the item's key, so that no item is indexed or summarised together with others."""

RAW_KEY = "item_key"
"""Metadata key with the item's key, if the scope contains only its digest: for long, blank and digest-like keys."""

DIGEST = "sha256:"


class AtlasStore(base.BaseStore):
    """A LangGraph store whose items are journal entries. A search with a query ranks items by meaning and words."""

    def __init__(
        self,
        memory: MemorySystem | RemoteMemory,
        *,
        levels: Sequence[str] = (),
        fields: Sequence[str] = ("$",),
        threshold: float | None = 0.0,
        clock: Clock = SystemClock(),
    ) -> None:
        """Open the store.

        Args:
            levels: Names of the scope's fields for the first labels of a namespace, such as `["project", "user"]`. The
                third label's field is then `level_3`.
            fields: Paths of the values that `put` makes searchable by default. `$` is the whole value.
            threshold: Minimum relevance of a result of `search` with a query, in [0, 1], or None for the
                journal's level.

        Raises:
            InvalidInput: A name in `levels` is repeated, or is `item`, which is reserved.
        """
        if len({KEY, *levels}) <= len(levels):
            raise InvalidInput(f"expected distinct names other than {KEY!r} for levels, got {list(levels)}")
        self._journal, self._levels, self._fields = memory.journal, tuple(levels), tuple(fields)
        self._threshold, self._clock, self._write_lock = threshold, clock, RLock()

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run operations, reads before writes, and return their results in order. The last write of an item wins."""
        operations = list(ops)
        results = [self._read(op) for op in operations]
        for put_op in {(op.namespace, op.key): op for op in operations if isinstance(op, base.PutOp)}.values():
            self._apply_put(put_op)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Run `batch` in a thread."""
        return await in_thread(self.batch, list(ops))

    def _read(self, op: base.Op) -> base.Result:
        if isinstance(op, base.GetOp):
            entries = self._journal.get_many(self._ids(op.namespace, op.key)[-1:])
            return base.Item(**_item_arguments(entries[0])) if entries else None
        if isinstance(op, base.ListNamespacesOp):
            return self._namespaces(op)
        return self._search(op) if isinstance(op, base.SearchOp) else None

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        where: Where = {**ITEMS, **self._scope(op.namespace_prefix)}
        scored = (
            self._search_ranked(op, where) if op.query else [(entry, None) for entry in self._entries(where, op.filter)]
        )
        page = scored[op.offset : op.offset + op.limit]
        return [base.SearchItem(**_item_arguments(entry), score=score) for entry, score in page]

    def _search_ranked(self, op: base.SearchOp, where: Where) -> list[tuple[JournalEntry, float | None]]:
        """Return the entries most relevant to a query, best first, each with its relevance in [0, 1]."""
        filters: Where = {**where, f"{METADATA}{IS_INDEXED}": True}
        if op.filter:
            filters = {"id": {"$in": [entry.id for entry in self._entries(filters, op.filter)]}}
        retrieval = self._journal.retrieve(
            op.query or "", op.offset + op.limit, where=filters, threshold=self._threshold
        )
        return [(hit.item, hit.relevance) for hit in retrieval.hits]

    def _apply_put(self, op: base.PutOp) -> None:
        with self._write_lock:
            stored = self._ids(op.namespace, op.key)
            outdated = stored if op.value is None else stored[:-1]  # two programs may have added the same key
            if outdated:
                self._journal.delete(outdated)
            if op.value is not None:
                self._write(stored[-1:], self._content(op), self._metadata(op))

    def _write(self, stored: Sequence[str], content: str, metadata: dict[str, Any]) -> None:
        for entry_id in stored:
            self._journal.edit(entry_id, content=content, metadata=metadata)
        if not stored:
            entry = JournalEntry(entry_type=ENTRY_TYPE, content=content, generation=0, metadata=metadata)
            self._journal.add_entries([entry])

    def _content(self, op: base.PutOp) -> str:
        """Return the text of an item to embed and index."""
        paths = self._fields if op.index is None else op.index or ()
        texts = [text for path in paths for text in base.get_text_at_path(op.value, path)]
        return next(filter(str.strip, ("\n".join(texts), op.key)), ENTRY_TYPE)

    def _metadata(self, op: base.PutOp) -> dict[str, Any]:
        return {
            **self._scope(op.namespace),
            **_key_metadata(op.key),
            NAMESPACE: json.dumps(op.namespace),
            VALUE: dict(op.value or {}),
            UPDATED_AT: self._clock.now().isoformat(),
            IS_INDEXED: op.index is not False,
        }

    def _scope(self, namespace: tuple[str, ...]) -> dict[str, str]:
        unnamed_levels = (f"level_{n}" for n in range(len(self._levels) + 1, len(namespace) + 1))
        return scope_metadata(dict(zip((*self._levels, *unnamed_levels), namespace, strict=False)))

    def _ids(self, namespace: tuple[str, ...], key: str) -> list[str]:
        exact = {f"{METADATA}{NAMESPACE}": json.dumps(namespace), f"{SCOPE}{KEY}": _key_metadata(key)[f"{SCOPE}{KEY}"]}
        return self._journal.ids({**ITEMS, **exact})

    def _entries(self, where: Where, item_filter: Mapping[str, Any] | None = None) -> list[JournalEntry]:
        entries = self._journal.get_many(self._journal.ids(where))
        return [entry for entry in entries if passes_filter(entry.metadata[VALUE], item_filter or {})]

    def _namespaces(self, op: base.ListNamespacesOp) -> list[tuple[str, ...]]:
        texts = self._journal.values(f"{METADATA}{NAMESPACE}", ITEMS)
        namespaces = [tuple(json.loads(text)) for text in texts]
        for condition in op.match_conditions or ():
            namespaces = [
                namespace for namespace in namespaces if matches_path(namespace, condition.path, condition.match_type)
            ]
        return sorted({labels[: op.max_depth] for labels in namespaces})[op.offset : op.offset + op.limit]


def _key_metadata(key: str) -> dict[str, str]:
    """Return the metadata that stores an item's key. The key may be any string."""
    if key.strip() and len(key) <= MAX_SCOPE_CHARACTERS and not key.startswith(DIGEST):
        return scope_metadata({KEY: key})
    return {**scope_metadata({KEY: f"{DIGEST}{hashlib.sha256(key.encode()).hexdigest()}"}), RAW_KEY: key}


def _item_arguments(entry: JournalEntry) -> dict[str, Any]:
    """Return the fields of an item as keyword arguments of its class."""
    return {
        "namespace": tuple(json.loads(entry.metadata[NAMESPACE])),
        "key": entry.metadata.get(RAW_KEY, entry.metadata[f"{SCOPE}{KEY}"]),
        "value": dict(entry.metadata[VALUE]),
        "created_at": entry.created_at,
        "updated_at": entry.metadata[UPDATED_AT],
    }
