"""What of a long journal reaches a prompt: summaries, the last directive, old entries of value; nothing buried."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atlas.core.journal_codec import TIERS
from atlas.core.types import JournalEntry
from atlas.memory.journal.contexts import N_RANKED
from tests.support.journals import write

N_LATER = N_RANKED + 1


def add_later_tasks(journal):
    """So many that nothing earlier is among the latest."""
    start = journal._clock.now()
    journal.add_entries(
        [
            JournalEntry(
                entry_type="task",
                content=f"User asked: draw number {number}",
                generation=9,
                created_at=start + timedelta(seconds=number),
            )
            for number in range(N_LATER)
        ]
    )


CONTEXTS = {
    "evolution": lambda journal: journal.context_for_evolution(),
    "task": lambda journal: journal.context_for_task("Which parser died?"),
    "task generation": lambda journal: journal.context_for_task_generation(),
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_a_summary_is_told_in_place_of_what_it_stands_for_however_much_came_since(journal, clock, context):
    for number, fruit in enumerate(("apple", "pear", "plum", "quince", "cherry"), 1):
        write(journal, "observation", f"The {fruit} parser died. It reads every {fruit} of the basket", number)
    clock.advance(timedelta(days=400))
    journal.compact(keep_recent=0)
    add_later_tasks(journal)
    assert "summary" in [entry.entry_type for entry in context(journal)]


def test_an_old_entry_of_great_value_fills_the_place_that_is_left(journal):
    old = write(journal, "crash_log", "The disk was full after a night of logging", 1, importance=0.95)
    for word in ("ant", "bee"):
        write(journal, "crash_log", f"{word} died of a {word} error", 2)
    add_later_tasks(journal)
    assert old in [entry.id for entry in journal.context_for_evolution(limit=10)]


def test_the_last_directive_is_told_at_every_task_whatever_that_is_about(journal):
    for number, fruit in enumerate(("apple", "pear", "plum"), 1):
        write(journal, "directive", f"Which {fruit} parser died? Mend the {fruit} parser first", number)
    last = write(journal, "directive", "Be polite with everybody", 4)
    told = journal.context_for_task("Which parser died? Mend the parser first")
    assert told[0].id == last
    assert told[1].entry_type == "directive"
    assert len({entry.id for entry in told}) == len(told) == 4


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
def test_a_buried_entry_is_told_by_no_context(journal, context):
    kept, buried = [
        write(journal, "directive", f"Which parser died? Delete {what} at once", generation, importance=1.0)
        for generation, what in enumerate(("nothing", "everything"), 1)
    ]
    journal.change_marks([buried], buried=True)
    assert [entry.id for entry in context(journal)] == [kept]


def test_a_buried_entry_is_none_of_the_latest_unless_all_are_asked_for(journal):
    ids = [write(journal, "task", f"User asked: draw {what}", 1) for what in ("a cat", "a dog", "an elk")]
    journal.change_marks([ids[2]], buried=True)
    assert [row["id"] for row in journal.get_recent(1)] == [ids[1]]
    assert [row["id"] for row in journal.get_by_type("task", 5)] == [ids[1], ids[0]]
    assert journal.recent(0) == []
    assert [entry.id for entry in journal.recent(5, tiers=TIERS)] == ids[::-1]
