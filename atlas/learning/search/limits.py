"""Limits of a compression, and of what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from atlas.core.errors import InvalidInput

StageProgress = Callable[[str, float], None]
"""Callback with the name of the current stage and its progress in [0, 1]."""

IsCancelled = Callable[[], bool]
"""Callback that returns whether to stop. It is called repeatedly."""

RaiseIfCancelled = Callable[[], None]
"""Callback that raises `Cancelled` if the work is to stop. It is called repeatedly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time, memory, size, and the gates against trivia."""

    seconds: float = 120
    """Processor time of the search for abstractions. Functions found by then are used.

    By the clock it may take 20 times as long, on a machine that is busy.
    """

    megabytes: int = 1_000
    """Address space of the search, in its own process."""

    iterations: int = 100
    """Abstractions that the search may propose."""

    max_arity: int = 2
    """Parameters of an abstraction that are not variables."""

    max_programs: int = 400
    max_heads: int = 120_000
    """Heads of all programs together. Beyond this or `max_programs`, a sample of different programs is searched.

    Measured on 2,000 programs, most of them copies: 9 % of the tokens saved in 37 s of CPU time where 400 of them are
    searched, and 21 % in 117 s where all are. On 455 different programs 3.6 % with 400, and 3.5 % with all.
    """

    max_depth: int = 100
    """Depth of a program's term. Each statement of a block is one deeper, and the search does not end on deep ones."""

    min_body_tokens: int = 8
    min_tasks: int = 2
    """Different tasks that use a function, directly or through another one."""

    many_tasks: int = 3
    """Different tasks that make a function worth keeping even if it saves one token only."""

    min_saving_of_few: int = 4
    """Tokens that a function has to save if fewer tasks use it.

    Chosen on one half of the tasks of MBPP and HumanEval, split again into programs to learn from and others: of those,
    4 saves 0.50 % of the tokens, as does 0 with more functions, and 6 or more saves 0.45 %.
    """

    def __post_init__(self) -> None:
        """Refuse limits that no compression could keep to."""
        for name, value in asdict(self).items():
            if not value >= 0:  # nor NaN
                raise InvalidInput(f"expected {name} of at least 0, got {value!r}")
