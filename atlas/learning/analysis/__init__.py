"""Static analysis that decides which parts of programs can become Python functions.

`find_interface` in `dataflow` either returns an `Interface` for a pattern, which makes it a function, or refuses it.
It uses the occurrences of the pattern (`occurrences`), the order in which its holes are evaluated (`positions`), the
variables that are read and written in it (`variables`) and around it (`surroundings`), whether it may call its
enclosing function (`recursion`), and which expressions may be evaluated at another time (`purity`, `constants`,
`closures`). `functions` writes the code, and `uses` collects names and types from the calls of a function.

The analysis is conservative: whatever may be read counts as read, and only what is always written counts as written.
"""

from atlas.learning.analysis.dataflow import Interface, InterfaceDecision, find_interface
from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.analysis.uses import Uses, find_uses

__all__ = [
    "Function",
    "Interface",
    "InterfaceDecision",
    "Uses",
    "find_interface",
    "find_uses",
    "function_source",
    "program_source",
]
