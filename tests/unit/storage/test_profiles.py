"""Weights under names: kept with care, seen by every process at once, and no search fails for a damaged one."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import PlanOutdated
from atlas.core.settings import RankingWeights, Settings
from atlas.storage.maintenance.backup import backup, restore
from atlas.storage.profiles import BUILT_IN, DEFAULT, MAX_NAME
from atlas.testing import HashEmbedder
from atlas.views.experience.profiles import profile_problems

WORDY = RankingWeights(words=0.8, meaning=0.2)


def opened(path, **options):
    return atlas.open_memory(path, embedder=HashEmbedder(), settings=Settings(**options))


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path / "store") as made:
        yield made


@pytest.fixture
def profiles(memory):
    return memory.storage.profiles


def write_row(memory, name, value):
    with closing(sqlite3.connect(memory.storage.path / "atlas.sqlite")) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def attempt(text, success=True):
    return atlas.Trajectory(task=atlas.Task(text, "", text), steps=(), outcome=atlas.Outcome(success))


def test_a_new_store_has_the_built_in_profile_and_uses_it(profiles):
    assert profiles.all() == (BUILT_IN,)
    assert profiles.in_use() == BUILT_IN
    assert profiles.weights() == RankingWeights()


def test_taking_back_a_change_leaves_alone_what_others_have_done_since(profiles, memory):
    saved = profiles.save("wordy", WORDY)
    with opened(memory.storage.path) as other:
        other.storage.profiles.save("wordy", RankingWeights())
    with pytest.raises(PlanOutdated, match="the profile has changed since"):
        profiles.restore(saved)
    assert profiles.get("wordy").weights == RankingWeights()


def test_a_saved_profile_is_there_again_and_saving_replaces_it(profiles, memory):
    profiles.save("wordy", RankingWeights())
    profiles.save("wordy", WORDY)
    assert [profile.name for profile in profiles.all()] == [DEFAULT, "wordy"]
    with opened(memory.storage.path) as other:
        assert other.storage.profiles.get("wordy").weights == WORDY


def test_what_is_used_holds_for_searches_at_once_and_can_be_taken_back(memory, profiles):
    memory.experience.store_many([attempt("rotate the red grid", success=False), attempt("rotate the blue grid")])
    first = lambda: memory.experience.search_hits("rotate the red grid", 1)[0].item.task.description  # noqa: E731
    assert first() == "rotate the red grid"
    profiles.save("eager", RankingWeights(success=1))
    earlier = profiles.use("eager")
    assert first() == "rotate the blue grid"
    later = profiles.restore(earlier)
    assert (first(), profiles.in_use()) == ("rotate the red grid", BUILT_IN)
    profiles.restore(later)
    assert profiles.in_use().name == "eager"


def test_another_process_changes_what_this_one_ranks_with(memory, profiles):
    profiles.save("wordy", WORDY)
    path = str(memory.storage.path)
    command = [sys.executable, "-m", "atlas", "--store", path, "profiles", "use", "wordy"]
    assert memory.experience.weights == RankingWeights()
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said == "Searches use wordy; before it was default.\n"
    assert memory.experience.weights == WORDY
    assert memory.experience.as_operation("store").weights == WORDY


def test_weights_that_were_given_in_code_win_over_the_profile(memory, profiles):
    profiles.save("wordy", WORDY)
    profiles.use("wordy")
    given = RankingWeights(pin=0.5)
    with opened(memory.storage.path, ranking=given) as other:
        assert other.experience.weights == given


def test_processes_that_save_at_once_lose_nothing(memory, profiles):
    path = str(memory.storage.path)
    program = "import sys; from atlas.cli import main; [main([*sys.argv[1:], f'{sys.argv[-1]} {n}']) for n in range(5)]"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program.replace("*sys.argv[1:]", "*sys.argv[1:-1]"), "--store", path, "profiles",
             "save", str(worker)],
            stdout=subprocess.DEVNULL,
        )
        for worker in range(2)
    ]  # fmt: skip
    assert [worker.wait() for worker in workers] == [0, 0]
    assert {profile.name for profile in profiles.all()} == {DEFAULT, *(f"{w} {n}" for w in range(2) for n in range(5))}


def test_the_profile_in_use_that_is_deleted_gives_way_to_the_built_in_one_and_comes_back(profiles):
    profiles.save("wordy", WORDY)
    profiles.use("wordy")
    earlier = profiles.delete("wordy")
    assert (profiles.in_use(), profiles.all()) == (BUILT_IN, (BUILT_IN,))
    profiles.restore(earlier)
    assert (profiles.in_use().name, profiles.weights()) == ("wordy", WORDY)


def test_another_profile_that_is_deleted_leaves_the_one_in_use(profiles):
    profiles.save("wordy", WORDY)
    profiles.save("other", WORDY)
    profiles.use("wordy")
    profiles.delete("other")
    assert profiles.in_use().name == "wordy"


@pytest.mark.parametrize("act", ["use", "delete", "get"])
def test_what_is_not_there_is_named(profiles, act):
    with pytest.raises(atlas.NotFound, match="there is no profile 'nope'; see: atlas profiles"):
        getattr(profiles, act)("nope")


def test_the_built_in_profile_stays_as_it_is(profiles):
    with pytest.raises(atlas.InvalidInput, match="built in and cannot be deleted"):
        profiles.delete(DEFAULT)
    for name in (DEFAULT, " Default "):
        with pytest.raises(atlas.InvalidInput, match="is the built-in profile"):
            profiles.save(name, WORDY)
    profiles.save("wordy", WORDY)
    profiles.use("wordy")
    profiles.use(DEFAULT)
    assert profiles.in_use() == BUILT_IN


@pytest.mark.parametrize(
    "name",
    [
        "Müller 🚀 检索",
        "x" * MAX_NAME,
        "'; DROP TABLE meta; --",
        "<b>bold</b> **bold** [link](https://example.invalid)",
        "profile:in_use",
        "%",
        "../../etc/passwd",
        "אבג right to left",
    ],
)
def test_any_name_of_one_line_is_kept_as_it_is(profiles, name):
    profiles.save(name, WORDY)
    profiles.use(name)
    assert [profile.name for profile in profiles.all()] == [DEFAULT, name]
    assert profiles.in_use().weights == WORDY
    profiles.delete(name)
    assert profiles.all() == (BUILT_IN,)


def test_spaces_around_a_name_and_two_spellings_of_a_letter_are_no_other_name(profiles):
    profiles.save(" caf\u0065\u0301 ", WORDY)
    profiles.save("caf\u00e9", WORDY)
    assert [profile.name for profile in profiles.all()] == [DEFAULT, "caf\u00e9"]
    assert profiles.get("caf\u0065\u0301").weights == WORDY


@pytest.mark.parametrize("name", ["", "   ", "x" * (MAX_NAME + 1), "two\nlines", "a\x00b", "\x1b[31mred", "\u2028"])
def test_no_name_that_is_empty_too_long_or_not_one_line(profiles, name):
    with pytest.raises(atlas.InvalidInput, match="name"):
        profiles.save(name, WORDY)
    assert profiles.all() == (BUILT_IN,)


def test_no_name_that_is_no_text(profiles):
    with pytest.raises(atlas.InvalidInput):
        profiles.save("\ud800", WORDY)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": -0.1}, "expected a number from 0 to 1000 for words, got -0.1"),
        ({"success": float("nan")}, "expected a number from 0 to 1000 for success, got nan"),
        ({"pin": float("inf")}, "expected a number from 0 to 1000 for pin, got inf"),
        ({"strictness": -0.1}, "expected a number from 0 to 1000 for strictness, got -0.1"),
        ({"recency_half_life_days": 0}, "expected a number from 0.01 .* for recency_half_life_days"),
        ({"recency_half_life_days": 1e300}, "expected a number from 0.01 .* for recency_half_life_days"),
        ({"meaning": 0, "words": 0}, "a weight above 0 for meaning or words, got 0 for both"),
    ],
)
def test_weights_that_searches_could_not_use_are_refused(profiles, change, said):
    with pytest.raises(atlas.InvalidInput, match=said):
        profiles.save("odd", replace(RankingWeights(), **change))
    assert profiles.all() == (BUILT_IN,)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("garbage", "cannot be read"),
        ("[1, 2]", "expected an object of weights"),
        ('{"words": "much"}', "expected float for words, got 'much'"),
        ('{"words": NaN}', "expected a number from 0 to 1000 for words"),
        ('{"words": true}', "expected float for words, got True"),
        ('{"telepathy": 1.0}', "'telepathy' is not a ranking weight"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_a_damaged_profile_costs_no_search_and_no_other_profile(memory, profiles, value, said, caplog):
    memory.experience.store(attempt("rotate the red grid"))
    profiles.save("good", WORDY)
    write_row(memory, "profile:bad", value)
    write_row(memory, "profile_in_use", "bad")
    assert len(memory.experience.search_hits("red grid", 1)) == 1
    assert profiles.weights() == RankingWeights()
    assert caplog.text.count("so they use the built-in weights") == 1
    default, bad, good = profiles.all()
    assert (default, good.weights) == (BUILT_IN, WORDY)
    assert said in bad.problem
    with pytest.raises(atlas.InvalidInput, match="save it again, or delete it"):
        profiles.use("bad")
    profiles.delete("bad")
    assert [profile.name for profile in profiles.all()] == [DEFAULT, "good"]


def test_a_profile_of_an_earlier_version_has_what_it_did_not_know_as_it_is_built_in(memory, profiles):
    write_row(memory, "profile:old", json.dumps({"words": 1}))
    assert profiles.get("old").weights == RankingWeights(words=1)


def test_what_is_chosen_and_gone_gives_way_to_the_built_in_one(memory, profiles):
    write_row(memory, "profile_in_use", "gone")
    assert profiles.weights() == RankingWeights()
    assert "the profile was deleted" in profiles.in_use().problem


def test_every_change_moves_the_revision_and_a_lookup_does_not(memory, profiles):
    revisions = [memory.revision()]
    for change in (lambda: profiles.save("a", WORDY), lambda: profiles.use("a"), lambda: profiles.delete("a")):
        change()
        revisions.append(memory.revision())
    assert len(set(revisions)) == 4
    profiles.all(), profiles.in_use()
    assert memory.revision() == revisions[-1]


def test_experiences_can_be_written_after_a_profile(memory, profiles):
    """The revision is theirs too."""
    profiles.save("a", WORDY)
    [found] = memory.experience.store_many([attempt("one")])
    assert memory.experience.get(found) is not None
    assert [hit.item.id for hit in memory.experience.search_hits("one", 1)] == [found]


def test_a_store_opened_for_reading_only_uses_profiles_but_keeps_none(memory, profiles):
    profiles.save("wordy", WORDY)
    profiles.use("wordy")
    with opened(memory.storage.path, read_only=True) as reading:
        assert reading.experience.weights == WORDY
        for change in (lambda b: b.save("x", WORDY), lambda b: b.use(DEFAULT), lambda b: b.delete("wordy")):
            with pytest.raises(atlas.ReadOnlyStore):
                change(reading.storage.profiles)


def test_a_backup_holds_them(memory, profiles, tmp_path):
    profiles.save("wordy", WORDY)
    profiles.use("wordy")
    backup(memory.storage, tmp_path / "copy")
    profiles.delete("wordy")
    restore(memory.storage, tmp_path / "copy")
    assert (profiles.in_use().name, profiles.weights()) == ("wordy", WORDY)


@pytest.mark.parametrize("name", ["WORDY", "\uff57ordy", "Wordy", "wo\u00a0rdy"])
def test_no_name_that_looks_like_one_that_is_there(profiles, name):
    profiles.save("wordy" if name != "wo\u00a0rdy" else "wo rdy", WORDY)
    with pytest.raises(atlas.InvalidInput, match="looks like the existing profile"):
        profiles.save(name, RankingWeights())
    assert len(profiles.all()) == 2
    assert profiles.all()[1].weights == WORDY


@pytest.mark.parametrize("name", ["wor\u200bdy", "\u202ewordy", "wordy\ufeff"])
def test_no_name_with_characters_that_nobody_sees(profiles, name):
    with pytest.raises(atlas.InvalidInput, match="visible characters"):
        profiles.save(name, WORDY)


def test_a_profile_in_use_that_is_gone_is_said_wherever_it_ranks(memory, profiles):
    assert profile_problems(memory) == ()
    write_row(memory, "profile_in_use", "gone")
    (said,) = profile_problems(memory)
    assert said.startswith("Searches should use the profile 'gone', which cannot be read (the profile was deleted)")
    assert "built-in weights" in said
