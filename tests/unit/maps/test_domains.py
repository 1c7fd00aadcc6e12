"""The groups that emerge on a map, their numbers and their names."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.core.words import content_words
from atlas.maps import domains
from atlas.maps.domains import UNCLUSTERED, default_min_size, find_domains, match_domains
from atlas.maps.naming import name_domains


def blobs(sizes, seed=0):
    generator = np.random.default_rng(seed)
    centres = np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, len(sizes), endpoint=False)])
    points = [centre + generator.normal(0, 0.04, (size, 2)) for centre, size in zip(centres, sizes, strict=True)]
    return np.concatenate(points).astype(np.float32)


def test_groups_are_found_and_numbered_by_size():
    found = find_domains(blobs([30, 90, 60]), 15)
    assert np.bincount(found.labels[found.labels >= 0]).tolist() == pytest.approx([90, 60, 30], abs=6)
    assert ((found.strengths >= 0) & (found.strengths <= 1)).all()
    assert (found.strengths[found.labels == UNCLUSTERED] == 0).all()


def test_a_group_smaller_than_asked_for_is_none():
    assert find_domains(blobs([12, 90, 60]), 20).labels[:12].tolist() == [UNCLUSTERED] * 12


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_a_few_points_form_no_groups(n):
    assert find_domains(blobs([9])[:n]).labels.tolist() == [UNCLUSTERED] * n


def test_points_in_one_place_are_grouped_without_complaint():
    labels = find_domains(np.zeros((50, 2), np.float32)).labels
    assert labels.shape == (50,)


def test_large_maps_are_grouped_by_a_sample(monkeypatch):
    monkeypatch.setattr(domains, "MAX_CLUSTERED_POINTS", 400)
    points = blobs([600, 500, 400])
    found = find_domains(points, 60)
    truth = np.repeat([0, 1, 2], [600, 500, 400])
    clustered = found.labels >= 0
    assert clustered.mean() > 0.8
    assert (found.labels[clustered] == truth[clustered]).all()


def test_the_smallest_size_grows_with_the_memory():
    assert [default_min_size(n) for n in (10, 300, 5_000, 100_000)] == [5, 10, 39, 174]


def test_domains_keep_their_numbers_when_they_mostly_stay():
    old = np.array([0] * 10 + [1] * 10 + [2] * 5, np.int32)
    new = np.array([2] * 8 + [-1] * 2 + [0] * 10 + [1] * 5 + [3] * 9, np.int32)
    assert match_domains(old, new) == {2: 0, 0: 1, 1: 2, 3: 3}


def test_a_new_domain_gets_a_number_that_no_old_one_had():
    old = np.array([0] * 10 + [4] * 10, np.int32)
    new = np.array([0] * 10 + [1] * 2 + [-1] * 8 + [2] * 7, np.int32)
    assert match_domains(old, new) == {0: 0, 1: 4, 2: 5}


def test_without_earlier_domains_numbers_begin_at_nought():
    assert match_domains(np.zeros(0, np.int32), np.array([0, 1, 1], np.int32)) == {0: 0, 1: 1}


def test_names_are_of_words_that_siblings_do_not_share():
    texts = ["please cancel the flight and refund it"] * 6 + ["please book a flight for two passengers"] * 6
    named = {n: of.terms for n, of in name_domains(texts, np.repeat(np.array([0, 1], np.int32), 6)).items()}
    assert set(named[0][:2]) == {"cancel", "refund"}
    assert set(named[1][:2]) == {"book", "passengers"}
    assert "flight" not in named[0][:2] + named[1][:2]


def test_stop_words_numbers_and_ids_name_nothing():
    text = "The user 4711 asked for order FLT123 of mei_davis_8935 with 0xdeadbeef1, then 17 apples and URLParser_x2"
    assert content_words(text) == {"order", "apples"}


def test_parts_of_identifiers_are_words():
    assert content_words("is_prime parseHttpHeader") == {"prime", "parse", "http", "header"}


def test_a_plural_counts_as_its_singular():
    texts = ["compare flights"] * 3 + ["compare flight"] * 3 + ["grids puzzle"] * 6
    named = {n: of.terms for n, of in name_domains(texts, np.repeat(np.array([0, 1], np.int32), 6)).items()}
    assert "flight" in named[0]
    assert "flights" not in named[0]
