"""Persistent conversations between people and an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.json_values import check_text, dump
from atlas.core.settings import RankingWeights
from atlas.core.types import Turn
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.latest import newest_rows, next_sort_key
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.records import Entry, encode_entries, filterable_metadata, parse_ids, retry
from atlas.memory.journal.neighbours import N_NEIGHBOURS, Log, LogText, indexed_text, title_of
from atlas.protocols.infra import Clock, Embedder, VectorStore
from atlas.storage.collection import Collection
from atlas.storage.damage import decode_content, stored_instant
from atlas.storage.records import Context

__all__ = ["COLLECTION", "MAIN", "Conversations", "Turn"]

COLLECTION = "atlas_conversations"

MAIN = "main"
"""Name of the default conversation."""

TURN_TIME = "said_at"
"""Metadata key of the time of a turn. `created_at` is the position in the log, which never decreases."""


class Conversations(Memory[Turn]):
    """The turns of conversations, in a vector store.

    Each method has an async twin, with an `a` before its name, for coroutines.
    """

    noun = "turn"
    fields = frozenset(["conversation", TURN_TIME, "content"])
    content_field = "user_text"
    context = Context(log_key="conversation")

    def __init__(
        self,
        embedder: Embedder,
        vector_store: VectorStore | Collection,
        collection_name: str = COLLECTION,
        *,
        max_turns: int = 5,
        ttl: timedelta = timedelta(minutes=10),
        weights: Weights = RankingWeights(),
        clock: Clock = SystemClock(),
    ) -> None:
        """Open the conversations.

        Args:
            max_turns: Maximum number of turns in the window.
            ttl: Maximum age of turns in the window. Older turns can still be searched.

        Raises:
            InvalidInput: `max_turns` or `ttl` is negative.
        """
        if max_turns < 0:
            raise InvalidInput(f"expected 0 or more for max_turns, got {max_turns}")
        if ttl < timedelta(0):
            raise InvalidInput(f"expected a time of 0 or more for ttl, got {ttl}")
        super().__init__(embedder, vector_store, collection_name, weights, clock)
        self.max_turns = max_turns
        self.ttl = ttl

    def add(self, user_text: str, response: str, conversation: str = MAIN) -> str:
        """Store a turn and return its id.

        Raises:
            InvalidInput: Both texts are empty, the conversation has no name, or a text cannot be stored.
        """
        fields = {"user_text": user_text, "response": response, "conversation": conversation}
        for name, text in fields.items():
            if not isinstance(text, str):
                raise InvalidInput(f"expected a string for a turn's {name}, got {text!r}"[:300])
        if not user_text.strip() and not response.strip():
            raise InvalidInput("expected a turn with a user_text or a response, got two empty strings")
        if not conversation.strip():
            raise InvalidInput("expected a name of the conversation, got an empty string; pass a name, or leave it out")
        turn = Turn(conversation=conversation, user_text=user_text, response=response, created_at=self._clock.now())
        entry = _to_entry(self._prepare_new(turn))
        entry.metadata["created_at"] = next_sort_key(self._store, entry.metadata[TURN_TIME])
        with self._store.reading():
            moment, beginnings = self._store.moment(), self._latest_beginnings(conversation)
        entry_to_index = replace(entry, document=indexed_text(entry.document, [*beginnings.values()]))
        log = self._log.ensure_operation("store")
        log.store.add(*encode_entries([entry_to_index], self._store, self.embedder, {}))
        log.reindex_if_outdated([turn.id], list(beginnings), moment)
        return turn.id

    aadd = twin(add)

    def add_turns(self, turns: Sequence[Turn]) -> list[str]:
        """Store turns with their own times, as one operation, and return the ids of the new ones.

        Raises:
            InvalidInput: A turn has a text that cannot be stored.
        """
        entries = [_to_entry(self._prepare_new(turn)) for turn in turns]
        for entry in entries:
            entry.metadata["created_at"] = entry.metadata[TURN_TIME]
        log = self._log.ensure_operation("store")
        added_ids = log.store.add_missing(*encode_entries(entries, self._store, self.embedder, {}))
        log.reindex_texts(added_ids)  # the text of a turn includes its predecessors
        return added_ids

    aadd_turns = twin(add_turns)

    def delete(self, ids: Sequence[str]) -> int:
        """Delete one or more turns, and return the number of deleted ones. `undo` restores them.

        Turns whose indexed text contains the beginning of a deleted turn are indexed again, so that no search finds
        deleted text.

        Raises `PlanOutdated` if concurrent changes outlasted the retries; the store was not changed.
        """
        distinct_ids = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        return retry(lambda: self._log.delete(distinct_ids))

    def restore(self, ids: Sequence[str]) -> int:
        """Restore deleted turns as one operation, and return the number of restored ones.

        The turns and the turns after them are embedded again with their new predecessors.

        Raises `NotFound` if an id never had a turn; the store was not changed.
        """
        return self._log.restore(parse_ids(ids))

    def window(self, conversation: str = MAIN) -> list[Turn]:
        """Return the recent turns of a conversation, oldest first: at most `max_turns` that are not older than `ttl`.

        Turns dated in the future are left out, because their age is unknown: the clock was set back.
        """
        latest_turns = self.turns(conversation, self.max_turns)
        now = self._clock.now()
        return [turn for turn in reversed(latest_turns) if now - self.ttl <= turn.created_at <= now]

    awindow = twin(window)

    def turns(self, conversation: str = MAIN, limit: int = 50) -> list[Turn]:
        """Return the latest turns of a conversation, of any age, newest first."""
        rows = newest_rows(self._store, {"conversation": conversation}, limit)
        return self.get_many([row["id"] for row in rows])

    aturns = twin(turns)

    def names(self) -> dict[str, int]:
        """Return the number of turns of each conversation, keyed by name, the longest conversation first."""
        return self.values("conversation")

    anames = twin(names)

    def search(self, query: str, k: int = 5, *, conversation: str | None = None) -> list[Turn]:
        """Return the k turns most relevant to a query, best first, in one conversation or all."""
        where = None if conversation is None else {"conversation": conversation}
        return [hit.item for hit in self.search_hits(query, k, where=where)]

    asearch = twin(search)

    @property
    def _log(self) -> Log:
        return Log(self._store, self.embedder, LOG_TEXT)

    def _latest_beginnings(self, conversation: str) -> dict[str, str]:
        """Return the beginnings of the last turns of a conversation, keyed by id, oldest first."""
        rows = newest_rows(self._store, {"conversation": conversation}, N_NEIGHBOURS)
        beginnings = LOG_TEXT.beginnings(self._store, [row["id"] for row in reversed(rows)])
        return dict(beginnings)

    def _to_records(self, rows: Sequence[Row]) -> list[Turn]:
        return [_from_row(row) for row in rows]


def _row_text(row: Row) -> str:
    return decode_content(lambda content: _turn_text(content["user_text"], content["response"]), row["metadata"])


def _turn_text(user_text: str, response: str) -> str:
    return "\n".join(text for text in (user_text, response) if text.strip())


def _beginnings(store: Collection, ids: Sequence[str]) -> dict[str, str]:
    return {row["id"]: title_of(_row_text(row)) for row in store.get(list(ids))}


LOG_TEXT = LogText(group_field="conversation", content_of=_row_text, beginnings=_beginnings)
"""Rules for indexing a turn with the beginnings of the turns before it."""


def _to_entry(turn: Turn) -> Entry:
    fields = {"conversation": turn.conversation, "user_text": turn.user_text, "response": turn.response}
    for name, text in fields.items():
        check_text(text, f"the turn's {name}")
    content: dict[str, Any] = {**fields, "metadata": dict(turn.metadata)} if turn.metadata else fields
    metadata: dict[str, Any] = {
        "title": title_of(turn.user_text or turn.response),
        "conversation": turn.conversation,
        TURN_TIME: turn.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        **filterable_metadata(turn.metadata),
        "content": dump(content),
    }
    return Entry(turn.id, _turn_text(turn.user_text, turn.response), metadata)


def _from_row(row: Row) -> Turn:
    metadata = row["metadata"]
    turn_time = stored_instant(metadata, TURN_TIME if TURN_TIME in metadata else "created_at")
    return decode_content(lambda content: Turn(id=row["id"], created_at=turn_time, **content), metadata)
