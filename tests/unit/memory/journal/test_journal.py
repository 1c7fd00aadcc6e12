"""The journal: writing, gates, reading as Protea does, searching, links, contexts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from atlas.core.errors import InvalidInput, NotFound
from atlas.core.journal_codec import TIERS, decode_entry, encode_entry
from atlas.core.operations import Usage
from atlas.core.settings import Settings
from atlas.core.types import JournalEntry, Link
from atlas.memory.journal import Journal
from atlas.memory.journal.entry_types import EntryType, EntryTypes
from atlas.memory.journal.importance import adjust_by_feedback, importance_of, score_of
from atlas.memory.open import open_memory
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from atlas.verbs.encoding import encode
from tests.support.journals import opened, write

CRASH = "Gen 4 died after 5s. Reason: AssertionError in check_occurences"
LESSON = "The AssertionError in check_occurences, of which Gen 4 died, had an unsorted pair as its reason"


def contents(entries):
    return [entry.content for entry in entries]


# Writing and reading


def test_an_entry_comes_back_as_it_was_written(journal, clock):
    first = write(journal, "task", "User asked: count the pairs", generation=3)
    entry_id = write(
        journal,
        "crash_log",
        CRASH,
        generation=4,
        importance=0.7,
        metadata={"file": "a.py"},
        links=[("refers_to", first)],
    )
    entry = journal.get(entry_id)
    assert entry == JournalEntry(
        id=entry_id,
        entry_type="crash_log",
        content=CRASH,
        generation=4,
        created_at=clock.now(),
        importance=0.7,
        metadata={"file": "a.py"},
        links=(Link("refers_to", first),),
    )
    assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"entry_type": "dream"}, "expected one of observation, crash_log"),
        ({"content": " "}, "expected a string that is not blank for an entry's content"),
        ({"generation": "4"}, "expected a whole number for an entry's generation"),
        ({"generation": 10**400}, "for an entry's generation, got a number out of range"),
        ({"generation": -(2**53) - 1}, "for an entry's generation, got"),
        ({"importance": 1.5}, "expected a number from 0 to 1 for an importance"),
        ({"links": [("knows", "x")]}, "expected one of caused_by"),
        ({"metadata": {"n": float("nan")}}, "which JSON cannot represent"),
        ({"entry_type": ["task"]}, r"expected a string that is not blank for an entry's entry_type, got \['task'\]"),
        ({"content": None}, "expected a string that is not blank for an entry's content, got None"),
        ({"metadata": [1]}, r"expected an object such as .* for an entry's metadata, got \[1\]"),
        ({"links": "related"}, "expected links such as .*, got 'related'"),
        ({"links": ["related"]}, "pairs of a type and an id for links, got 'related'"),
        ({"links": 5}, "expected links such as .*, got 5"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_words(journal, fields, message):
    given = {"entry_type": "task", "content": "a task to do", "generation": 1, **fields}
    with pytest.raises(InvalidInput, match=message):
        journal.add(given.pop("entry_type"), given.pop("content"), **given)
    assert len(journal) == 0


def test_a_time_that_there_is_not_in_utc_is_refused_in_words(journal):
    early = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    entry = JournalEntry(entry_type="task", content="a task to do", generation=1, created_at=early)
    with pytest.raises(InvalidInput, match="years 1 to 9999 in UTC"):
        journal.add_entries([entry])


def test_a_name_in_place_of_names_is_refused_in_words(journal):
    with pytest.raises(InvalidInput, match=r"expected several names such as \['task'\] for entry_types, got 'task'"):
        journal.recent(5, "task")
    with pytest.raises(InvalidInput, match=r"expected several names such as \['hot'\] for tiers, got 'hot'"):
        journal.get_recent(5, tiers="hot")


def test_a_link_to_an_entry_that_is_not_there_is_refused(journal):
    with pytest.raises(NotFound, match="there is no journal entry 'gone'"):
        journal.add("task", "a task to do", generation=1, links=[Link("related", "gone")])


def test_the_two_queries_of_protea_are_as_they_were(journal):
    for number in range(5):
        write(journal, "task" if number % 2 else "directive", f"line number {'abcde'[number]} of the log", number)
    recent = journal.get_recent(limit=3)
    assert [row["content"] for row in recent] == [f"line number {letter} of the log" for letter in "edc"]
    assert {"id", "generation", "entry_type", "content", "metadata", "timestamp"} <= set(recent[0])
    assert recent[0]["timestamp"] == "2026-01-01 00:05:00"
    assert [row["generation"] for row in journal.get_by_type("task", limit=5)] == [3, 1]
    assert journal.get_recent(limit=0) == []


def test_of_entries_of_one_instant_the_last_added_is_the_newest(journal):
    ids = [journal.add("task", f"task {name} of one instant", generation=1) for name in ("a", "b", "c")]
    assert [row["id"] for row in journal.get_recent(limit=2)] == [ids[2], ids[1]]
    assert [row["id"] for row in journal.get_by_type("task", 1)] == [ids[2]]


def test_what_was_added_last_is_the_newest_also_where_the_clock_was_put_back(journal, clock):
    ids = []
    for days in (0, -31, 1, -2):
        clock.advance(timedelta(days=days))
        ids.append(journal.add("task", f"User asked after {days} days", generation=1))
    assert [row["id"] for row in journal.get_recent(4)] == ids[::-1]
    assert [row["id"] for row in journal.get_by_type("task", 2)] == ids[:-3:-1]
    assert journal.get(ids[-1]).created_at == clock.now()
    journal.edit(ids[1], content="User asked something else", metadata={"user": "ada"})
    assert journal.get_recent(4)[3]["id"] == ids[0]


@pytest.mark.parametrize("per_instant", [1, 7, 400])
def test_the_latest_are_those_of_all_however_many_came_since_and_however_many_are_of_one_instant(
    journal, clock, per_instant
):
    start = clock.now()
    entries = [
        JournalEntry(
            entry_type="directive" if number % 97 == 0 else "task",
            content=f"line {number}",
            generation=1,
            created_at=start + timedelta(minutes=number // per_instant),
            tier="cold" if number % 3 == 1 else "hot",
        )
        for number in range(300)
    ]
    ids = journal.add_entries(entries)
    live = [one for one in ids[::-1] if entries[ids.index(one)].tier == "hot"]
    assert [entry.id for entry in journal.recent(10)] == live[:10]
    assert [entry.id for entry in journal.recent(150)] == live[:150]
    directives = [entry.content for entry in journal.recent(4, ["directive"], tiers=TIERS)]
    assert directives == ["line 291", "line 194", "line 97", "line 0"]
    assert contents(journal.recent(1, ["directive"])) == ["line 291"]
    assert journal.recent(3, ["reflection"]) == []


def test_a_new_type_is_taken_once_it_is_registered(journal):
    journal.register_type("dream", 0.2, 7.0)
    entry = journal.get(write(journal, "dream", "electric sheep on a hill, again"))
    assert entry.importance == pytest.approx(0.2, abs=0.05)
    with pytest.raises(InvalidInput, match="expected None or a positive number for half_life_days"):
        journal.register_type("dream", 0.2, 0)


def test_a_registered_type_and_its_rule_hold_in_every_process_and_after_a_restart(journal, store, clock):
    other = opened(store, clock)
    journal.register_type("lore", 0.2, None, counts_as="reflection")
    again = opened(store, clock)
    assert again.types["lore"] == journal.types["lore"]
    write(other, "lore", "The old mill was built by hand", 1)
    clock.advance(timedelta(days=3650))
    for reader in (other, again):
        assert reader.plan_compact(keep_recent=0).kept == {"no entry of type lore is ever forgotten": 1}


def test_a_type_that_cannot_be_read_is_left_out_with_a_warning(journal, store, clock, caplog):
    journal.collection.write_note("entry_type:lore", '{"name": "lore"}')
    journal.collection.write_note("entry_type:saga", "{")
    assert "lore" not in [known.name for known in opened(store, clock).types]
    assert "'entry_type:lore' cannot be read" in caplog.text
    assert "'entry_type:saga' cannot be read" in caplog.text


def test_editing_keeps_what_is_not_named_and_finds_the_new_words(journal):
    entry_id = write(journal, "task", "count the zebras of a list", metadata={"file": "a.py"})
    before = journal.get(entry_id)
    changed = journal.edit(entry_id, content="count the giraffes of a list", importance=0.9)
    assert changed == replace(before, content="count the giraffes of a list", importance=0.9) == journal.get(entry_id)
    assert contents(journal.search_words("giraffes")) == ["count the giraffes of a list"]
    assert journal.search_words("zebras") == []


def test_words_are_found_by_a_beginning_of_the_last_one_and_quoted_ones_as_a_phrase(journal):
    write(journal, "task", "the heartbeat of the json parser was lost", 1)
    write(journal, "task", "a parser of old letters that reads json", 2)
    assert contents(journal.search_words("heart")) == ["the heartbeat of the json parser was lost"]
    assert contents(journal.search_words('"json parser"')) == ["the heartbeat of the json parser was lost"]
    assert len(journal.search_words("json parser")) == 2


def test_a_plain_store_keeps_and_finds_entries_and_has_no_gates():
    journal = Journal(HashEmbedder(), MemoryVectorStore(), clock=FixedClock())
    ids = [journal.add("observation", "ok", generation=1) for _ in range(2)]
    assert len(set(ids)) == len(journal) == 2
    assert contents(journal.search("ok", 1)) == ["ok"]
    assert journal.rejected().n_total == 0


# Importance and gates


def test_importance_follows_from_type_and_content():
    types = EntryTypes()
    order = ["directive", "crash_log", "reflection", "task", "observation"]
    values = [importance_of(types[name], "it was so and so") for name in order]
    assert values == sorted(values, reverse=True)
    assert importance_of(types["task"], "Result: not solved") > importance_of(types["task"], "Result: a success!")


def test_an_observation_of_a_high_score_is_more_important_and_no_other_type_is():
    types = EntryTypes()
    types.register(EntryType(name="trial", importance=0.3, half_life_days=9.0, counts_as="observation"))
    for kind in (types["observation"], types["trial"]):
        low, unknown, high = [importance_of(kind, "it was so", held) for held in ({"score": 0.1}, {}, {"score": 0.95})]
        assert low < unknown < high
        assert importance_of(kind, "it was so. Score: 0.95") > importance_of(kind, "it was so. Score: 0.10")
        assert importance_of(kind, "it was so", {"score": 90}) <= 1
    assert importance_of(types["crash_log"], "Score: 0.1") == importance_of(types["crash_log"], "Score: 0.9")


@pytest.mark.parametrize(
    ("content", "metadata", "score"),
    [
        ("Output: ok. Score: 0.95. Next", {}, 0.95),
        ("score=95%", {}, 0.95),
        ("first Score: 0.1, at last Score: 19/20", {}, 0.95),
        ("Score: 0.10", {"score": 0.95}, 0.95),
        ("", {"score": "0.95"}, 0.95),
        ("Score: 0.95", {"score": None}, 0.95),
        ("Score: 0.95", {"score": -3}, 0.95),
        ("", {"score": 87}, 87.0),
        ("Score: n/a", {}, None),
        ("Score: 1/0", {}, None),
        ("Score: 1.2.3", {}, None),
        ("Score: 1e999", {}, None),
        ("high_score: 3, def score(x): return 5", {}, None),
        ("", {"score": True}, None),
        ("", {"score": 101}, None),
        ("", {"score": 10**400}, None),
        ("", {"score": float("nan")}, None),
        ("", {"score": [0.5]}, None),
        ("score: " + "1" * 100_000 + "x", {}, None),
    ],
)
def test_a_score_is_read_where_there_is_one_and_an_odd_one_is_none(content, metadata, score):
    assert score_of(content, metadata) == score


def test_importance_follows_from_feedback():
    assert adjust_by_feedback(0.5, Usage()) == 0.5
    assert adjust_by_feedback(0.5, Usage(n_uses=3, n_successes=3)) == pytest.approx(0.65)
    assert adjust_by_feedback(0.5, Usage(n_uses=3, n_successes=0)) == pytest.approx(0.35)


def test_noise_is_kept_out_and_shown_with_its_reason(journal):
    assert journal.add("observation", "ok ok.", generation=7) is None
    assert len(journal) == 0
    refused = journal.rejected()
    assert (refused.n_total, refused.by_gate) == (1, {"noise": 1})
    assert (refused.latest[0].content, refused.latest[0].generation) == ("ok ok.", 7)
    assert "needs 3" in refused.latest[0].refusal.reason


def test_a_repetition_is_kept_out_and_names_what_it_repeats(journal):
    first = write(journal, "observation", "Gen 1 survived 225s. Output: volume_cube passed its tests", 1)
    assert journal.add("observation", "Gen 2 survived 9s. Output: volume_cube passed its tests", generation=2) is None
    write(journal, "observation", "Gen 3 survived 9s. Output: another_function failed on strings", 3)
    write(journal, "reflection", "Gen 1 survived 225s. Output: volume_cube passed its tests", 1)
    [refused] = journal.rejected().latest
    assert (refused.refusal.gate, refused.refusal.like_id) == ("near-duplicate", first)


@pytest.mark.parametrize(
    ("entry_type", "first", "second"),
    [
        ("crash_log", "HTTP error 404 from server", "HTTP error 500 from server"),
        ("reflection", "Use the parser instead of the regex", "Use the regex instead of the parser"),
        (
            "observation",
            "Gen 6 survived 300s. Code: 200 bytes. Score: 0.10. Output: tests passed",
            "Gen 7 survived 310s. Code: 900 bytes. Score: 0.95. Output: tests passed",
        ),
        ("observation", "Gen 8 survived 20s. Output: answered 42", "Gen 9 survived 20s. Output: answered 17"),
        (
            "reflection",
            "Set the timeout of the client that asks the slow server for its pages in the night to 5 s",
            "Set the timeout of the client that asks the slow server for its pages in the night to 60 s",
        ),
        (
            "reflection",
            "An agent that waits for the slow server should retry its request a few times with longer pauses",
            "An agent that waits for the slow server should never retry its request a few times with longer pauses",
        ),
    ],
)
def test_the_same_words_that_say_something_else_are_no_repetition(journal, entry_type, first, second):
    for content in (first, second):
        write(journal, entry_type, content)
    assert journal.add(entry_type, f"{second}!", generation=1) is None


def test_the_same_text_with_another_score_is_no_repetition(journal):
    for score in (0.1, 0.95):
        write(journal, "observation", "Gen 1 survived. Output: all passed", metadata={"score": score})
    assert (
        journal.add("observation", "Gen 2 survived. Output: all passed", generation=2, metadata={"score": 0.95}) is None
    )


def test_what_a_person_said_is_never_kept_out(journal):
    for generation in (1, 2):
        write(journal, "directive", "be brief", generation)
    assert (len(journal), journal.rejected().n_total) == (2, 0)


def test_both_gates_can_be_switched_off(store, clock):
    journal = opened(store, clock, keep_noise=True, keep_repetitions=True)
    assert journal.add("observation", "ok", generation=1)
    assert journal.add("observation", "ok", generation=1)
    assert (len(journal), journal.rejected().n_total) == (2, 0)


def test_both_gates_can_be_switched_off_by_settings(tmp_path):
    settings = Settings.from_environment({"ATLAS_KEEP_NOISE": "1", "ATLAS_KEEP_REPETITIONS": "1"})
    with open_memory(tmp_path / "store", settings=settings, embedder=HashEmbedder()) as memory:
        assert [memory.journal.add("observation", "ok", generation=1) for _ in range(2)].count(None) == 0


def test_a_gate_that_is_switched_is_so_for_every_process_and_after_a_restart(journal, store, clock):
    other = opened(store, clock)
    assert [(gate.name, gate.is_on, gate.source) for gate in journal.gates()] == [
        ("noise", True, "default"),
        ("near-duplicate", True, "default"),
    ]
    journal.switch_gate("noise", False)
    assert other.add("observation", "ok", generation=1)
    assert other.add("observation", "ok", generation=1) is None, "it repeats the other one"
    assert [(gate.is_on, gate.source) for gate in opened(store, clock).gates()] == [
        (False, "store"),
        (True, "default"),
    ]
    other.switch_gate("noise", True)
    assert journal.add("observation", "so", generation=1) is None
    assert [gate.source for gate in journal.gates()] == ["store", "default"]
    with pytest.raises(InvalidInput, match="expected one of noise, near-duplicate for a gate, got 'quality'"):
        journal.switch_gate("quality", True)


@pytest.mark.parametrize("keeps", [True, False])
def test_what_a_journal_was_opened_with_goes_before_what_the_store_says(journal, store, clock, keeps):
    journal.switch_gate("noise", keeps)
    told = opened(store, clock, keep_noise=keeps)
    assert (told.gates()[0].is_on, told.gates()[0].source) == (not keeps, "caller")
    assert (told.add("observation", "ok", generation=1) is not None) == keeps
    assert (told.as_operation("store").add("observation", "so", generation=1) is not None) == keeps
    told.keep_noise = None
    assert (told.gates()[0].is_on, told.gates()[0].source) == (keeps, "store")


def test_settings_switch_a_gate_on_as_well(tmp_path):
    with open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        memory.journal.switch_gate("noise", False)
    settings = Settings.from_environment({"ATLAS_KEEP_NOISE": "0"})
    with open_memory(tmp_path / "store", settings=settings, embedder=HashEmbedder()) as memory:
        assert memory.journal.add("observation", "ok", generation=1) is None


def test_without_a_place_for_refusals_both_gates_are_off():
    gates = Journal(HashEmbedder(), MemoryVectorStore(), keep_noise=False).gates()
    assert [(gate.is_on, gate.source) for gate in gates] == [(False, "no store")] * 2


@pytest.mark.parametrize(
    ("content", "is_kept_out"),
    [("0 1 2 3", True), ("w0 w1 w2 w3", False), ("ok…", True), ("déjà vu", True), ("心跳丢失", False)],
)
def test_a_character_beyond_ascii_is_no_way_past_the_gate(journal, content, is_kept_out):
    assert (journal.add("observation", content, generation=1) is None) == is_kept_out


def test_what_was_kept_out_can_be_let_in(journal):
    journal.add("observation", "ok ok.", generation=7, metadata={"file": "a.py"})
    [refused] = journal.rejected().latest
    accepted = journal.get(journal.accept(refused.id))
    assert (accepted.content, accepted.generation, accepted.metadata) == ("ok ok.", 7, {"file": "a.py"})
    assert journal.rejected().n_total == 0
    with pytest.raises(NotFound, match="there is no refused entry"):
        journal.accept(refused.id)


@pytest.mark.parametrize("is_scoped", [True, False])
def test_letting_one_in_is_one_operation_that_undo_takes_back_whole(journal, store, is_scoped):
    journal.add("observation", "ok ok.", generation=7)
    before, n_before = journal.rejected(), store.count_operations()
    accepted = (journal.as_operation("store", "by hand") if is_scoped else journal).accept(before.latest[0].id)
    assert store.count_operations() == n_before + 1
    undone = store.undo(store.ledger.history.operations(1, 0)[0].id)
    assert (len(journal), journal.rejected()) == (0, before)
    store.undo(undone.id)
    assert (journal.get(accepted).content, journal.rejected().n_total) == ("ok ok.", 0)


# Links


def chain(journal):
    """A crash, the reflection on it, and a task that the reflection came from."""
    task = write(journal, "task", "User asked: count the occurrences of pairs", 3)
    crash = write(journal, "crash_log", CRASH, 4, links=[("caused_by", task)])
    lesson = write(journal, "reflection", LESSON, 5)
    journal.link(crash, lesson, "fixed_by")
    return task, crash, lesson


def test_links_are_followed_both_ways_and_only_so_far(journal):
    task, crash, lesson = chain(journal)
    near, far = journal.linked(lesson), journal.linked(lesson, depth=2)
    assert [entry.id for entry in near.entries] == [crash]
    assert [entry.id for entry in far.entries] == [crash, task]
    assert far.depths == {lesson: 0, crash: 1, task: 2}
    assert {(edge.source_id, edge.type, edge.target_id) for edge in far.edges} == {
        (crash, "fixed_by", lesson),
        (crash, "caused_by", task),
    }


def test_links_among_the_farthest_that_are_reached_are_told_too(journal):
    first, second, third, beyond = [write(journal, "task", f"a task {name} to do") for name in ("a", "b", "c", "d")]
    for source, target in ((first, second), (first, third), (second, third), (third, beyond)):
        journal.link(source, target)
    edges = {(edge.source_id, edge.target_id) for edge in journal.linked(first).edges}
    assert edges == {(first, second), (first, third), (second, third)}


def test_a_link_to_what_was_deleted_is_left_out(journal):
    task, crash, _ = chain(journal)
    journal.delete([task])
    assert [edge.type for edge in journal.linked(crash).edges] == ["fixed_by"]


def test_links_survive_reopening_and_can_be_undone(journal, store, clock):
    _, crash, lesson = chain(journal)
    again = opened(store, clock)
    assert Link("fixed_by", lesson) in again.get(crash).links
    again.unlink(crash, lesson)
    assert again.get(crash).links[0].type == "caused_by"
    store.undo(store.history(1)[0].id)
    assert Link("fixed_by", lesson) in again.get(crash).links


def test_linking_twice_changes_nothing_and_itself_is_refused(journal, store):
    _, crash, lesson = chain(journal)
    n_before = store.count_operations()
    journal.link(crash, lesson, "fixed_by")
    assert store.count_operations() == n_before
    with pytest.raises(InvalidInput, match="got the source"):
        journal.link(crash, crash)
    with pytest.raises(InvalidInput, match="for the type of a link, got"):
        journal.link(crash, lesson, "knows")


def test_a_later_reflection_about_a_crash_is_suggested_and_accepted(journal):
    crash = write(journal, "crash_log", CRASH, 4)
    lesson = write(journal, "reflection", LESSON, 5)
    write(journal, "reflection", "boats are sailing over quiet lakes at night", 6)
    [suggestion] = journal.suggest_links()
    assert (suggestion.source_id, suggestion.type, suggestion.target_id) == (crash, "fixed_by", lesson)
    assert "1 generation later" in encode(suggestion)["reason"]
    journal.accept_link(suggestion)
    assert journal.get(crash).links == (Link("fixed_by", lesson),)
    assert journal.suggest_links() == []


def test_an_earlier_reflection_and_a_refused_one_are_not_suggested(journal):
    write(journal, "reflection", LESSON, 3)
    write(journal, "crash_log", CRASH, 4)
    assert journal.suggest_links() == []
    later = write(journal, "reflection", f"{LESSON} after all, said the check", 5)
    [suggestion] = journal.suggest_links()
    assert suggestion.target_id == later
    journal.refuse_link(suggestion)
    assert journal.suggest_links() == []


def test_what_the_journal_noted_of_an_entry_survives_other_metadata_and_is_nobody_elses_to_write(journal):
    crash = write(journal, "crash_log", CRASH, 4)
    write(journal, "reflection", LESSON, 5)
    journal.refuse_link(journal.suggest_links()[0])
    journal.note_promotion([crash], "experience:1")
    noted = journal.get(crash).metadata
    assert journal.edit(crash, metadata={"note": "x"}).metadata == {"note": "x", **noted}
    assert journal.suggest_links() == []
    assert journal.edit(crash, metadata=noted).metadata == noted
    with pytest.raises(InvalidInput, match="should not contain the key 'promoted_to'"):
        journal.edit(crash, metadata={"promoted_to": []})
    with pytest.raises(InvalidInput, match="should not contain the key 'refused_links'"):
        journal.add("task", "a task to do", generation=1, metadata={"refused_links": "none"})


def test_a_crash_whose_fix_was_deleted_is_open_again(journal):
    crash = write(journal, "crash_log", CRASH, 4)
    first = write(journal, "reflection", LESSON, 5)
    second = write(journal, "reflection", f"{LESSON} after all, said the check", 6)
    journal.link(crash, first, "fixed_by")
    assert journal.suggest_links() == []
    journal.delete([first])
    assert [suggestion.target_id for suggestion in journal.suggest_links()] == [second]


# Contexts


def test_a_context_holds_to_its_limit_and_budget(journal):
    for generation in range(1, 21):
        write(journal, "task", f"User asked: do thing {'x' * generation}", generation)
    assert len(journal.context_for_evolution(limit=4)) == 4
    small = journal.context_for_evolution(limit=None, token_budget=40)
    large = journal.context_for_evolution(limit=None, token_budget=120)
    assert 0 < len(small) < len(large)
    assert sum(-(-len(entry.content) // 4) for entry in small) <= 40
    assert len(journal.context_for_evolution()) == 10
    assert len(journal.context_for_evolution(token_budget=10_000)) == 20
    assert len(journal.context_for_task("do thing", token_budget=10_000)) == 20
    assert len(journal.context_for_evolution(limit=3, token_budget=10_000)) == 3
    with pytest.raises(InvalidInput, match="expected 0 or more for token_budget"):
        journal.context_for_evolution(token_budget=-1)
