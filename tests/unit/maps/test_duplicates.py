"""Groups of records that nearly say the same."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.errors import InvalidInput
from atlas.maps import duplicates
from atlas.maps.duplicates import near_duplicates, similar_pairs
from tests.support.vectors import DIMENSION, clustered, embedded, unit


def near(vectors, of, *, noise=0.003, seed=0):
    """Copies of some rows that differ a little."""
    return unit(vectors[of] + np.random.default_rng(seed).normal(0, noise, (len(of), vectors.shape[1])))


def test_copies_are_grouped_and_others_are_not():
    vectors, _ = clustered(100, 10, noise=0.3)
    both = np.concatenate([vectors, near(vectors, [3, 3, 3, 8])])
    groups = near_duplicates(embedded(both))
    assert [set(group.ids) for group in groups] == [{"r3", "r100", "r101", "r102"}, {"r8", "r103"}]
    assert all(0.97 <= group.similarity_min <= 1 for group in groups)


def test_any_two_of_a_group_are_similar_though_a_chain_leads_on():
    angles = np.arange(12) * np.arccos(0.985)
    chain = np.zeros((12, DIMENSION), np.float32)
    chain[:, 0], chain[:, 1] = np.cos(angles), np.sin(angles)
    groups = near_duplicates(embedded(chain), 0.97)
    assert groups
    for group in groups:
        rows = [int(record_id[1:]) for record_id in group.ids]
        assert (chain[rows] @ chain[rows].T).min() == pytest.approx(group.similarity_min)
        assert group.similarity_min >= 0.97 - 1e-6
    members = [record_id for group in groups for record_id in group.ids]
    assert len(members) == len(set(members))


@pytest.mark.parametrize("dimension", [8, 200])
def test_the_pairs_are_those_of_comparing_all_with_all(monkeypatch, dimension):
    monkeypatch.setattr(duplicates, "BLOCK_ROWS", 64)
    generator = np.random.default_rng(0)
    vectors = unit(
        generator.normal(size=(40, dimension))[generator.integers(0, 40, 300)]
        + generator.normal(0, 0.05, (300, dimension))
    )
    left, right = np.where(np.triu(vectors @ vectors.T >= 0.9, 1))
    assert {tuple(pair) for pair in similar_pairs(vectors, 0.9).tolist()} == set(
        zip(left.tolist(), right.tolist(), strict=True)
    )


def test_identical_records_are_one_group_however_many():
    vectors = np.repeat(clustered(2, 2)[0], [3_000, 1], axis=0)
    groups = near_duplicates(embedded(vectors))
    assert [len(group.ids) for group in groups] == [3_000]
    assert groups[0].similarity_min == pytest.approx(1.0)


def test_a_huge_clump_comes_out_in_groups(monkeypatch):
    monkeypatch.setattr(duplicates, "MAX_PAIRS", 20)
    clump = near(clustered(1, 1)[0], [0] * 100)
    groups = near_duplicates(embedded(clump))
    assert max(len(group.ids) for group in groups) <= 21
    assert sum(len(group.ids) for group in groups) > 90
    assert len(similar_pairs(clump, 0.97)) <= 100 * 20


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_has_no_duplicates(n):
    assert near_duplicates(embedded(clustered(5, 1)[0][:n])) == ()


@pytest.mark.parametrize("threshold", [0, -1, 1.2, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(InvalidInput, match="above 0 and at most 1"):
        near_duplicates(embedded(clustered(5, 1)[0]), threshold)
