"""Programs as terms: trees that can be compared, and decoded into the same program again.

`parsing` reads a source, `normalisation` strips what only people read, and `codec` makes a term of what is left. The
heads of a term hold all that is not a subtree (`heads`), and local variables are marked by `scopes`. `patterns` are
terms with holes, and find where they stand. `names` reads the names in code, `imports` says which modules it needs, and
`description_length` counts tokens.
"""

from atlas.learning.terms.codec import decode, encode
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.parsing import InvalidPython, parse
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.programs import Program
from atlas.learning.terms.terms import Term

__all__ = ["InvalidPython", "Pattern", "Program", "Term", "decode", "encode", "n_tokens", "normalise", "parse"]
