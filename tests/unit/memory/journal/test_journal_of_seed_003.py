"""Each problem that the analysis of Protea's memory names (§7), and each of its proposals (§8), by its name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from atlas.core.types import JournalEntry
from atlas.memory.journal.contexts import N_RANKED
from atlas.testing import ScriptedLLM
from tests.support.journals import write

# §7 Core problems


def test_no_semantic_retrieval_an_early_entry_is_found_by_what_it_says_among_hundreds_of_later_ones(journal):
    early = write(journal, "reflection", "The heartbeat is lost when the socket blocks the loop", 1)
    for generation in range(2, 120):
        write(journal, "task", f"User asked: draw picture {chr(97 + generation % 26)} of item {generation}", generation)
    assert early not in [row["id"] for row in journal.get_recent(limit=3)]
    assert journal.search("why does the heartbeat get lost?", 1)[0].id == early


def test_no_importance_weighting_three_observations_do_not_crowd_out_what_matters(journal):
    directive = write(journal, "directive", "Prefer plain loops over clever tricks", 1)
    crash = write(journal, "crash_log", "Gen 2 died after 5s: ImportError in heartbeat", 2)
    for generation, name in enumerate(("apple", "pear", "plum"), 3):
        write(journal, "observation", f"Gen {generation} survived. Output: {name} passed", generation)
    assert {row["entry_type"] for row in journal.get_recent(limit=3)} == {"observation"}
    assert [entry.id for entry in journal.context_for_evolution(limit=2)] == [directive, crash]


def test_no_cross_generation_linking_a_crash_and_the_later_reflection_that_solved_it_hang_together(journal):
    crash = write(journal, "crash_log", "Gen 50 died: ImportError in the heartbeat module", 50)
    solved = write(journal, "reflection", "The ImportError is gone since the heartbeat module imports lazily", 55)
    journal.link(crash, solved, "fixed_by")
    assert [entry.generation for entry in journal.linked(crash).entries] == [55]
    assert [entry.generation for entry in journal.linked(solved).entries] == [50]


def test_metadata_field_unused_it_is_kept_and_filtered_by(journal):
    write(journal, "task", "User asked: scrape a page", metadata={"user": "ada", "tags": ["web", "html"]})
    write(journal, "task", "User asked: sort a list", metadata={"user": "bob", "seconds": 3.5})
    found = journal.search("User asked", where={"meta.user": "ada"})
    assert [entry.metadata["user"] for entry in found] == ["ada"]
    assert journal.values("meta.user") == {"ada": 1, "bob": 1}
    assert journal.count({"meta.tags": "html"}) == journal.count({"meta.seconds": {"$gt": 3}}) == 1


# §8 Improvement proposals


def test_p0_tiered_retrieval_takes_so_many_of_each_type_and_fills_up_by_value(journal, clock):
    for generation in range(1, 9):
        word = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen")[generation - 1]
        write(journal, "observation", f"{word} survived and passed the {word} tests", generation)
        write(journal, "reflection", f"{word} fails as {word} is never closed", generation)
        write(journal, "crash_log", f"{word} died of a {word} error today", generation)
        write(journal, "task", f"User asked: write {word} in python", generation)
        write(journal, "directive", f"look after the {word}", generation)
    types = [entry.entry_type for entry in journal.context_for_evolution(limit=10)]
    assert types == ["directive"] + ["crash_log"] * 2 + ["reflection"] * 3 + ["observation"] * 2 + ["task"] * 2
    assert journal.context_for_evolution(limit=10)[1].generation == 8
    assert [entry.entry_type for entry in journal.context_for_task_generation(8)] == ["task"] * 8
    assert journal.context_for_task("write fox in python", 3)[0].entry_type == "directive"
    assert any("fox" in entry.content for entry in journal.context_for_task("write fox in python", 10))


@pytest.mark.parametrize("is_in_metadata", [True, False])
def test_p0_tiered_retrieval_takes_the_observations_of_a_high_score_however_long_ago(journal, clock, is_in_metadata):
    scores = {"ant": 0.99, "bee": 0.1, "cat": 0.98, "dog": None}
    entries = [
        JournalEntry(
            entry_type="observation",
            content=f"{word} survived." + (f" Score: {score}" if score and not is_in_metadata else ""),
            generation=1,
            created_at=clock.now() + timedelta(minutes=position),
            importance=0.3,
            metadata={"score": score} if is_in_metadata else {},
        )
        for position, (word, score) in enumerate([*scores.items(), *[("elk", 0.1)] * (2 * N_RANKED)])
    ]
    journal.add_entries(entries)
    told = journal.context_for_evolution(limit=4)
    assert [entry.content.split()[0] for entry in told[:2]] == ["ant", "cat"]
    journal.change_marks([told[0].id], buried=True)
    told = journal.context_for_evolution(limit=2)
    assert [entry.content.split()[0] for entry in told] == ["cat", "dog"]


def test_p0_tiered_retrieval_a_type_with_too_few_leaves_its_place_to_what_is_of_most_value(journal):
    write(journal, "observation", "the tests passed quickly", 1)
    for word in ("ant", "bee", "cat", "dog", "elk"):
        write(journal, "crash_log", f"{word} died of a {word} error", 2)
    types = [entry.entry_type for entry in journal.context_for_evolution(limit=5)]
    assert types.count("crash_log") == 4


def test_p0_a_type_that_counts_as_another_takes_its_place(journal):
    write(journal, "reflection_finding", "the loop is closed too late because of a wrong index", 1)
    assert journal.context_for_evolution(limit=1)[0].entry_type == "reflection_finding"


def test_p2_keyword_search_takes_any_input_literally(journal):
    write(journal, "directive", "关注边界情况,空列表、负数和重复元素", 1)
    write(journal, "reflection", "The parser failed on C++ templates AND quotes", 2)
    assert journal.search_words("边界情况")[0].generation == 1
    assert journal.search_words('templates" AND (NEAR')[0].generation == 2
    assert journal.search_words('"*^') == []


def test_p1_memory_summarization_a_model_condenses_each_fifty_generations_into_one_entry(journal, clock):
    for generation in range(41, 61):
        letter = chr(56 + generation)
        write(
            journal, "crash_log", f"Import of {letter * 4} failed and the heartbeat {letter * 3} was lost", generation
        )
    clock.advance(timedelta(days=700))
    said = [{"points": [{"text": text, "entries": ["1"]}]} for text in ("Imports failed.", "The heartbeat was lost.")]
    journal.llm = ScriptedLLM(said)
    journal.compact(keep_recent=0)
    later, earlier = (entry.content.splitlines() for entry in journal.recent(10))
    assert earlier == ["Generations 41 to 50, 10 entries of type crash_log:", "- Imports failed."]
    assert later == ["Generations 51 to 60, 10 entries of type crash_log:", "- The heartbeat was lost."]


def test_p2_forgetting_and_decay_keeps_the_latest_so_many_of_a_type_and_every_directive(journal, clock):
    for generation in range(1, 31):
        letter = chr(96 + generation % 26 + 1)
        for entry_type in ("directive", "task", "observation", "crash_log"):
            write(
                journal, entry_type, f"{entry_type} {letter * 3} with {letter * 4} in {letter * generation}", generation
            )
    clock.advance(timedelta(days=3650))
    journal.compact(keep_recent=20, keep_types={"task": 30})
    tiers = {name: journal.values("tier", {"entry_type": name}) for name in ("directive", "task", "observation")}
    assert tiers["directive"] == tiers["task"] == {"hot": 30}
    assert tiers["observation"] == {"cold": 25, "hot": 5}
    assert journal.values("entry_type")["summary"] == 2


@pytest.mark.parametrize(
    ("query", "generation"),
    [("空列表", 1), ("列", 1), ("負の数", 2), ("リスト", 2), ("心跳丢失", 3), ("heartbeat心跳", 3)],
)
def test_p2_keyword_search_finds_chinese_and_japanese(journal, query, generation):
    write(journal, "directive", "关注边界情况,空列表、负数和重复元素", 1)
    write(journal, "reflection", "リストが空のとき、または負の数のときに失敗する", 2)
    write(journal, "crash_log", "第三代崩溃:heartbeat心跳丢失", 3)
    assert journal.search_words(query)[0].generation == generation
    assert journal.search(query, 1)[0].generation == generation


def test_p3_semantic_search_shows_every_signal_and_knows_what_the_entry_was_about(journal, clock):
    write(journal, "task", "User asked: find adverbs in a sentence", 19)
    crash = write(journal, "crash_log", "Gen 19 died after 36s: AssertionError in line 3", 19)
    other = write(journal, "crash_log", "Gen 20 died after 36s: TypeError of line 8", 20)
    hits = {hit.item.id: hit for hit in journal.search_hits("adverbs in a sentence", 3)}
    assert {"meaning", "words", "recency", "importance"} <= set(hits[crash].signals)
    assert hits[crash].words > 0.2 > hits[other].words == 0
    assert hits[crash].signals["importance"] > 0


def test_a_generation_is_not_forgotten_by_the_clock_alone(journal, clock):
    written = write(journal, "directive", "stay polite with users", 1)
    clock.advance(timedelta(days=3650))
    assert journal.context_for_evolution(limit=1)[0].id == written


def test_no_summarization_or_compression_old_entries_become_one_that_says_most_of_them(journal, clock):
    for generation in range(1, 21):
        word = chr(96 + generation)
        write(journal, "observation", f"Heartbeat {word * 3} was lost. The import of {word * 4} failed", generation)
    clock.advance(timedelta(days=365))
    journal.compact(keep_recent=0)
    [entry] = journal.context_for_evolution(limit=10)
    assert entry.entry_type == "summary"
    assert len(entry.links) == 20
    assert "Heartbeat" in entry.content or "import" in entry.content


def test_no_forgetting_what_goes_into_prompts_stops_growing(journal, clock):
    for generation in range(1, 41):
        word = chr(96 + generation % 26 + 1)
        write(journal, "observation", f"{word * 2} and {word * 3} and {word * 4} passed {'x' * generation}", generation)
        clock.advance(timedelta(days=10))
    plan = journal.compact(keep_recent=10)
    live = journal.count({"tier": {"$in": ["hot", "warm"]}})
    assert live < 20
    assert plan.kept["it is among the latest 10"] == 10
    assert len(journal) == 40 + len(plan.summaries)
