"""The story of the sample data: one night shift, told by all memories, that leads from a crash to a strategy."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import atlas
from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy, decode_line
from atlas.core.settings import Settings
from atlas.core.types import JournalEntry
from atlas.importers.corpora.registry import find_corpora
from atlas.importers.sample import load_sample
from atlas.memory.effects.strategy_effects import strategy_effect
from atlas.memory.strategy_sources import stored_attempts
from atlas.testing import HashEmbedder
from tests.support.repository import REPOSITORY

SAMPLE = REPOSITORY / "sample_data"
BATCHES = "Work in batches and keep a checkpoint"
RETRY = "Run a failed job up to three times"
MEMORY = "Give a job that is killed twice the memory"


@pytest.fixture(scope="module")
def memory(tmp_path_factory) -> Iterator[atlas.MemorySystem]:
    """A store with the sample data."""
    store = tmp_path_factory.mktemp("store")
    with atlas.open_memory(store, embedder=HashEmbedder(16), settings=Settings()) as opened:
        load_sample(opened, SAMPLE, Settings())
        yield opened


def lines(name: str) -> list[object]:
    """The records of one file of the story."""
    text = (SAMPLE / "story" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [decode_line(json.loads(line)) for line in text.splitlines()]


def strategy(memory: atlas.MemorySystem, title: str) -> atlas.Strategy:
    """The strategy of a title."""
    [found] = memory.strategies.ids({"title": title})
    return memory.strategies.get_many([found])[0]


def test_a_crash_leads_to_its_fix_to_the_experience_and_to_the_strategy(memory):
    [crash] = memory.journal.get_many(memory.journal.ids({"entry_type": "crash_log", "meta.promoted_to": {"$gt": ""}}))
    fixes = [link.target_id for link in crash.links if link.type == "fixed_by"]
    [promoted] = crash.metadata["promoted_to"]
    experience = memory.experience.get(promoted.removeprefix("experience:"))
    assert memory.journal.get_many(fixes)[0].metadata["promoted_to"] == [promoted]
    assert experience is not None
    assert experience.metadata["promoted_from"] == [crash.id, *fixes]
    assert experience.trajectory_id in strategy(memory, BATCHES).sources


def test_one_strategy_helps_one_hurts_and_one_is_retired(memory):
    verdicts = {
        title: strategy_effect(memory.strategies, memory.experience, strategy(memory, title).id).verdict
        for title in (BATCHES, RETRY)
    }
    assert verdicts == {BATCHES: "helps", RETRY: "hurts"}
    assert memory.strategies.retired() == {strategy(memory, MEMORY).id: "by hand"}


def test_all_that_strategies_come_from_is_remembered(memory):
    sources = [source for one in memory.strategies.get_many(memory.strategies.ids()) for source in one.sources]
    assert set(stored_attempts(memory.experience, sources)) == set(sources)
    assert len(sources) >= 7


def test_the_journal_spans_twelve_generations_in_two_tiers_and_every_link_has_its_end(memory):
    entries = memory.journal.get_many(memory.journal.ids())
    ids = {entry.id for entry in entries}
    assert {entry.generation for entry in entries} == set(range(1, 13))
    assert {entry.tier for entry in entries} == {"hot", "warm"}
    assert {link.target_id for entry in entries for link in entry.links} <= ids
    assert {link.type for entry in entries for link in entry.links} == {
        "fixed_by",
        "caused_by",
        "refers_to",
        "related",
    }
    assert memory.conversations.names() == {"Kjell and tern": 5}


def test_what_an_attempt_says_that_it_used_is_what_is_recorded_of_those_memories():
    recorded = {
        (use.trajectory_id, item_id)
        for item_id, uses in itertools.chain(
            ((one.strategy.id, one.uses) for one in lines("strategies") if isinstance(one, ExportedStrategy)),
            ((one.concept.id, one.uses) for one in lines("concepts") if isinstance(one, ExportedConcept)),
            ((one.experience.id, one.uses) for one in lines("attempts") if isinstance(one, ExportedExperience)),
        )
        for use in uses
    }
    stated = {
        (one.experience.trajectory_id, item_id)
        for one in lines("attempts")
        if isinstance(one, ExportedExperience) and one.experience.outcome.success is not None
        for ids in one.experience.metadata.get("used", {}).values()
        for item_id in ids
    }
    assert recorded == stated


def test_nothing_is_used_before_it_was_written(memory):
    made_at = {
        record_id: at
        for records in (memory.experience, memory.strategies, memory.concepts)
        for record_id, at in records.column("created_at").items()
    }
    for one in memory.experience.get_many(memory.experience.ids({"source": "sample/night-shift"})):
        for ids in one.metadata["used"].values():
            assert all(made_at[used] < made_at[one.id] for used in ids), one.task.description


def test_what_a_concept_shows_as_examples_is_what_its_code_gives():
    concepts = [one.concept for one in lines("concepts") if isinstance(one, ExportedConcept)]
    names: dict[str, object] = {}
    for one in concepts:
        exec(one.code, names)
    for one in concepts:
        for call, result in one.examples:
            assert eval(call, names) == eval(result), call


def test_no_two_entries_of_the_journal_say_the_same():
    texts = [one.content for one in lines("journal") if isinstance(one, JournalEntry)]
    assert len(set(texts)) == len(texts) >= 50


def test_the_story_is_no_part_of_what_searches_are_measured_on():
    [corpus] = find_corpora([SAMPLE], Settings())
    assert len(corpus.trajectories) == sum(len(path.read_text().splitlines()) for path in SAMPLE.glob("*.jsonl"))


def test_loading_twice_gives_two_stores_the_same_records(memory, tmp_path):
    with atlas.open_memory(Path(tmp_path), embedder=HashEmbedder(16), settings=Settings()) as other:
        load_sample(other, SAMPLE, Settings())
        for name in ("strategies", "concepts", "journal", "conversations"):
            assert getattr(other, name).column("created_at") == getattr(memory, name).column("created_at")
