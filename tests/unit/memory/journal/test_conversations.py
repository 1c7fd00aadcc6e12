"""Conversations: a window of recent turns, several at once, kept beyond a restart."""

from __future__ import annotations

from datetime import timedelta

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.memory.journal.conversations import COLLECTION, Conversations
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore


@pytest.fixture
def conversations(store, clock):
    return Conversations(HashEmbedder(), store.collection(COLLECTION), clock=clock)


def said(turns):
    return [turn.user_text for turn in turns]


def test_the_window_is_the_last_five_turns_oldest_first_even_of_one_instant(conversations):
    for number in range(7):
        conversations.add(f"question {number}", f"answer {number}")
    assert said(conversations.window()) == [f"question {number}" for number in range(2, 7)]
    assert conversations.window()[-1].response == "answer 6"
    assert len(conversations.turns()) == 7


def test_turns_of_more_than_ten_minutes_ago_leave_the_window_but_stay(conversations, clock):
    conversations.add("early", "yes")
    clock.advance(timedelta(minutes=6))
    conversations.add("late", "no")
    assert said(conversations.window()) == ["early", "late"]
    clock.advance(timedelta(minutes=5))
    assert said(conversations.window()) == ["late"]
    assert said(conversations.turns()) == ["late", "early"]


def test_a_clock_that_is_put_back_leaves_the_turns_in_their_order_and_none_of_the_future_in_the_window(
    conversations, clock
):
    conversations.add("future", "f")
    clock.advance(timedelta(hours=-2))
    for number in range(3):
        conversations.add(f"back {number}", "b")
        clock.advance(timedelta(seconds=1))
    assert said(conversations.window()) == ["back 0", "back 1", "back 2"]
    assert said(conversations.turns()) == ["back 2", "back 1", "back 0", "future"]
    assert conversations.turns(limit=1)[0].created_at == clock.now() - timedelta(seconds=1)
    clock.advance(timedelta(hours=1))
    assert conversations.window() == []


def test_conversations_do_not_mix_and_are_searched_together_or_apart(conversations):
    conversations.add("how do I bake bread?", "with yeast", "kitchen")
    conversations.add("how do I bake clay?", "in a kiln", "workshop")
    assert said(conversations.window("kitchen")) == ["how do I bake bread?"]
    assert conversations.window() == []
    assert conversations.names() == {"kitchen": 1, "workshop": 1}
    assert said(conversations.search("bread with yeast", 1)) == ["how do I bake bread?"]
    assert said(conversations.search("bread with yeast", 2, conversation="workshop")) == ["how do I bake clay?"]


def test_conversation_history_not_persisted_a_restart_forgets_nothing(tmp_path):
    """A problem of seed 003, §7."""
    clock, path = FixedClock(), tmp_path / "store"
    with atlas.open_memory(path, embedder=HashEmbedder(), clock=clock) as memory:
        memory.conversations.add("call me Ada", "with pleasure")
    with atlas.open_memory(path, embedder=HashEmbedder(), clock=clock) as memory:
        [turn] = memory.conversations.window()
    assert (turn.user_text, turn.response, turn.created_at) == ("call me Ada", "with pleasure", clock.now())


def test_p1_persist_conversation_history_with_the_same_ten_minutes_after_a_restart(tmp_path):
    """A proposal of seed 003, §8."""
    clock, path = FixedClock(), tmp_path / "store"
    with atlas.open_memory(path, embedder=HashEmbedder(), clock=clock) as memory:
        memory.conversations.add("call me Ada", "with pleasure")
        clock.advance(timedelta(minutes=9))
        memory.conversations.add("what is my name?", "Ada")
    clock.advance(timedelta(minutes=2))
    with atlas.open_memory(path, embedder=HashEmbedder(), clock=clock) as memory:
        assert said(memory.conversations.window()) == ["what is my name?"]
        assert len(memory.conversations.turns()) == 2


def test_what_is_no_turn_is_refused(conversations):
    with pytest.raises(InvalidInput, match="got two empty strings"):
        conversations.add(" ", "")
    with pytest.raises(InvalidInput, match="expected a name of the conversation"):
        conversations.add("x", "y", " ")
    with pytest.raises(InvalidInput, match="expected a string for a turn's user_text, got None"):
        conversations.add(None, "x")
    with pytest.raises(InvalidInput, match="expected a string for a turn's conversation, got 5"):
        conversations.add("x", "y", 5)
    with pytest.raises(InvalidInput, match="expected 0 or more for max_turns, got -1"):
        Conversations(HashEmbedder(), MemoryVectorStore(), max_turns=-1)
    assert len(conversations) == 0


def test_a_plain_store_keeps_turns():
    conversations = Conversations(HashEmbedder(), MemoryVectorStore(), clock=FixedClock())
    conversations.add("x", "y")
    assert said(conversations.window()) == ["x"]
