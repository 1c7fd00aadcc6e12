"""Relevance judgements by people and agents: which records a query should or should not find.

Each judgement is a note in the ledger, for a query and a record. So backups contain judgements, all processes see them
immediately, and concurrent judgements do not conflict.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.json_values import check_text
from atlas.protocols.infra import Clock
from atlas.storage.engine import Notes

logger = logging.getLogger(__name__)

JUDGEMENT_PREFIX = "judged:"
"""Prefix of the notes for judgements. The rest is JSON: the collection, the record's id, the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A judgement by a person or agent on a hit of a query."""

    query: str
    collection: str
    """The collection of the record."""

    record_id: str
    is_right: bool
    """True if the query should find the record, False if it should not."""

    judged_at: datetime


Forgotten = Mapping[str, str]
"""Deleted judgements as notes, keyed by name."""


class Judgements:
    """The judgements of a store, shared by all processes."""

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def all(self) -> list[Judgement]:
        """Return all judgements, oldest first. Malformed judgements are logged and skipped."""
        judgements = (read_judgement(name, text) for name, text in self._notes.read(JUDGEMENT_PREFIX).items())
        return sorted(
            filter(None, judgements), key=lambda judgement: (judgement.judged_at, judgement.query, judgement.record_id)
        )

    def state(self) -> str:
        """Return a string that changes with each judgement (count and latest time), or ''."""
        judgements = self.all()
        return f"{len(judgements)}, {judgements[-1].judged_at.isoformat()}" if judgements else ""

    def judge(self, query: str, collection: str, record_id: str, *, is_right: bool | None) -> None:
        """Store whether a query should find a record, replacing an earlier judgement. `is_right=None` removes it.

        Raises:
            InvalidInput: The query is empty, or the record was purged.
            ReadOnlyStore: The store was opened for reading only.
        """
        name = JUDGEMENT_PREFIX + _note_name(parse_query(query), collection, record_id)
        text = None if is_right is None else _encode(is_right, self._clock.now())
        self._notes.write({name: text}, records=[] if text is None else [(collection, record_id)])

    def add(self, judgements: Iterable[Judgement]) -> None:
        """Store judgements with their times in one transaction, replacing earlier ones of the same hits.

        Raises:
            InvalidInput: A record was purged.
            ReadOnlyStore: The store was opened for reading only.
        """
        texts, records = {}, []
        for judgement in judgements:
            name = _note_name(judgement.query, judgement.collection, judgement.record_id)
            texts[JUDGEMENT_PREFIX + name] = _encode(judgement.is_right, judgement.judged_at)
            records.append((judgement.collection, judgement.record_id))
        self._notes.write(texts, records=records)

    def forget(self, queries: Collection[str]) -> Forgotten:
        """Delete all judgements of some queries, and return them for `restore`."""
        return self.remove(judgement for judgement in self.all() if judgement.query in queries)

    def remove(self, judgements: Iterable[Judgement]) -> Forgotten:
        """Delete judgements, and return them for `restore`."""
        names = [_note_name(judgement.query, judgement.collection, judgement.record_id) for judgement in judgements]
        texts = self._notes.write({JUDGEMENT_PREFIX + name: None for name in names})
        return {name: text for name, text in texts.items() if text is not None}

    def restore(self, forgotten: Forgotten) -> None:
        """Restore deleted judgements.

        Raises:
            PlanOutdated: A hit was judged again after the deletion; the store was not changed.
            InvalidInput: A record was purged after the deletion; the store was not changed.
        """
        records = [_parse_note_name(name.removeprefix(JUDGEMENT_PREFIX))[:2] for name in forgotten]
        try:
            self._notes.write(forgotten, expected=dict.fromkeys(forgotten), records=records)
        except PlanOutdated as error:
            raise PlanOutdated(
                "one of these hits was judged again after the deletion; nothing was undone. Reload the page"
            ) from error


def parse_query(query: str) -> str:
    """Return a query without surrounding whitespace, or raise `InvalidInput` if it is empty."""
    check_text(query, "the query")
    if not query.strip():
        raise InvalidInput("expected a query with visible characters to judge, got a blank one")
    return query.strip()


def read_judgement(name: str, text: str) -> Judgement | None:
    """Return the judgement in a note, named without `JUDGEMENT_PREFIX`, or None if the note is malformed."""
    try:
        collection, record_id, query = _parse_note_name(name)
        fields = json.loads(text)
        judged_at = datetime.fromisoformat(fields["judged_at"])
        if not isinstance(fields["right"], bool) or judged_at.tzinfo is None:
            raise TypeError(f"expected true or false, and a time with a time zone, got {fields!r:.120}")
        return Judgement(
            query=query, collection=collection, record_id=record_id, is_right=fields["right"], judged_at=judged_at
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        logger.warning("a judgement cannot be read, so it counts for nothing: %s", error)
        return None


def group_by_query(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Return the judgements of each query, keyed by query, in the given order."""
    grouped: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        grouped.setdefault(judgement.query, []).append(judgement)
    return grouped


def _encode(is_right: bool, judged_at: datetime) -> str:
    return json.dumps({"right": is_right, "judged_at": judged_at.isoformat()})


def _note_name(query: str, collection: str, record_id: str) -> str:
    return json.dumps([collection, record_id, query], ensure_ascii=False)


def _parse_note_name(name: str) -> tuple[str, str, str]:
    """Return the collection, record id and query of a judgement's name, or raise `ValueError` or `TypeError`."""
    collection, record_id, query = json.loads(name)
    return str(collection), str(record_id), str(query)
