"""Shrinking a memory: each policy keeps what it says, at the size that was asked for, and the figures are of that."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.evaluation.curation.bench import as_json, as_markdown, as_text, bench_curation
from atlas.evaluation.curation.policies import (
    POLICIES,
    MemoryToShrink,
    keep_newest,
    keep_short,
    merge_similar,
    prune,
    prune_measured,
    summarise_all,
)
from atlas.testing import HashEmbedder
from tests.support.memories import attempt

ATTEMPTS = [
    attempt("repair the pump", age_days=9, solution="turn the red wheel until it clicks twice"),
    attempt("repair the pump", age_days=8, solution="turn the red wheel"),
    attempt("repair the pump", False, age_days=7, solution="kick"),
    attempt("paint the fence", age_days=6, solution="two coats of green"),
    attempt("paint the fence", False, age_days=5, solution="one coat"),
    attempt("bake some bread", False, age_days=1, solution="cold oven"),
]


def shrinking(n_kept, attempts=ATTEMPTS):
    embedder = HashEmbedder()
    vectors = np.stack([embedder.encode(each.task.description) for each in attempts])
    return MemoryToShrink(attempts=attempts, vectors=vectors, n_kept=n_kept, embedder=embedder, settings=Settings())


def solutions(remains):
    return [each.attempt.metadata["solution"] for each in remains]


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_leaves_at_most_the_wanted_number(name):
    for n_kept in (1, 3, 5):
        assert 1 <= len(POLICIES[name](shrinking(n_kept))) <= n_kept


def test_the_newest_or_the_shortest_stay():
    assert solutions(keep_newest(shrinking(2))) == ["one coat", "cold oven"]
    assert solutions(keep_short(shrinking(1, ATTEMPTS[:3]))) == ["kick"]


def test_merging_keeps_the_newest_of_each_group_and_what_it_stands_for():
    merged = {each.attempt.task.description: each for each in merge_similar(shrinking(3))}
    assert merged["repair the pump"].attempt.metadata["solution"] == "kick"
    assert merged["repair the pump"].sources == {each.id for each in ATTEMPTS[:3]}


def test_a_summary_has_the_beginning_of_each_text():
    [summary] = summarise_all(shrinking(1, ATTEMPTS[3:5]))
    assert summary.attempt.task.description == "paint th\npaint th"
    assert summary.attempt.metadata["solution"].startswith("two coats")
    assert summary.sources == {each.id for each in ATTEMPTS[3:5]}


def test_keeping_what_the_preview_names_keeps_a_success_of_each_task():
    attempts = [
        attempt("paint the fence", age_days=9, solution="two coats of green"),
        attempt("repair the pump", age_days=2, solution="turn the red wheel"),
        attempt("repair the pump", age_days=1, solution="turn the blue wheel"),
    ]
    assert [each.attempt.task.description for each in prune(shrinking(2, attempts))] == ["repair the pump"] * 2
    measured = prune_measured(shrinking(2, attempts))
    assert sorted(each.attempt.task.description for each in measured) == ["paint the fence", "repair the pump"]


def test_figures_are_of_what_is_left():
    bench = bench_curation(
        ATTEMPTS,
        HashEmbedder(),
        settings=Settings(),
        policies={"newest": keep_newest, "merged": merge_similar},
        shares=(1.0, 1 / 2),
    )
    assert (bench.n_attempts, bench.n_tasks) == (6, 2)
    found = {(row.policy, row.n_records): (row.found.mean, row.evidence.mean) for row in bench.rows}
    assert found[("newest", 6)] == found[("merged", 6)] == (1.0, 1.0)
    assert found[("newest", 3)] == (0.5, 0.5)
    merged_found, merged_evidence = found[("merged", 3)]
    assert merged_found == 1.0
    assert merged_evidence < 1.0
    for report in (as_text(bench), as_markdown(bench), as_json(bench)):
        assert "newest" in report


def test_attempts_without_a_success_are_refused():
    with pytest.raises(InvalidInput, match="none of 1 attempts succeeded"):
        bench_curation(ATTEMPTS[-1:], HashEmbedder(), settings=Settings())
