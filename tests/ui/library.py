"""Libraries of concepts to open the pages on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import atlas
from atlas.testing import HashEmbedder
from tests.ui.stores import DIMENSION, MODEL


def concept(number: int = 0, **given: Any) -> atlas.CodeConcept:
    """A concept whose code is its own; whatever is not given does not matter."""
    name = given.pop("name", f"step_{number}")
    code = given.pop("code", f"def {name}(grid):\n    return [row[{number}:] for row in grid]\n")
    return atlas.CodeConcept(
        name=name, description=given.pop("description", f"Cut the first {number} columns off."), code=code, **given
    )


def make_library(path: Path, *concepts: atlas.CodeConcept) -> list[str]:
    """A store with these concepts at a path; their ids."""
    with opened_library(path) as memory:
        return [memory.concepts.add_many([one])[0] for one in concepts]


def opened_library(path: Path) -> atlas.MemorySystem:
    """The store at a path, beside the dashboard's own view of it."""
    return atlas.open_memory(path, embedder=HashEmbedder(DIMENSION, MODEL), settings=atlas.Settings())
