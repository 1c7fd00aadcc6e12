"""Static analysis that decides which parts of programs can become Python functions.

`judge` in `dataflow` either returns an `Interface` for a pattern, which makes it a function, or refuses it. `judge`
uses the occurrences of the pattern (`occurrences`), the order in which its holes are evaluated (`positions`), the
variables that are read and written in it (`variables`) and around it (`surroundings`), whether it may call its
enclosing function (`recursion`), and which expressions may be evaluated at another time (`purity`, `constants`,
`closures`). `functions` writes the code, and `uses` collects names and types from the calls of a function.

The analysis is conservative: whatever may be read counts as read, and only what is always written counts as written.
"""

from atlas.learning.analysis.dataflow import Interface, Judgement, judge
from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.analysis.uses import Uses, find_uses

__all__ = ["Function", "Interface", "Judgement", "Uses", "find_uses", "function_source", "judge", "program_source"]
