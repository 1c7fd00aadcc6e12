"""The programs that a library is learned from."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

MAX_CHARACTERS = 100_000
"""Of a program; a longer one is not read, because parsing it may take seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Python source that solved a task, and what shows that it did."""

    id: str
    """Of the trajectory, or the experience, that it came from."""

    task_id: str
    description: str
    """What was asked."""

    source: str
    tests: str = ""
    """Python that follows the source and raises where it is wrong; empty where there is none."""


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of Python source; None where it is none, or is too long or nested too deeply to be read."""
    if len(source) > MAX_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd escapes, which nobody can mend here
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_runnable(source: str) -> bool:
    """Whether Python accepts the source as a module: unlike its parser, not with a `return` outside of functions."""
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(source, "<program>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
