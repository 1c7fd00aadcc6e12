"""Names, descriptions and signatures for functions that were found.

`HeuristicDocumenter` derives them from the code (`heuristics`) and from what its uses have in common. With
`LLMAutoDocumenter` a language model writes them, and they are checked against the code. Neither changes what the code
does.
"""

from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter

__all__ = ["HeuristicDocumenter", "LLMAutoDocumenter"]
