"""The result of a compression: functions, rewritten programs, and their lengths in tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atlas.learning.analysis.functions import Function
from atlas.learning.rewrite.sharing import SharedDefinition
from atlas.learning.rewrite.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstraction:
    """A Python function that several programs have in common."""

    name: str
    """Placeholder that the code uses until a documenter chooses a real name."""

    source: str
    """Code that uses the functions in `calls`, Python's builtins, and the modules that it imports."""

    arity: int
    calls: tuple[str, ...]
    """Names of the abstractions that the code calls directly."""

    needs: tuple[str, ...] = ()
    """Names of tools that the code uses, directly or through others. The caller has to define these names."""

    uses: tuple[str, ...]
    """Ids of the programs that call the function, directly or through others."""

    n_tasks: int
    saving: int
    """Tokens that the function saves in programs and library, minus its length."""

    saving_elsewhere: int = 0
    """Tokens that the function saves in the programs of the half of the tasks in which it saves less.

    This estimates the saving on programs that the function was not learned from. The function's length does not count.
    """

    proofs: tuple[str, ...] = ()
    """Ids of the programs whose tests run the function and that behaved the same as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenProgram:
    """A program that calls abstractions."""

    before: str
    """Program without docstrings, annotations and comments."""

    after: str
    standalone: str
    """Source of `after`, preceded by the functions that it needs."""

    functions: tuple[str, ...]
    """Names of all abstractions that the program needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The learned functions, in a form that can be applied to other programs."""

    workspace: Workspace
    functions: Mapping[str, Function]
    definitions: tuple[SharedDefinition, ...] = ()
    """Whole definitions, applied to programs before the functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compression:
    """A library of functions, and the programs that it was learned from."""

    abstractions: tuple[Abstraction, ...]
    """Functions, callees first."""

    rewritten: Mapping[str, RewrittenProgram]
    """Programs that call at least one function, keyed by id."""

    n_programs: int
    """Number of programs that can be compressed."""

    n_searched: int = 0
    """Number of programs that were searched for functions. The others only use the functions that were found."""

    n_found: int = 0
    """Abstractions that the search proposed."""

    n_valid: int = 0
    """Found abstractions that are Python functions."""

    tokens_before: int
    """Tokens of all programs, after star imports were replaced by imports of the names that are used."""

    tokens_after: int
    """Tokens of all programs, without the library."""

    tokens_library: int
    """Tokens of the functions as one module, with each import counted once."""

    refused: Mapping[str, int]
    """Number of abstractions and programs that were left out, keyed by reason."""

    notes: tuple[str, ...]
    library: Library
    engine: str
    """Display name of the search."""

    @property
    def ratio(self) -> float:
        """The compression ratio, library included: 1 if no function was found."""
        after = self.tokens_after + self.tokens_library
        return self.tokens_before / after if after else 1.0
