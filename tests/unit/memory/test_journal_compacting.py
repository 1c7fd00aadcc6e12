"""Forgetting: who moves how far and why, summaries, and taking it back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.journal_codec import TIERS
from atlas.memory.journal_compacting import central_sentences, sentences_of
from atlas.testing import HashEmbedder
from tests.unit.memory.journals import write

FRUITS = ("apple", "pear", "plum", "quince", "cherry", "grape", "melon", "lemon")


def fill(journal, n=8, entry_type="observation"):
    return [
        write(journal, entry_type, f"The {fruit} parser survived. It reads every {fruit} of the basket", number)
        for number, fruit in enumerate(FRUITS[:n], 1)
    ]


def tiers(journal, ids):
    return [journal.get(entry_id).tier for entry_id in ids]


def test_nothing_moves_as_long_as_entries_are_new(journal):
    fill(journal)
    plan = journal.plan_compact(keep_recent=0)
    assert plan.is_empty
    assert plan.kept == {"it is worth its tier": 8}
    assert journal.apply_compact(plan) is None


def test_entries_move_as_they_age_and_the_plan_says_why(journal, clock):
    [crash] = [write(journal, "crash_log", "Gen 1 died of an ImportError in heartbeat", 1)]
    clock.advance(timedelta(days=120))
    [move] = journal.plan_compact(keep_recent=0).moves
    assert (move.id, move.from_tier, move.to_tier) == (crash, "hot", "warm")
    assert "importance 0.7" in move.reason
    assert "recency 0.25" in move.reason
    clock.advance(timedelta(days=300))
    assert journal.plan_compact(keep_recent=0).moves[0].to_tier == "archived"
    assert tiers(journal, [crash]) == ["hot"]


def test_the_latest_those_of_a_type_the_pinned_and_directives_stay(journal, clock):
    directive = write(journal, "directive", "be brief", 1)
    ids = fill(journal, 5)
    task = write(journal, "task", "User asked: bake a cake", 9)
    journal.change_marks([ids[0]], pinned=True)
    clock.advance(timedelta(days=3650))
    write(journal, "task", "User asked: eat the cake", 10)
    plan = journal.plan_compact(keep_recent=1, keep_types={"task": 2})
    assert {move.id for move in plan.moves} == set(ids[1:])
    assert sorted(plan.kept) == [
        "it is among the latest 1",
        "it is among the latest 2 of type task",
        "it is pinned",
        "no entry of type directive is ever forgotten",
    ]
    assert tiers(journal, [directive, task]) == ["hot", "hot"]
    with pytest.raises(InvalidInput, match="keep_recent is -1"):
        journal.plan_compact(keep_recent=-1)


def test_what_is_used_or_linked_to_stays_longer(journal, clock):
    plain, used, linked = fill(journal, 3)
    later = write(journal, "directive", "mind the plum parser", 4)
    journal.record_use(used, success=True)
    journal.link(later, linked, "refers_to")
    clock.advance(timedelta(days=25))
    values = {move.id: move.value for move in journal.plan_compact(keep_recent=0).moves}
    assert plain in values
    assert values.get(used, 1) > values[plain] < values.get(linked, 1)


def test_compacting_writes_a_summary_of_low_entries_with_links_to_its_sources_which_go_to_the_cold_tier(journal, clock):
    ids = fill(journal)
    clock.advance(timedelta(days=400))
    plan = journal.compact(keep_recent=0)
    assert set(tiers(journal, ids)) == {"cold"}
    [summary] = journal.recent(10, ["summary"])
    assert {link.target_id for link in summary.links} == set(ids)
    assert {link.type for link in summary.links} == {"summarises"}
    assert summary.content.startswith("Generations 1 to 8, 8 entries of type observation:\n- ")
    assert summary.metadata["of_type"] == "observation"
    assert len(summary.content.splitlines()) == 6
    assert plan.tiers == {"warm": 0, "cold": 8, "archived": 0}
    assert len(journal) == 9


def test_what_was_compacted_is_out_of_prompts_yet_found_and_archived_entries_are_found_when_asked_for(journal, clock):
    ids = fill(journal)
    clock.advance(timedelta(days=400))
    journal.compact(keep_recent=0)
    assert [row["entry_type"] for row in journal.get_recent(10)] == ["summary"]
    assert ids[3] in [entry.id for entry in journal.search("quince basket", 5)]
    journal.compact(keep_recent=0)
    assert set(tiers(journal, ids)) == {"archived"}
    assert ids[3] not in [entry.id for entry in journal.search("quince basket", 5)]
    assert ids[3] in [entry.id for entry in journal.search("quince basket", 5, with_archived=True)]
    assert len(journal.recent(20, tiers=TIERS)) == 9
    assert journal.plan_compact(keep_recent=0).summaries == ()


def test_compacting_is_one_operation_and_is_undone_as_a_whole(journal, store, clock):
    ids = fill(journal)
    clock.advance(timedelta(days=400))
    before = [journal.get(entry_id) for entry_id in ids]
    n_before = store.count_operations()
    operation_id = journal.apply_compact(journal.plan_compact(keep_recent=0))
    assert store.count_operations() == n_before + 1
    store.undo(operation_id)
    assert [journal.get(entry_id) for entry_id in ids] == before
    assert len(journal) == 8


def test_a_plan_of_entries_that_changed_since_is_refused(journal, clock):
    ids = fill(journal)
    clock.advance(timedelta(days=400))
    plan = journal.plan_compact(keep_recent=0)
    journal.edit(ids[0], importance=1.0)
    with pytest.raises(PlanOutdated):
        journal.apply_compact(plan)
    assert set(tiers(journal, ids)) == {"hot"}
    assert len(journal) == 8


def test_a_summary_takes_the_most_central_sentences_once():
    texts = ["The loop is slow. Cats sleep.", "The loop is very slow!", "The loop was slow. 太い線。"]
    said = central_sentences(texts, HashEmbedder().encode_batch, 2)
    assert len(said) == 2
    assert any("loop" in sentence for sentence in said)
    assert sentences_of("One. Two!\nThree") == ["One.", "Two!", "Three"]
