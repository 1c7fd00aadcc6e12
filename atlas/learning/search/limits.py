"""Limits of a compression, and the conditions for keeping a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from atlas.core.errors import InvalidInput

StageProgress = Callable[[str, float], None]
"""Callback with the name of the current stage and its progress in [0, 1]."""

IsCancelled = Callable[[], bool]
"""Callback that returns whether to stop, called repeatedly."""

RaiseIfCancelled = Callable[[], None]
"""Callback that raises `Cancelled` if the work is to stop, called repeatedly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of time, memory and size, and thresholds that exclude trivial functions."""

    seconds: float = 120
    """Processor time of the search for abstractions. If it runs out, the functions that were found by then are used.

    On a busy machine, the wall-clock time may be up to 20 times as long.
    """

    megabytes: int = 1_000
    """Address space of the search, in its own process."""

    iterations: int = 100
    """Largest number of abstractions that the search may propose."""

    max_arity: int = 2
    """Largest number of parameters of an abstraction, not counting variables."""

    max_programs: int = 400
    max_heads: int = 120_000
    """Total number of heads. Beyond this or `max_programs`, only a sample of diverse programs is searched.

    On 2,000 programs, mostly copies, a sample of 400 saved 9% of the tokens in 37 s of CPU time, and a search of all
    saved 21% in 117 s. On 455 different programs, a sample of 400 saved 3.6%, and a search of all saved 3.5%.
    """

    max_depth: int = 100
    """Largest depth of a term, because the search does not finish on deep terms. Each statement adds one level."""

    min_body_tokens: int = 8
    min_tasks: int = 2
    """Smallest number of tasks that use a function, directly or through another function."""

    many_tasks: int = 3
    """Number of tasks that suffice to keep a function that saves only one token."""

    min_saving_of_few: int = 4
    """Smallest number of tokens that a function must save if fewer tasks use it.

    Chosen on half of the tasks of MBPP and HumanEval, split again into training and test programs. On the test
    programs, 4 saves 0.50% of the tokens. A value of 0 saves the same with more functions, and 6 or more saves 0.45%.
    """

    def __post_init__(self) -> None:
        """Raise `InvalidInput` for negative limits and NaN."""
        for name, value in asdict(self).items():
            if not value >= 0:  # also True for NaN
                raise InvalidInput(f"expected {name} to be at least 0, got {value!r}")
