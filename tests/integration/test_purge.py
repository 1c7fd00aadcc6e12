"""What is purged is in no file of the store any more, in no form, and nothing brings it back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atlas.core.errors import InvalidInput, NotFound, PlanOutdated, UndoRefused
from atlas.core.operations import Marks
from atlas.core.types import CodeConcept, JournalEntry, Strategy, Task
from atlas.jobs.artefact import CACHE
from atlas.jobs.map import MapFile
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.system import MemorySystem
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.maintenance.doctor import examine
from atlas.storage.records import as_vector
from atlas.storage.sqlite import database
from tests.support.processes.conversation import hear, tell
from tests.support.processes.purging import FORMS, KEY, SECRET, attempt, fill, holding, opened, purge, rows


def vector_of(memory: MemorySystem, record_id: str) -> bytes:
    """The vector of a record as every file that has it keeps it."""
    [(vector,)] = rows(memory, "SELECT vector FROM vectors JOIN records USING (seq) WHERE id = ?", record_id)
    return bytes(vector)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_purged_experience_is_in_no_file_of_the_store(store):
    with opened(store) as memory:
        others = fill(memory)
        leaked = memory.experience.store(attempt(SECRET, note=SECRET, **{KEY: 1}))
        vectors = [vector_of(memory, leaked)]
        memory.experience.edit(leaked, feedback=f"its feedback: {SECRET}")
        memory.experience.change_marks([leaked], note=SECRET, add_tags=[KEY])
        memory.experience.change_marks([leaked], pinned=True)
        memory.experience.record_use(leaked, True, task_id=SECRET)
        memory.storage.catch_up()
        memory.storage.marks_files.finish()
        assert "experiences_meta.json" in holding(store, *FORMS)
        assert any(name.startswith("chroma") for name in holding(store, *vectors))
        purge(memory, leaked[:8])
        assert holding(store, *FORMS, *vectors) == {}
        assert memory.experience.get(leaked) is None
        assert len(memory.experience) == len(others)
    assert holding(store, *FORMS, *vectors) == {}
    with opened(store) as memory:
        assert not any(finding.problem for finding in examine(memory.storage))
        assert [hit.id for hit in memory.experience.search(Task("", "", "harmless number 3"), 1)] == [others[3]]


def test_what_was_deleted_and_every_earlier_version_go_too(store):
    with opened(store) as memory:
        fill(memory)
        trashed, restored = (memory.experience.store(attempt(f"{SECRET} {i}")) for i in range(2))
        memory.experience.edit(trashed, feedback=f"{SECRET} again")
        memory.experience.delete([trashed, restored])
        memory.experience.restore([restored])
        memory.undo(memory.history(1)[0].id)
        purge(memory, trashed, restored)
        assert holding(store, *FORMS) == {}
        assert memory.experience.trash() == []
        assert memory.experience.count_trash() == 0


def test_records_of_every_memory_can_be_purged(store):
    with opened(store) as memory:
        fill(memory)
        concept = memory.concepts.add(
            CodeConcept(name="leak", description=SECRET, code=f"def leak():\n    return '{SECRET}'")
        )
        strategy = memory.strategies.add(Strategy(situation=f"when {SECRET}", suggestion=f"say {SECRET}"))
        turn = memory.conversations.add(f"my key is {SECRET}", "thanks")
        entry = memory.journal.add("observation", f"{SECRET} was seen", generation=1)
        purge(memory, concept, strategy, turn, entry)
        assert holding(store, *FORMS) == {}


def test_what_was_judged_of_a_purged_record_or_quotes_it_goes_and_is_not_put_back(store):
    with opened(store) as memory:
        others = fill(memory)
        leaked = memory.experience.store(attempt(SECRET))
        memory.judge("Zoë Müller", leaked, True)
        memory.judge(f"what is {KEY}?", others[0], False)
        memory.judge("harmless number 1", others[1], True)
        plan = memory.plan_purge([leaked])
        assert plan.n_judged == 2
        forgotten = memory.storage.judgements.forget(["Zoë Müller"])
        memory.storage.judgements.restore(forgotten)
        purge(memory, leaked)
        assert holding(store, *FORMS) == {}
        assert [one.query for one in memory.judgements()] == ["harmless number 1"]
        with pytest.raises(InvalidInput, match="was purged"):
            memory.storage.judgements.restore(forgotten)
        assert holding(store, *FORMS) == {}


def test_the_words_of_a_purged_record_are_in_no_table_of_words(store):
    with opened(store) as memory:
        fill(memory)
        leaked = memory.experience.store(attempt(SECRET))
        memory.strategies.add(Strategy(situation="when harmless", suggestion="go on"))
        purge(memory, leaked)
        assert memory.experience.search_words(KEY) == []
        with memory.storage.ledger.database.session() as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%fts5(%'")]
            for number, table in enumerate(tables):
                connection.execute(f"CREATE VIRTUAL TABLE temp.terms_{number} USING fts5vocab(main, {table}, 'row')")
                terms = {term for (term,) in connection.execute(f"SELECT term FROM temp.terms_{number}")}
                assert not terms & {"7qz9vxw3lm", "zoe", "muller"}
        assert len(tables) == len(memory.storage.ledger.collections())


def test_what_a_merged_record_stands_for_keeps_no_hash_of_what_was_purged(store):
    with opened(store) as memory:
        fill(memory)
        leaked, kept = (memory.experience.store(attempt(text)) for text in (SECRET, "the kept one"))
        [[content_hash]] = rows(memory, "SELECT content_hash FROM records WHERE id = ?", leaked)
        memory.experience.record_use(leaked, True, task_id="another")
        [merged] = memory.experience.apply_merge(memory.experience.plan_merge([[leaked, kept]]))
        memory.experience.edit(merged.id, feedback="better")
        gone = leaked if merged.id == kept else kept
        if gone == kept:  # the newer stays
            memory.undo(memory.history(2)[1].id)
        assert holding(store, content_hash.encode())
        purge(memory, leaked)
        assert holding(store, content_hash.encode(), *FORMS) == {}
        assert memory.experience.get(kept).metadata["merged_from"] == [leaked]
        assert memory.experience.usage([kept])[kept].n_uses == 1
        assert [finding.problem for finding in examine(memory.storage)][:4] == [""] * 4


def test_the_journal_embeds_the_entries_after_a_purged_one_without_its_beginning(store):
    with opened(store) as memory:
        memory.journal.add("observation", "the first line of it all", generation=1)
        leaked = memory.journal.add("observation", f"{SECRET} was seen", generation=1)
        after = [memory.journal.add("directive", f"what came then, number {i}", generation=1) for i in range(3)]
        memory.journal.edit(after[0], importance=0.9)
        memory.journal.delete([after[1]])
        vectors = [vector_of(memory, after[0])]
        assert len(rows(memory, "SELECT id FROM records WHERE instr(document, ?)", KEY)) == 3
        purge(memory, leaked)
        assert holding(store, *FORMS, *vectors) == {}
        memory.journal.restore([after[1]])
        assert memory.journal.get(after[0]).importance == 0.9
        [[document]] = rows(memory, "SELECT document FROM records WHERE id = ?", after[0])
        assert document == "what came then, number 0\n\nthe first line of it all"
        made = as_vector(memory.journal.embedder.encode(document), 32)
        assert vector_of(memory, after[0]) == made.astype("<f4").tobytes()
        assert holding(store, *FORMS) == {}


def test_importing_a_journal_again_brings_back_neither_the_entry_nor_its_beginning(store):
    entries = [JournalEntry(id=f"e{i}", entry_type="observation", content=f"line {i}", generation=1) for i in range(3)]
    entries[1] = replace(entries[1], content=f"{SECRET} was seen")
    with opened(store) as memory:
        memory.journal.add_entries(entries)
        purge(memory, "e1")
        memory.journal.delete(["e2"])
        assert memory.journal.add_entries(entries) == ["e2"]
        assert memory.journal.purged([entry.id for entry in entries]) == {"e1"}
        assert holding(store, *FORMS) == {}


def test_marks_that_no_file_has_yet_go_too_and_no_other_process_brings_them_back(store):
    with opened(store) as memory, opened(store) as other:
        leaked, kept = fill(memory, 2)
        memory.experience.change_marks([kept], note="mine")
        memory.experience.change_marks([leaked], note=SECRET)
        assert other.experience.marks([leaked])[leaked].note == SECRET
        assert other.experience.ids({"marks.note": SECRET}) == [leaked]
        plan = memory.plan_purge([leaked])
        purge(memory, leaked)
        other.storage.marks_files.finish()
        assert holding(store, *FORMS) == {}
        assert other.experience.marks([leaked, kept]) == {leaked: Marks(), kept: Marks(note="mine")}
        assert other.experience.ids({"marks.note": SECRET}) == []
        with pytest.raises(NotFound, match="may have been deleted"):
            other.experience.change_marks([leaked], note="again")
        assert plan.records[0].n_earlier == 1


def test_nothing_brings_a_purged_record_back(store, tmp_path):
    with opened(store) as memory:
        fill(memory)
        leaked = memory.experience.store(attempt(SECRET))
        [exported] = memory.experience.export([leaked])
        memory.experience.edit(leaked, feedback="more")
        memory.experience.change_marks([leaked], note="note")
        memory.experience.delete([leaked])
        earlier = memory.history(4)
        operation = purge(memory, leaked)
        for one in earlier:
            with pytest.raises(UndoRefused, match=f"{leaked} was purged later, by anna on .* UTC"):
                memory.undo(one.id)
        with pytest.raises(UndoRefused, match="a purge removes records for good"):
            memory.undo(operation)
        with pytest.raises(NotFound, match="was purged and cannot be restored"):
            memory.experience.restore([leaked])
        assert memory.experience.restore_many([exported]) == []
        record = ([leaked], [[1.0] + [0.0] * 31], [{}], ["text"])
        with pytest.raises(InvalidInput, match="was purged, and its id cannot be reused"):
            memory.storage.collection("atlas_experiences").add(*record)
        with pytest.raises(NotFound, match="purged already"):
            memory.plan_purge([leaked])
        assert memory.storage.collection("atlas_experiences").versions(leaked) == []
        assert holding(store, *FORMS) == {}


def test_the_history_keeps_who_purged_what_when_and_why_and_no_title(store):
    with opened(store) as memory:
        leaked, kept = (memory.experience.store(attempt(text)) for text in (SECRET, "the kept one"))
        memory.experience.as_operation("edit", f"took {KEY} out").edit(leaked, feedback="x")
        memory.experience.change_marks([leaked, kept], note="note")
        purge(memory, leaked)
        purged, marked, edited, _, stored = memory.history()
        assert (purged.kind, purged.actor, purged.reason, purged.counts) == (
            *("purge", "anna", "a leaked key", {"removed": 1}),
        )
        assert (edited.reason, stored.counts) == ("(purged)", {"added": 1})
        assert [(change.kind, change.title, change.fields) for change in memory.changes(stored.id)] == [
            ("purged", "", ())
        ]
        assert [(change.kind, change.record_id) for change in memory.changes(marked.id)] == [
            ("purged", leaked),
            ("marked", kept),
        ]


def test_a_plan_names_who_else_says_the_same_or_names_the_record(store):
    with opened(store) as memory:
        fill(memory)
        trajectory = attempt(SECRET)
        stored = memory.store(trajectory)
        strategy = memory.strategies.add(
            Strategy(situation="of another situation", suggestion="do it", sources=(trajectory.id,))
        )
        concept = memory.concepts.add(CodeConcept(name="use", description="d", code=f"def use():\n    return '{KEY}'"))
        noted = memory.experience.store(attempt("the noted one"))
        memory.experience.change_marks([noted], note=f"it has {KEY} too")
        edited = memory.experience.store(attempt("the edited one"))
        memory.experience.edit(edited, feedback=f"got {KEY}.")
        memory.experience.edit(edited, feedback="")
        deleted = memory.experience.store(attempt(f"deleted, with {KEY} in it"))
        memory.experience.delete([deleted])
        plan = memory.plan_purge([stored["experience"]])
        assert [(one.id, one.is_live, one.n_earlier) for one in plan.records] == [(stored["experience"], True, 0)]
        found = {quote.record_id: (quote.where, quote.n_shared > 0) for quote in plan.quotes}
        expected = {
            strategy: ("", False),
            concept: ("", True),
            noted: ("in its marks", True),
            edited: ("in an earlier version", True),
            deleted: ("in the trash", True),
        }
        assert {key: found[key] for key in expected} == expected
        assert {*found} - {*expected} <= {stored.get("strategies")}


def test_copies_of_the_ledger_go_and_what_is_not_ours_is_named(store, tmp_path):
    with opened(store) as memory:
        fill(memory)
        leaked = memory.experience.store(attempt(SECRET))
        memory.storage.ledger.database.copy_to(store / "atlas.schema-2.sqlite")
        (store / ".atlas-restore-x").mkdir()
        for name in (".atlas-restore-x/atlas.sqlite", ".experiences_meta.json.4711", "mine.txt"):
            (store / name).write_text(SECRET)
        (store / "cache").mkdir(exist_ok=True)
        (store / "cache" / "atlas_experiences.map.npz").write_text(SECRET)
        backup(memory.storage, tmp_path / "all.zip")
        plan = memory.plan_purge([leaked])
        assert [Path(name).name for name in plan.copies] == [".atlas-restore-x", "atlas.schema-2.sqlite"]
        assert plan.foreign_files == (str(store / "mine.txt"),)
        assert [made.path for made in plan.backups] == [str(tmp_path / "all.zip")]
        memory.apply_purge(plan)
        assert {*holding(store, *FORMS)} == {"mine.txt"}


def test_restoring_a_backup_says_which_purged_records_it_brings_back(store, tmp_path):
    with opened(store) as memory:
        fill(memory)
        leaked = memory.experience.store(attempt(SECRET))
        backup(memory.storage, tmp_path / "before.zip")
        purge(memory, leaked)
        backup(memory.storage, tmp_path / "after.zip")
        assert restore(memory.storage, tmp_path / "after.zip").revived == ()
        assert restore(memory.storage, tmp_path / "before.zip").revived == (leaked,)
        assert [Path(made.path).name for made in memory.plan_purge([leaked]).backups] == ["before.zip", "after.zip"]
        purge(memory, leaked)
        assert {*holding(store, *FORMS)} == set()


def test_a_plan_is_outdated_once_the_record_has_changed(store):
    with opened(store) as memory:
        leaked = memory.experience.store(attempt(SECRET))
        plan = memory.plan_purge([leaked])
        memory.experience.change_marks([leaked], note="new")
        with pytest.raises(PlanOutdated, match="has changed since it was read"):
            memory.apply_purge(plan)
        assert memory.experience.get(leaked) is not None


@pytest.mark.parametrize(
    ("given", "problem"), [(["zz"], "no record"), ([""], "got an empty string"), ([], "at least one id")]
)
def test_ids_that_say_nothing_are_refused(store, given, problem):
    with opened(store) as memory:
        fill(memory, 2)
        with pytest.raises((NotFound, InvalidInput), match=problem):
            memory.plan_purge(given)


def test_the_cache_goes_and_what_was_being_worked_out_meanwhile_is_not_kept(store):
    with opened(store) as memory:
        fill(memory, 6)
        leaked = memory.experience.store(attempt(SECRET))
        cache, name = memory.storage.path / CACHE, memory.experience.collection_name
        embedded = read_embedded(memory.storage, name)
        found = make_map(embedded, engine="pca")
        MapFile(cache, name).save(replace(found, ids=(*found.ids[:-1], SECRET)))
        assert holding(store / CACHE, SECRET.encode())
        purge(memory, leaked)
        assert holding(store, *FORMS) == {}
        with pytest.raises(
            PlanOutdated, match="re-embedded or purged during the computation, so the result was discarded"
        ):
            MapFile(cache, name).save(found)
        assert MapFile(cache, name).load() is None
        MapFile(cache, name).save(make_map(read_embedded(memory.storage, name), engine="pca"))
        assert leaked not in MapFile(cache, name).load().ids


def test_another_process_that_reads_the_store_is_named_and_the_rest_is_done_when_it_stops(store, start, monkeypatch):
    monkeypatch.setattr(database, "JOURNAL_SECONDS", 1)
    with opened(store) as memory:
        fill(memory, 3)
        leaked = memory.experience.store(attempt(SECRET))
        reader = start("read_on", store)
        assert hear(reader) == "ready"
        done = memory.apply_purge(memory.plan_purge([leaked]))
        assert done.problem.startswith("another process has been reading the store since before the purge")
        assert holding(store, *FORMS)
        finding = {finding.check: finding for finding in examine(memory.storage)}["purges"]
        assert finding.problem == "1 purge is not finished: files of the store may still contain purged data"
        tell(reader)
        assert hear(reader) == "done"
        assert {finding.check for finding in examine(memory.storage, fix=True) if finding.is_fixed} >= {"purges"}
        assert holding(store, *FORMS) == {}


def test_another_process_forgets_what_it_had_read(store, start):
    with opened(store) as memory:
        fill(memory, 8)
        leaked = memory.experience.store(attempt(SECRET))
        searcher = start("search", store, SECRET)
        assert hear(searcher) == leaked
        purge(memory, leaked)
        tell(searcher)
        assert hear(searcher) not in ("", leaked)
        assert holding(store, *FORMS) == {}


@pytest.mark.parametrize("n_steps", [0, 5, 15, 30, 45, 60, 75, 90, 105, 118, 128])
def test_a_purge_that_is_killed_is_done_whole_or_not_at_all(store, start, n_steps):
    """It takes some 132 steps; whoever opens the store next finishes what had begun."""
    with opened(store) as memory:
        fill(memory, 3)
        leaked = memory.experience.store(attempt(SECRET))
        memory.experience.change_marks([leaked], note=SECRET)
    killed = start("purge_and_die", store, leaked, n_steps)
    killed.wait(60)
    with opened(store) as memory:
        is_there = memory.experience.get(leaked) is not None
        assert bool(holding(store, *FORMS)) == is_there
        assert [finding.problem for finding in examine(memory.storage) if finding.check in ("purges", "marks")] == [
            *("", "")
        ]
        if is_there:
            assert memory.experience.marks([leaked])[leaked].note == SECRET
            purge(memory, leaked)
        assert holding(store, *FORMS) == {}
