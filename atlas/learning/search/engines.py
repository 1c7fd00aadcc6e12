"""What proposes abstractions: the search that compression is built around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.errors import AtlasError
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.terms import Term


class EngineFailed(AtlasError):
    """The search ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The programs that abstractions are searched in."""

    terms: tuple[Term, ...]
    tasks: tuple[str, ...]
    """Of each term. Those of one task are alternatives: the cheapest of them counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """An abstraction: a term with holes, and where it may stand."""

    name: str
    """The head of its calls: `fn_3`."""

    body: Term
    """Its holes are `#0`, `#1` …; it may call patterns before it."""

    sort: str
    hole_sorts: tuple[str, ...]
    """Of each hole: an expression, the rest of a block, or the name of a variable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a search found."""

    patterns: tuple[Pattern, ...]
    terms: tuple[Term, ...]
    """The corpus with the patterns called."""

    notes: tuple[str, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """Searches for abstractions that make a corpus smaller."""

    @property
    def name(self) -> str:
        """For people."""
        ...

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Proposal:
        """The abstractions that pay most, each allowed to call those before it.

        Raises:
            Cancelled: `cancelled` said so.
            EngineFailed: The search ended without an answer.
        """
        ...


def nothing_found(corpus: Corpus, notes: Sequence[str] = ()) -> Proposal:
    """A proposal that leaves everything as it is."""
    return Proposal(patterns=(), terms=corpus.terms, notes=tuple(notes))
