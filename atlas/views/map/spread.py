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
"""Room around the points into which they may grow, as a share of the window's side."""

BLUR = 4.0
"""Width of the blur of the density, in cells. The shapes of islands are kept below it."""

EMPTY = 3.0
"""Density that is added everywhere, as a share of the mean. The more, the less is spread."""

TIMES = (0.0, *np.geomspace(0.25, 2_000, 60).tolist())
"""Moments of the diffusion, in squared cells. At the last one the density is even."""

MARK = 0.25
"""Width of a mark times the root of the number of marks, as a share of the window's side. All cover a small part."""

SEPARATED_MOST = 3_000
"""Number of points up to which marks are moved apart. More are drawn too small to hide each other."""

SEPARATIONS = 40
"""Rounds in which marks that overlap are moved apart by a part of what is missing."""

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
"""Angle between the directions in which marks at one place are moved, in radians."""

Places = npt.NDArray[np.float64]
"""Shape (n, 2). While they are spread, in cells from the corner of the window."""

_WAVES = np.pi * np.arange(CELLS) / CELLS
_COSINES = np.cos(np.outer(_WAVES, np.arange(CELLS) + 0.5))
_DECAY = _WAVES[:, None] ** 2 + _WAVES**2


def spread_map(memory_map: MemoryMap) -> MemoryMap:
    """Return the map as it is drawn."""
    return moved_map(memory_map, spread_places(memory_map))


def spread_places(memory_map: MemoryMap) -> Places:
    """Return where the points and then the centres of the domains are drawn, in coordinates of the map.

    Records that were placed later move none of the others.

    Source:
        Density-equalising maps by diffusion (Gastner & Newman, PNAS 2004).
    """
    n, is_fitted = len(memory_map.coordinates), ~memory_map.is_placed
    centres = [domain.centre for domain in memory_map.domains]
    positions = np.concatenate([memory_map.coordinates, np.array(centres, np.float64).reshape(-1, 2)])
    if not is_fitted.any():
        return positions
    fitted = positions[:n][is_fitted]
    low, sides = fitted.min(axis=0), np.maximum(np.ptp(fitted, axis=0), 1e-9)
    places = (MARGIN + (1 - 2 * MARGIN) * (positions - low) / sides) * CELLS
    places = _spread(places, places[:n][is_fitted])
    places[:n][is_fitted] = _separate(places[:n][is_fitted])
    spread: Places = low + places / CELLS * sides
    return spread


def moved_map(memory_map: MemoryMap, places: Places) -> MemoryMap:
    """Return the map with its points and its domains at these places, as `spread_places` returns them."""
    n = len(memory_map.coordinates)
    centres = places[n:].tolist()
    domains = [replace(domain, centre=(x, y)) for domain, (x, y) in zip(memory_map.domains, centres, strict=True)]
    return replace(memory_map, coordinates=places[:n].astype(np.float32), domains=tuple(domains))


def _spread(places: Places, fitted: Places) -> Places:
    """Return where places drift while the density of the fitted ones evens out."""
    across, upwards = fitted.T
    counts = np.histogram2d(across, upwards, bins=CELLS, range=[[0, CELLS]] * 2)[0]
    norms = np.where(np.arange(CELLS) == 0, 1, 2) / CELLS
    amplitudes = (_COSINES @ counts @ _COSINES.T) * np.outer(norms, norms) * np.exp(-_DECAY * BLUR**2 / 2)
    amplitudes[0, 0] *= 1 + EMPTY
    for before, now in pairwise(TIMES):
        density = _COSINES.T @ (amplitudes * np.exp(-_DECAY * now)) @ _COSINES
        flow = -np.stack(np.gradient(density), axis=-1) / np.maximum(density, 1e-9)[..., None]
        moves = np.clip(_interpolate(flow, places) * (now - before), -1, 1)
        places = np.clip(places + moves, 0, CELLS)
    return places


def _separate(places: Places) -> Places:
    """Return places moved until hardly a mark lies over another."""
    from scipy.spatial import cKDTree

    n = len(places)
    if n > SEPARATED_MOST:
        return places
    width = CELLS * MARK / np.sqrt(n + 30)
    angles = np.arange(n) * GOLDEN_ANGLE
    places = places + np.stack([np.cos(angles), np.sin(angles)], axis=-1) * width * 1e-3
    for _ in range(SEPARATIONS):
        pairs = cKDTree(places).query_pairs(width, output_type="ndarray")
        if not len(pairs):
            break
        one, other = pairs.T
        apart = places[one] - places[other]
        distances = np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-9)
        pushes = apart / distances * (width - distances) / 3
        moves = np.zeros_like(places)
        np.add.at(moves, one, pushes)
        np.add.at(moves, other, -pushes)
        lengths = np.linalg.norm(moves, axis=1, keepdims=True)
        places = np.clip(places + moves * np.minimum(1, width / 2 / np.maximum(lengths, 1e-9)), 0, CELLS)
    return places


def _interpolate(flow: npt.NDArray[np.float64], places: Places) -> Places:
    """Return the flow at places, between the middles of the four nearest cells."""
    at = np.clip(places - 0.5, 0, CELLS - 1.001)
    first = at.astype(np.int64)
    far = at - first
    total = np.zeros_like(places)
    for across in (0, 1):
        for along in (0, 1):
            weights = np.abs(1 - across - far[:, 0]) * np.abs(1 - along - far[:, 1])
            total += weights[:, None] * flow[first[:, 0] + across, first[:, 1] + along]
    return total
