"""The map spread over its window: crowded parts grow into empty ones, marks stand apart, neighbours stay near."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from atlas.maps.map import MemoryMap

CELLS = 64
"""Cells of the density along each side of the window."""

MARGIN = 0.06
"""Empty margin around the points before they spread, as a share of the window's side."""

BLUR = 4.0
"""Width of the blur of the density, in cells. Shapes smaller than this are kept."""

BACKGROUND = 3.0
"""Density that is added everywhere, relative to the mean. More of it spreads the points less."""

DIFFUSION_TIMES = (0.0, *np.geomspace(0.25, 2_000, 60).tolist())
"""Times at which the diffusion is computed, in squared cells. At the last one the density is even."""

MARK_WIDTH = 0.25
"""Width of a mark times the square root of the number of marks, as a share of the window's side."""

MAX_SEPARATED = 3_000
"""Largest number of points whose marks are moved apart. Marks of more points are too small to hide each other."""

SEPARATION_ROUNDS = 40
"""Maximum number of rounds. Each moves overlapping marks apart by a part of their overlap."""

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
"""Angle between the directions in which marks at the same place are moved, in radians."""

Places = npt.NDArray[np.float64]
"""Points of shape (n, 2), in cells from the corner of the window while they are spread."""

_WAVES = np.pi * np.arange(CELLS) / CELLS
_COSINES = np.cos(np.outer(_WAVES, np.arange(CELLS) + 0.5))
_DECAY = _WAVES[:, None] ** 2 + _WAVES**2


def spread_map(memory_map: MemoryMap) -> MemoryMap:
    """Return the map with its points spread over the window, as it is drawn."""
    return move_map(memory_map, spread_places(memory_map))


def spread_places(memory_map: MemoryMap) -> Places:
    """Return the places of the points and then of the domains' centres, as drawn, in the map's coordinates.

    Records that were placed after the fit do not move the others.

    Source:
        Density-equalising maps by diffusion (Gastner & Newman, PNAS 2004).
    """
    n_points, is_fitted = len(memory_map.coordinates), ~memory_map.is_placed
    centres = [domain.centre for domain in memory_map.domains]
    positions = np.concatenate([memory_map.coordinates, np.array(centres, np.float64).reshape(-1, 2)])
    if not is_fitted.any():
        return positions
    fitted = positions[:n_points][is_fitted]
    corner, sides = fitted.min(axis=0), np.maximum(np.ptp(fitted, axis=0), 1e-9)
    places = (MARGIN + (1 - 2 * MARGIN) * (positions - corner) / sides) * CELLS
    places = _even_out(places, places[:n_points][is_fitted])
    places[:n_points][is_fitted] = _separate(places[:n_points][is_fitted])
    map_places: Places = corner + places / CELLS * sides
    return map_places


def move_map(memory_map: MemoryMap, places: Places) -> MemoryMap:
    """Return the map with its points and domains at the places that `spread_places` returned."""
    n_points = len(memory_map.coordinates)
    centres = places[n_points:].tolist()
    domains = [replace(domain, centre=(x, y)) for domain, (x, y) in zip(memory_map.domains, centres, strict=True)]
    return replace(memory_map, coordinates=places[:n_points].astype(np.float32), domains=tuple(domains))


def _even_out(places: Places, fitted: Places) -> Places:
    """Return the places after a diffusion that evens out the density of the fitted points."""
    x, y = fitted.T
    counts = np.histogram2d(x, y, bins=CELLS, range=[[0, CELLS]] * 2)[0]
    norms = np.where(np.arange(CELLS) == 0, 1, 2) / CELLS
    amplitudes = (_COSINES @ counts @ _COSINES.T) * np.outer(norms, norms) * np.exp(-_DECAY * BLUR**2 / 2)
    amplitudes[0, 0] *= 1 + BACKGROUND
    for start, end in pairwise(DIFFUSION_TIMES):
        density = _COSINES.T @ (amplitudes * np.exp(-_DECAY * end)) @ _COSINES
        flow = -np.stack(np.gradient(density), axis=-1) / np.maximum(density, 1e-9)[..., None]
        moves = np.clip(_interpolate(flow, places) * (end - start), -1, 1)
        places = np.clip(places + moves, 0, CELLS)
    return places


def _separate(places: Places) -> Places:
    """Return the places moved apart until almost no marks overlap."""
    from scipy.spatial import cKDTree

    n_points = len(places)
    if n_points > MAX_SEPARATED:
        return places
    width = CELLS * MARK_WIDTH / np.sqrt(n_points + 30)
    angles = np.arange(n_points) * GOLDEN_ANGLE
    places = places + np.stack([np.cos(angles), np.sin(angles)], axis=-1) * width * 1e-3
    for _ in range(SEPARATION_ROUNDS):
        pairs = cKDTree(places).query_pairs(width, output_type="ndarray")
        if not len(pairs):
            break
        left, right = pairs.T
        differences = places[left] - places[right]
        distances = np.maximum(np.linalg.norm(differences, axis=1, keepdims=True), 1e-9)
        pushes = differences / distances * (width - distances) / 3
        moves = np.zeros_like(places)
        np.add.at(moves, left, pushes)
        np.add.at(moves, right, -pushes)
        lengths = np.linalg.norm(moves, axis=1, keepdims=True)
        places = np.clip(places + moves * np.minimum(1, width / 2 / np.maximum(lengths, 1e-9)), 0, CELLS)
    return places


def _interpolate(flow: npt.NDArray[np.float64], places: Places) -> Places:
    """Return the flow at the places, interpolated between the centres of the four nearest cells."""
    positions = np.clip(places - 0.5, 0, CELLS - 1.001)
    cells = positions.astype(np.int64)
    fractions = positions - cells
    total = np.zeros_like(places)
    for dx in (0, 1):
        for dy in (0, 1):
            weights = np.abs(1 - dx - fractions[:, 0]) * np.abs(1 - dy - fractions[:, 1])
            total += weights[:, None] * flow[cells[:, 0] + dx, cells[:, 1] + dy]
    return total
