"""What stands around an entry of a log, or a turn of a conversation, finds it too: what is gone finds nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

import atlas
from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.core.types import JournalEntry
from atlas.memory.base.calibration.measurement import RelevanceThresholds
from atlas.memory.base.ranking import explain
from atlas.memory.journal.conversations import COLLECTION, Conversations
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support.journals import write

WORDS_ALONE = RankingWeights(meaning=0.0, words=1.0, success=0.0, use=0.0, recency=0.0, pin=0.0, importance=0.0)


@pytest.fixture
def conversations(store, clock):
    return Conversations(HashEmbedder(), store.collection(COLLECTION), clock=clock, weights=WORDS_ALONE)


def filled(journal, n=30):
    """Give the words of a query their weight: in a journal of few entries none tells anything."""
    journal.add_entries(
        [
            JournalEntry(entry_type="observation", content=f"filler number {number}", generation=100 + number)
            for number in range(n)
        ]
    )


def by_context(hits):
    return {hit.item.content: hit.context for hit in hits if hit.context}


def test_an_entry_is_found_by_the_words_of_the_two_just_after_it_and_says_so(journal):
    for line in ("far before", "two before", "one before", "the zebra escaped"):
        write(journal, "task", line)
    write(journal, "task", "of another generation", generation=2)
    filled(journal)
    hits = journal.ranked_with(WORDS_ALONE).search_hits("zebra", 10)
    held = by_context(hits)
    assert set(held) == {"two before", "one before"}
    [teller] = [hit for hit in hits if hit.item.content == "the zebra escaped"]
    assert held["one before"] == pytest.approx(0.2 * teller.words)
    [found] = [hit for hit in hits if hit.item.content == "one before"]
    assert (found.words, dict(found.signals)["words"]) == (0, 0)
    assert found.relevance == pytest.approx(found.signals["context"])
    assert "none of the query's words, and the entries just after it add" in explain(found)
    assert sum(found.signals.values()) == found.rank_value


def test_what_comes_after_counts_whatever_the_filter_says_of_it(journal):
    write(journal, "task", "sort the orders")
    write(journal, "crash_log", "the zebra escaped")
    filled(journal)
    hits = journal.ranked_with(WORDS_ALONE).search_hits("zebra", 10, where={"entry_type": "task"})
    assert set(by_context(hits)) == {"sort the orders"}
    assert {hit.item.entry_type for hit in hits} == {"task"}
    assert by_context(journal.ranked_with(WORDS_ALONE).search_hits("zebra", 10, where={"entry_type": "plan"})) == {}


def test_what_comes_after_may_show_a_hit_but_makes_no_query_at_home(journal):
    write(journal, "task", "sort the orders")
    teller = write(journal, "task", "the zebra escaped")
    filled(journal)
    found = journal.ranked_with(WORDS_ALONE).retrieve("zebra", threshold=0.05)
    assert {hit.item.content for hit in found.hits} == {"sort the orders", "the zebra escaped"}
    best = next(hit for hit in found.hits if hit.item.id == teller)
    lifted = next(hit for hit in found.hits if hit.item.id != teller)
    alone = Hit(
        item="", similarity=0, meaning=0, words=0.2, relevance=best.relevance, signals={"context": 1.0}, outcomes={}
    )
    assert RelevanceThresholds(min_best=0.3, near_best=0.1).shown_predicate(best.relevance)(lifted)
    assert not RelevanceThresholds(min_best=0.3, near_best=0.1).shown_predicate(0.2)(alone)


@pytest.mark.parametrize("leave", ["delete", "bury", "edit"])
def test_what_is_gone_buried_or_said_otherwise_finds_no_neighbour(journal, store, leave):
    write(journal, "task", "sort the orders")
    teller = write(journal, "task", "the zebra escaped")
    write(journal, "task", "done")
    filled(journal)
    words = journal.ranked_with(WORDS_ALONE)
    assert set(by_context(words.search_hits("zebra", 10))) == {"sort the orders", "the zebra escaped"}
    if leave == "delete":
        journal.delete([teller])
    elif leave == "bury":
        journal.change_marks([teller], buried=True)
    else:
        journal.edit(teller, content="the lion escaped")
    held = by_context(words.search_hits("zebra", 10))
    assert "sort the orders" not in held or held["sort the orders"] < 0.1
    operation = store.ledger.history.operations(1, 0)[0]
    store.undo(operation.id)
    assert set(by_context(words.search_hits("zebra", 10))) == {"sort the orders", "the zebra escaped"}


def test_a_later_entry_changes_no_record_before_it_and_can_be_undone_alone(journal, store):
    first = write(journal, "task", "sort the orders")
    added = store.ledger.history.operations(1, 0)[0]
    write(journal, "task", "the zebra escaped")
    assert store.ledger.history.operations(1, 0)[0].counts == {"added": 1}
    assert journal.collection.versions(first) == []
    store.undo(added.id)
    assert journal.get(first) is None


# Conversations


def said(conversations, *turns, conversation="main"):
    ids = []
    for user_text, response in turns:
        conversations._clock.advance(timedelta(minutes=1))
        ids.append(conversations.add(user_text, response, conversation))
    return ids


TALK = (("when do we meet Dana?", "on Monday"), ("and where?", "in the lobby"), ("who pays?", "I do"), ("bye", "bye"))


def documents(conversations, ids):
    return [row["document"] for row in conversations.collection.get(list(ids))]


def test_a_turn_holds_the_beginnings_of_the_two_before_it_in_its_conversation(conversations):
    ids = said(conversations, *TALK)
    other = said(conversations, ("hello", "hi"), conversation="other")
    assert documents(conversations, ids + other) == [
        "when do we meet Dana?\non Monday",
        "and where?\nin the lobby\n\nwhen do we meet Dana? on Monday",
        "who pays?\nI do\n\nwhen do we meet Dana? on Monday\n\nand where? in the lobby",
        "bye\nbye\n\nand where? in the lobby\n\nwho pays? I do",
        "hello\nhi",
    ]
    assert [turn.user_text for turn in conversations.search_words("Dana")][:1] == ["when do we meet Dana?"]
    assert {turn.id for turn in conversations.search_words("Dana")} == set(ids[:3])


def test_a_turn_that_is_deleted_leaves_those_after_it_and_one_undo_brings_all_back(conversations, store):
    ids = said(conversations, *TALK)
    before = documents(conversations, ids)
    assert conversations.delete(ids[0]) == 1
    assert conversations.search_words("Dana") == []
    assert documents(conversations, ids[1:])[0] == "and where?\nin the lobby"
    deleted = store.ledger.history.operations(1, 0)[0]
    assert deleted.counts == {"changed": 2, "removed": 1}
    store.undo(deleted.id)
    assert documents(conversations, ids) == before
    conversations.delete([ids[0]])
    assert conversations.restore([ids[0]]) == 1
    assert documents(conversations, ids) == before


def test_a_plain_store_holds_nothing_of_a_turn_that_was_deleted(clock):
    conversations = Conversations(HashEmbedder(), MemoryVectorStore(), clock=FixedClock())
    ids = said(conversations, *TALK)
    assert conversations.delete([ids[1]]) == 1
    assert documents(conversations, [ids[2]]) == ["who pays?\nI do\n\nwhen do we meet Dana? on Monday"]


def test_a_purged_turn_or_entry_is_found_by_nothing_around_it(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), clock=FixedClock()) as memory:
        ids = said(memory.conversations, ("hello", "hi"), ("my key is zebra", "noted"), ("and now?", "wait"))
        entries = [write(memory.journal, "task", line) for line in ("sort them", "zebra escaped", "all quiet")]
        memory.apply_purge(memory.plan_purge([ids[1], entries[1]]))
        assert documents(memory.conversations, [ids[2]]) == ["and now?\nwait\n\nhello hi"]
        for held in (memory.conversations, memory.journal):
            assert held.search_words("zebra") == []
            assert all(hit.words == hit.context == 0 for hit in held.search_hits("zebra", 10))
