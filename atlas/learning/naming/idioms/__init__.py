"""Well-known pieces of work, each with its name and the ways in which it is written: one small entry each."""

from atlas.learning.naming.idioms.arithmetic import ARITHMETIC
from atlas.learning.naming.idioms.elements import ELEMENTS
from atlas.learning.naming.idioms.grids import GRIDS
from atlas.learning.naming.idioms.mappings import MAPPINGS
from atlas.learning.naming.idioms.matrices import MATRICES
from atlas.learning.naming.idioms.numbers import NUMBERS
from atlas.learning.naming.idioms.parts import PARTS
from atlas.learning.naming.idioms.records import RECORDS
from atlas.learning.naming.idioms.searching import SEARCHING
from atlas.learning.naming.idioms.sequences import SEQUENCES
from atlas.learning.naming.idioms.texts import TEXTS

_ALL = (
    *NUMBERS,
    *SEQUENCES,
    *PARTS,
    *TEXTS,
    *MAPPINGS,
    *GRIDS,
    *MATRICES,
    *RECORDS,
    *SEARCHING,
    *ELEMENTS,
    *ARITHMETIC,
)

IDIOMS = tuple(sorted(_ALL, key=lambda one: any("{" in name for name in one.names)))
"""All entries, those last whose name is made of words for a part. The first one that code fits names it."""

__all__ = ["IDIOMS"]
