"""Conversations: what was said between people and an agent, kept beyond a restart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

from atlas.core.codec import check_text, dump
from atlas.core.errors import InvalidInput
from atlas.core.settings import RankingWeights
from atlas.core.types import Turn
from atlas.infra.clock import SystemClock
from atlas.infra.twin import twin
from atlas.memory.base.latest import newest, place_after_all
from atlas.memory.base.memory import Memory, Row, Weights
from atlas.memory.base.records import Entry, columns, filterable
from atlas.protocols.infra import Clock, Embedder, VectorStore
from atlas.storage.collection import Collection
from atlas.storage.damage import decoded_content, stored_instant

__all__ = ["COLLECTION", "MAIN", "Conversations", "Turn"]

COLLECTION = "atlas_conversations"

MAIN = "main"
"""The conversation of an agent that has no more than one."""

SAID_AT = "said_at"
"""Key of when a turn was said. `created_at` is where it stands, never before an earlier turn."""

TITLE_CHARACTERS = 200


class Conversations(Memory[Turn]):
    """The turns of conversations, in a vector store.

    Each method has an async twin, with an `a` before its name, for coroutines.
    """

    noun = "turn"

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
            max_turns: How many turns an agent is reminded of.
            ttl: How long ago they may be; what is older stays and is found, but nobody is reminded of it.

        Raises:
            InvalidInput: One of them is negative.
        """
        if max_turns < 0 or ttl < timedelta(0):
            raise InvalidInput(f"max_turns and ttl should be 0 or more, but are {max_turns} and {ttl}")
        super().__init__(embedder, vector_store, collection_name, weights, clock)
        self.max_turns = max_turns
        self.ttl = ttl

    def add(self, user_text: str, response: str, conversation: str = MAIN) -> str:
        """Keep a turn and return its id.

        Raises:
            InvalidInput: Nothing was said on either side, the conversation has no name, or a text cannot be kept.
        """
        said = {"user_text": user_text, "response": response, "conversation": conversation}
        for name, text in said.items():
            if not isinstance(text, str):
                raise InvalidInput(f"a turn's {name} should be a text, but is {text!r}"[:300])
        if not user_text.strip() and not response.strip():
            raise InvalidInput("a turn should say something on one side at least, but both texts are empty")
        if not conversation.strip():
            raise InvalidInput("a conversation should have a name, but it is empty; give it one, or leave it out")
        turn = Turn(conversation=conversation, user_text=user_text, response=response, created_at=self._clock.now())
        entry = _to_entry(turn)
        entry.metadata["created_at"] = place_after_all(self._store, entry.metadata[SAID_AT])
        self._store.add(*columns([entry], self._store, self.embedder, {}))
        return turn.id

    aadd = twin(add)

    def add_turns(self, turns: Sequence[Turn]) -> list[str]:
        """Keep whole turns at their own times, as one operation. Return the ids of those that were not there before.

        Raises:
            InvalidInput: One of them has a text that cannot be kept.
        """
        entries = [_to_entry(turn) for turn in turns]
        for entry in entries:
            entry.metadata["created_at"] = entry.metadata[SAID_AT]
        return self._store.add_unknown(*columns(entries, self._store, self.embedder, {}))

    aadd_turns = twin(add_turns)

    def window(self, conversation: str = MAIN) -> list[Turn]:
        """Return what an agent should be reminded of: the last turns, as long as they are recent, the oldest first.

        Where the clock was put back, turns that were said after now are left out: nobody knows how old they are.
        """
        latest = self.turns(conversation, self.max_turns)
        now = self._clock.now()
        return [turn for turn in reversed(latest) if now - self.ttl <= turn.created_at <= now]

    awindow = twin(window)

    def turns(self, conversation: str = MAIN, limit: int = 50) -> list[Turn]:
        """Return the latest turns of a conversation, however old, the newest first."""
        rows = newest(self._store, {"conversation": conversation}, limit)
        return self.get_many([row["id"] for row in rows])

    aturns = twin(turns)

    def names(self) -> dict[str, int]:
        """Return how many turns each conversation has, the longest first."""
        return self.values("conversation")

    anames = twin(names)

    def search(self, query: str, k: int = 5, *, conversation: str | None = None) -> list[Turn]:
        """Return the k turns most relevant to what is asked, best first, of one conversation or of all."""
        where = None if conversation is None else {"conversation": conversation}
        return [hit.item for hit in self.search_hits(query, k, where=where)]

    asearch = twin(search)

    def _read(self, rows: Sequence[Row]) -> list[Turn]:
        return [_from_row(row) for row in rows]


def _to_entry(turn: Turn) -> Entry:
    said = {"conversation": turn.conversation, "user_text": turn.user_text, "response": turn.response}
    for name, text in said.items():
        check_text(text, f"the turn's {name}")
    metadata: dict[str, Any] = {
        "title": " ".join((turn.user_text or turn.response).split())[:TITLE_CHARACTERS],
        "conversation": turn.conversation,
        SAID_AT: turn.created_at.astimezone(UTC).isoformat(timespec="microseconds"),
        **filterable(turn.metadata),
        "content": dump(said | ({"metadata": dict(turn.metadata)} if turn.metadata else {})),
    }
    return Entry(turn.id, "\n".join(text for text in (turn.user_text, turn.response) if text.strip()), metadata)


def _from_row(row: Row) -> Turn:
    held = row["metadata"]
    said_at = stored_instant(held, SAID_AT if SAID_AT in held else "created_at")
    return decoded_content(lambda said: Turn(id=row["id"], created_at=said_at, **said), held)
