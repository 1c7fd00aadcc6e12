"""Programs as terms: trees that can be compared, and decoded into the same program again.

`parsing` reads source code, `normalisation` removes comments, docstrings and annotations, and `codec` converts the
result to a term. Each head contains everything of a node that is not a subtree (`heads`). `scopes` finds local
variables. `patterns` are terms with holes, which are matched against other terms. `names` finds the names in code,
`imports` handles import statements, and `description_length` counts tokens.
"""

from atlas.learning.terms.codec import decode, encode
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.parsing import InvalidPython, parse
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.programs import Program
from atlas.learning.terms.terms import Term

__all__ = ["InvalidPython", "Pattern", "Program", "Term", "decode", "encode", "n_tokens", "normalise", "parse"]
