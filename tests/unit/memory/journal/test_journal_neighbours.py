"""What entries hold of those just before them: gone with what was deleted, told again with what was changed."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.types import JournalEntry
from atlas.memory.journal import Journal
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support.journals import opened, write
from tests.support.memories import DictVectorStore

LINES = ("alpha was first", "bravo came next", "charlie came third", "delta came fourth", "echo came fifth")


def written(journal, lines=LINES, generation=1):
    return [write(journal, "task", line, generation) for line in lines]


def held(journal):
    """What each entry is followed by in its text, by what it says."""
    ids = journal.ids()
    rows = journal.collection.get(ids)
    contents = {entry.id: entry.content for entry in journal.get_many(ids)}
    return {contents[row["id"]]: row["document"].removeprefix(contents[row["id"]]).split("\n\n")[1:] for row in rows}


def found(journal, words):
    return {entry.content for entry in journal.search_words(words)}


def latest(store):
    return store.ledger.history.operations(1, 0)[0]


def test_a_deleted_entry_is_found_nowhere_and_one_undo_brings_all_of_it_back(journal, store):
    ids = written(journal)
    before, vectors = held(journal), journal.collection.vectors()
    assert found(journal, "bravo") == {LINES[1], LINES[2], LINES[3]}
    n_before = store.count_operations()
    assert journal.delete([ids[1]]) == 1
    assert store.count_operations() == n_before + 1
    assert latest(store).kind == "delete"
    assert latest(store).counts == {"changed": 2, "removed": 1}
    assert found(journal, "bravo") == set()
    assert held(journal) == {
        LINES[0]: [],
        LINES[2]: [LINES[0]],
        LINES[3]: [LINES[0], LINES[2]],
        LINES[4]: [LINES[2], LINES[3]],
    }
    [row] = journal.collection.get([ids[2]])
    expected = HashEmbedder().encode(f"{LINES[2]}\n\n{LINES[0]}")
    assert np.allclose(row["embedding"], expected / np.linalg.norm(expected), atol=1e-6)
    undone = store.undo(latest(store).id)
    assert held(journal) == before
    assert all(np.array_equal(vectors[one], now) for one, now in journal.collection.vectors().items())
    store.undo(undone.id)
    assert found(journal, "bravo") == set()


def test_many_deleted_at_once_are_one_operation_that_leaves_the_others_alone(journal, store):
    ids = written(journal, [f"line {name} of it" for name in "abcdefghijkl"])
    other = written(journal, ["zulu of another", "yankee of another"], generation=2)
    before = held(journal)
    assert journal.delete([ids[1], ids[3], ids[2], ids[1], "gone", other[0]]) == 4
    assert latest(store).counts == {"changed": 3, "removed": 4}
    after = held(journal)
    assert after["line e of it"] == ["line a of it"]
    assert after["line f of it"] == ["line a of it", "line e of it"]
    assert after["yankee of another"] == []
    assert {content for content in after if after[content] != before[content]} == {
        "line e of it",
        "line f of it",
        "yankee of another",
    }
    store.undo(latest(store).id)
    assert held(journal) == before


def test_deleting_the_last_one_or_none_touches_no_other(journal, store):
    ids = written(journal)
    journal.delete(ids[3:])
    assert latest(store).counts == {"removed": 2}
    n_operations = store.count_operations()
    assert journal.delete(["gone"]) == journal.delete([]) == 0
    assert store.count_operations() == n_operations


def test_one_id_deletes_one_entry(journal):
    ids = written(journal)
    assert journal.delete(ids[1]) == 1
    assert journal.get_many(ids[:3])[1].content == LINES[2]


def test_a_memory_that_deletes_within_an_operation_of_its_own_stays_within_it(journal, store):
    ids = written(journal)
    scoped = journal.as_operation("delete", "by hand")
    assert scoped.delete([ids[0]]) == 1
    assert (latest(store).id, latest(store).reason) == (scoped.operation_id, "by hand")
    assert latest(store).counts == {"changed": 2, "removed": 1}


def test_what_an_entry_says_now_is_what_those_after_it_hold(journal, store):
    ids = written(journal)
    before = held(journal)
    journal.edit(ids[1], content="foxtrot came instead")
    assert latest(store).counts == {"changed": 3}
    assert found(journal, "bravo") == set()
    assert found(journal, "foxtrot") == {"foxtrot came instead", LINES[2], LINES[3]}
    assert held(journal)["foxtrot came instead"] == [LINES[0]]
    store.undo(latest(store).id)
    assert held(journal) == before


def test_what_nobody_reads_of_an_entry_changes_it_alone(journal, store):
    ids = written(journal)
    journal.edit(ids[1], importance=0.9, tier="cold")
    assert latest(store).counts == {"changed": 1}
    journal.edit(ids[1], content=f"{LINES[1]}{' ' * 300}and more")
    assert latest(store).counts == {"changed": 3}
    journal.edit(ids[1], content=f"{LINES[1]} {'x' * 300} and more")
    journal.edit(ids[1], content=f"{LINES[1]} {'x' * 300} and less")
    assert latest(store).counts == {"changed": 1}, "only what comes after its beginning is another"


def test_an_entry_of_another_generation_leaves_those_after_it_and_joins_others(journal, store):
    here = written(journal)
    there = written(journal, ["golf of later", "hotel of later"], generation=2)
    journal.delete([there[0]])
    journal.restore([there[0]])
    before = held(journal)
    journal.edit(here[1], generation=2)
    assert held(journal) == {
        LINES[0]: [],
        LINES[1]: [],
        LINES[2]: [LINES[0]],
        LINES[3]: [LINES[0], LINES[2]],
        LINES[4]: [LINES[2], LINES[3]],
        "golf of later": [LINES[1]],
        "hotel of later": [LINES[1], "golf of later"],
    }
    assert journal.get(here[1]).generation == 2
    store.undo(latest(store).id)
    assert held(journal) == before


def test_what_came_into_the_log_in_between_does_not_keep_what_was_deleted(journal):
    ids = written(journal)
    at = journal.get(ids[1]).created_at
    between = [
        JournalEntry(entry_type="summary", content=f"summary {name}", generation=1, created_at=at)
        for name in ("one", "two")
    ]
    journal.add_entries(between)
    assert found(journal, "bravo") == {LINES[1], LINES[2], LINES[3], "summary one", "summary two"}
    journal.delete([ids[1]])
    assert found(journal, "bravo") == set()


def test_restored_entries_are_told_anew_as_one_operation(journal, store):
    ids = written(journal)
    journal.delete([ids[2]])
    journal.delete([ids[1]])
    n_operations = store.count_operations()
    assert journal.restore([ids[2]]) == 1
    assert store.count_operations() == n_operations + 1
    assert held(journal) == {
        LINES[0]: [],
        LINES[2]: [LINES[0]],
        LINES[3]: [LINES[0], LINES[2]],
        LINES[4]: [LINES[2], LINES[3]],
    }
    assert found(journal, "bravo") == set()
    store.undo(latest(store).id)
    assert found(journal, "charlie") == set()


def test_what_is_changed_elsewhere_meanwhile_is_read_anew(journal, store):
    """The second of two that delete neighbours at once sees what the first has left."""
    ids = written(journal)
    moment = journal.collection.moment()
    journal.delete([ids[0]])
    with pytest.raises(PlanOutdated, match="has changed since it was read"):
        journal._log.change_and_reindex(moment, "delete", deleted_ids=[ids[1]])
    assert journal.delete([ids[1]]) == 1
    assert held(journal)[LINES[2]] == []


class MeddlingEmbedder(HashEmbedder):
    """Has somebody else do something the first time that a text is embedded."""

    def __init__(self, meddle):
        super().__init__()
        self._meddle = [meddle]

    def encode_batch(self, texts):
        while self._meddle:
            self._meddle.pop()()
        return super().encode_batch(texts)


def test_what_others_delete_while_an_entry_is_embedded_is_not_in_its_text(journal, store):
    ids = written(journal)
    journal.embedder = MeddlingEmbedder(lambda: opened(store, FixedClock()).delete([ids[4]]))
    n_operations = store.count_operations()
    write(journal, "task", "foxtrot came late")
    assert held(journal)["foxtrot came late"] == [LINES[2], LINES[3]]
    assert store.count_operations() == n_operations + 2
    store.undo(latest(store).id)
    assert "foxtrot came late" not in held(journal)


def test_an_edit_that_cannot_be_kept_changes_nothing(journal, store):
    ids = written(journal)
    n_operations = store.count_operations()
    with pytest.raises(InvalidInput, match="expected a string that is not blank for an entry's content"):
        journal.edit(ids[1], content=" ")
    assert store.count_operations() == n_operations


@pytest.mark.parametrize("kind", [MemoryVectorStore, DictVectorStore])
def test_a_plain_store_holds_nothing_of_what_was_deleted_or_changed_either(kind):
    journal = Journal(HashEmbedder(), kind(), clock=FixedClock())
    ids = written(journal)
    written(journal, ["golf of later"], generation=2)
    assert journal.delete([ids[0]]) == 1
    journal.edit(ids[2], content="foxtrot came instead", generation=2)
    assert held(journal) == {
        LINES[1]: [],
        LINES[3]: [LINES[1]],
        LINES[4]: [LINES[1], LINES[3]],
        "foxtrot came instead": [],
        "golf of later": ["foxtrot came instead"],
    }
    assert journal.get(ids[2]).generation == 2
