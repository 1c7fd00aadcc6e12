"""Names, descriptions and signatures for functions that were found.

With `LLMAutoDocumenter` a language model writes them, and they are checked against the code. `HeuristicDocumenter`
derives names of parameters, types and a description from the code, without a model. `HeuristicDocumenter` numbers
functions instead of naming them. Neither changes what the code does.
"""

from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter

__all__ = ["HeuristicDocumenter", "LLMAutoDocumenter"]
