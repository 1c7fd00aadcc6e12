"""Programs rewritten to call functions, and functions dropped that save nothing.

A `Shelf` holds programs and the patterns that they call. `settle` puts back what is no Python function, and `prune`
what does not pay for itself in tokens, by the `lengths` of programs and library. `merging` leaves one function of those
that are the same. `applying` puts a library into other programs. `executable` writes programs that run with the
functions they need. `rename` gives other names to a function and its parameters, and `normal_forms` tells whether two
functions differ in names only.
"""

from atlas.learning.rewrite.executable import standalone
from atlas.learning.rewrite.normal_forms import normal_form, shape
from atlas.learning.rewrite.pruning import prune
from atlas.learning.rewrite.rename import renamed
from atlas.learning.rewrite.shelf import Shelf, settle

__all__ = ["Shelf", "normal_form", "prune", "renamed", "settle", "shape", "standalone"]
