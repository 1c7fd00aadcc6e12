"""Views of conversations and of their turns in the agent's window."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from atlas.memory.base.ranking import explain
from atlas.memory.journal.conversations import Turn
from atlas.memory.system import MemorySystem
from atlas.views.shared.texts import Text, text_of
from atlas.views.shared.wording import counted, utc_time_text

MAX_FOUND = 20
MORE = 50
"""Page size of turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """One turn. Both texts and the conversation's name are untrusted."""

    id: str
    conversation: str
    time: str
    """Trusted text."""

    user_text: Text | None
    response: Text | None
    is_live: bool
    """True if it is in the agent's window."""

    reason: str = ""
    """The reason why it was found, or empty in a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationView:
    """The latest turns of a conversation, oldest first."""

    turns: tuple[TurnView, ...]
    n_earlier: int
    """Number of turns before the shown turns."""

    window: str
    """A sentence on the turns in the agent's window, without text of a turn."""


def conversation_view(memory: MemorySystem, name: str, n_shown: int = MORE) -> ConversationView:
    """Return the latest turns of a conversation, with those marked that an agent is reminded of now."""
    conversations = memory.conversations
    live = {turn.id for turn in conversations.window(name)}
    turns = conversations.turns(name, n_shown)
    minutes = conversations.ttl.total_seconds() / 60
    rule = f"the last {conversations.max_turns} turns, as long as they are no older than {minutes:g} minutes"
    reminded = f"{counted(len(live), 'turn')} now" if live else "none now"
    return ConversationView(
        turns=tuple(_turn_view(turn, live) for turn in reversed(turns)),
        n_earlier=conversations.count({"conversation": name}) - len(turns),
        window=f"An agent is reminded of {rule}: {reminded}.",
    )


def found_turns(memory: MemorySystem, text: str, name: str | None) -> tuple[TurnView, ...]:
    """Return the turns that have to do with a question, best first, of one conversation or of all."""
    where = None if name is None else {"conversation": name}
    result = memory.conversations.retrieve(text, MAX_FOUND, where=where, count_retrieval=False)
    names = {hit.item.conversation for hit in result.hits}
    live = {turn.id for conversation in names for turn in memory.conversations.window(conversation)}
    return tuple(_turn_view(hit.item, live, explain(hit)) for hit in result.hits)


def _turn_view(turn: Turn, reminded_ids: Collection[str], reason: str = "") -> TurnView:
    return TurnView(
        id=turn.id,
        conversation=turn.conversation,
        time=utc_time_text(turn.created_at),
        user_text=text_of(turn.user_text),
        response=text_of(turn.response),
        is_live=turn.id in reminded_ids,
        reason=reason,
    )
