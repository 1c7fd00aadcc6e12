"""What a compression may cost, and what it takes to keep a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from atlas.core.errors import InvalidInput

StageProgress = Callable[[str, float], None]
"""Told what is being done, and which share of it is done, in [0, 1]."""

IsCancelled = Callable[[], bool]
"""Asked now and then whether to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time, memory, size, and the gates against trivia."""

    seconds: float = 120
    """Of a processor, for the search for abstractions; what was found by then is used. A busy machine may take twice as
    long for it."""

    megabytes: int = 1_000
    """Of address space for the search, in its own process."""

    iterations: int = 60
    """How many abstractions the search may propose."""

    max_arity: int = 2
    """Parameters of an abstraction that are not variables."""

    max_programs: int = 400
    max_heads: int = 40_000
    """Of all programs together; beyond either, a sample of different ones is taken."""

    max_depth: int = 100
    """Of a program's term, in which each statement of a block is one deeper: the search does not end on deep ones."""

    min_body_tokens: int = 8
    min_tasks: int = 3
    """Different tasks that use a function, directly or through another one."""

    def __post_init__(self) -> None:
        """Refuse what no compression could keep to."""
        for name, value in asdict(self).items():
            if value < 0:
                raise InvalidInput(f"expected {name} of at least 0, got {value!r}")
