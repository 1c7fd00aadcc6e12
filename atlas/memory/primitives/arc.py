"""The primitives of ARC's grid puzzles."""

from __future__ import annotations

from atlas.core.types import CodeConcept
from atlas.memory.primitives import arc_colors, arc_drawing, arc_grids, arc_objects, arc_patterns, arc_transforms
from atlas.memory.primitives.building import concepts_of


class ARCPrimitiveLoader:
    """Brings operations on grids: plain functions of nested lists, shape (rows, cols), colours 0–9.

    They are concepts with ids `arc_…`. Each one's code needs numpy and the codes of those that it calls.
    """

    def load(self) -> dict[str, CodeConcept]:
        """The concepts by name, such as `rotate_90`."""
        return concepts_of("arc", (arc_grids, arc_transforms, arc_colors, arc_drawing, arc_objects, arc_patterns))
