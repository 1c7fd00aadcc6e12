"""The map spread over its window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from atlas.maps.map import Domain, MapRecipe, MemoryMap
from atlas.views.map.spread import spread_map

CORNERS = np.array([[-0.9, 0.9], [0.9, -0.9], [0.7, -0.6]])


def make_map(coordinates, domains=()) -> MemoryMap:
    n = len(coordinates)
    return MemoryMap(
        ids=tuple(f"id{i}" for i in range(n)),
        coordinates=np.asarray(coordinates, np.float32).reshape(-1, 2),
        is_placed=np.zeros(n, np.bool_),
        labels=np.zeros(n, np.int32),
        strengths=np.ones(n, np.float32),
        domains=tuple(domains),
        recipe=MapRecipe(model="m", engine="umap", seed=42, n_neighbours=15, min_domain_size=5, versions=""),
        trustworthiness=0.98,
        revision=1,
    )


def islands() -> np.ndarray:
    """Three crowded islands, two of them in one corner."""
    chance = np.random.default_rng(7)
    return np.concatenate([corner + chance.normal(0, 0.05, (60, 2)) for corner in CORNERS])


def share_filled(coordinates) -> float:
    """The share of the cells of the window in which there is a point."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    counts = np.histogram2d(*((coordinates - low) / (high - low)).T, bins=10)[0]
    return float((counts > 0).mean())


def near(coordinates, point, k) -> list[int]:
    """The k nearest points of one."""
    return np.argsort(np.linalg.norm(coordinates - coordinates[point], axis=1))[1 : k + 1].tolist()


def test_crowded_islands_grow_into_the_empty_room_and_neighbours_stay_neighbours():
    before = islands()
    after = spread_map(make_map(before)).coordinates
    assert share_filled(after) > 1.5 * share_filled(before)
    assert np.mean([set(near(after, i, 5)) <= set(near(before, i, 20)) for i in range(180)]) > 0.9
    first, second, third = (after[at : at + 60] for at in (0, 60, 120))
    assert first[:, 0].max() < min(second[:, 0].min(), third[:, 0].min())


def test_marks_at_one_place_are_moved_apart():
    at_one_place = np.concatenate([islands(), np.repeat([[0.2, 0.3]], 17, axis=0)])
    after = spread_map(make_map(at_one_place)).coordinates
    side = np.ptp(after, axis=0).max()
    closest = [np.linalg.norm(after[i] - after[near(after, i, 1)[0]]) for i in range(len(after))]
    assert min(closest) > 0.005 * side


def test_many_marks_at_few_places_stay_in_the_window():
    crowded = np.concatenate([islands(), *(np.repeat([corner], 200, axis=0) for corner in CORNERS)])
    after = spread_map(make_map(crowded)).coordinates
    assert np.ptp(after, axis=0).max() < 1.2 * np.ptp(crowded, axis=0).max()


def test_the_centre_of_a_domain_moves_with_its_members():
    members = islands()[:60]
    domain = Domain(
        number=0, name="a", is_named_by_person=False, terms=("a",), n=60, centre=tuple(np.median(members, axis=0)),
        typical=(),
    )  # fmt: skip
    drawn = spread_map(make_map(islands(), [domain]))
    apart = np.abs(np.array(drawn.domains[0].centre) - np.median(drawn.coordinates[:60], axis=0))
    assert apart.max() < 0.1


def test_a_record_that_was_placed_later_moves_no_other():
    memory_map = make_map(islands())
    newcomer = replace(memory_map, is_placed=np.arange(180) == 179)
    moved = spread_map(newcomer).coordinates[:179]
    newcomer.coordinates[179] = [0.1, 0.2]
    assert spread_map(newcomer).coordinates[:179] == pytest.approx(moved)


@pytest.mark.parametrize("coordinates", [[], [[0, 0]], [[1, 1]] * 5, [[0, 0], [1, 0], [2, 0]]])
def test_a_map_of_few_points_or_of_a_line_is_spread_as_well(coordinates):
    drawn = spread_map(make_map(coordinates)).coordinates
    assert drawn.shape == (len(coordinates), 2)
    assert np.isfinite(drawn).all()
