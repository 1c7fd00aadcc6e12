"""Analysis of programs, which decides what of them can be a Python function.

`judge` in `dataflow` is the decision: a pattern is a function with an `Interface`, or it is refused. It asks where the
pattern stands (`occurrences`), in which order its holes are evaluated (`positions`), which variables are read and
written there (`variables`) and around it (`surroundings`), whether it may call the function around it again
(`recursion`), and what may be evaluated at another time (`purity`, `constants`, `closures`). `functions` writes the
code, and `uses` reads what calls of a function say about it.

Everything errs to the safe side: what may be read counts as read, and only what is surely written counts as written.
"""

from atlas.learning.analysis.dataflow import Interface, Judgement, judge
from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.analysis.uses import Uses, uses_of

__all__ = ["Function", "Interface", "Judgement", "Uses", "function_source", "judge", "program_source", "uses_of"]
