"""Rewriting of programs to call functions, and removal of functions that save nothing.

A `Workspace` contains programs and the patterns that they call. `drop_invalid` inlines the patterns that are not valid
Python functions. `prune` inlines functions that do not shorten programs and library, by their `lengths` in tokens.
`merging` removes duplicates. `applying` rewrites other programs with a library. `executable` writes programs together
with the functions they need. `rename` renames a function and its parameters, and `normal_forms` finds functions that
differ in names only.
"""

from atlas.learning.rewrite.executable import Executables
from atlas.learning.rewrite.normal_forms import normal_form, shape
from atlas.learning.rewrite.pruning import prune
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.rewrite.workspace import Workspace, drop_invalid

__all__ = ["Executables", "Workspace", "drop_invalid", "normal_form", "prune", "rename_identifiers", "shape"]
