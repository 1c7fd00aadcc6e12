"""The primitives of ARC's grid puzzles."""

from __future__ import annotations

from atlas.core.types import CodeConcept
from atlas.primitives.arc import colors as arc_colors
from atlas.primitives.arc import drawing as arc_drawing
from atlas.primitives.arc import grids as arc_grids
from atlas.primitives.arc import objects as arc_objects
from atlas.primitives.arc import patterns as arc_patterns
from atlas.primitives.arc import transforms as arc_transforms
from atlas.primitives.loader import concepts_of


class ARCPrimitiveLoader:
    """A loader of operations on grids: plain functions of nested lists, shape (rows, cols), colours 0–9.

    The operations are concepts with ids `arc_…`. Their code needs numpy and the code of the concepts that it calls.
    """

    def load(self) -> dict[str, CodeConcept]:
        """Return the concepts, keyed by name, such as `rotate_90`."""
        return concepts_of("arc", (arc_grids, arc_transforms, arc_colors, arc_drawing, arc_objects, arc_patterns))
