"""The protocol of a search for abstractions, which compression is built around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.errors import AtlasError
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import Term


class EngineError(AtlasError):
    """A search that ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The programs that abstractions are searched in."""

    terms: tuple[Term, ...]
    tasks: tuple[str, ...]
    """Task of each term. Terms of one task are alternatives, of which the cheapest counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """The result of a search."""

    patterns: tuple[Pattern, ...]
    terms: tuple[Term, ...]
    """Corpus with the patterns called."""

    notes: tuple[str, ...] = ()


@runtime_checkable
class Engine(Protocol):
    """A search for abstractions that make a corpus smaller."""

    @property
    def name(self) -> str:
        """The name to show."""
        ...

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> Proposal:
        """Return the abstractions that pay most, each allowed to call those before it.

        Raises:
            Cancelled: `cancelled` returned True.
            EngineError: The search ended without an answer.
        """
        ...


def empty_proposal(corpus: Corpus, notes: Sequence[str] = ()) -> Proposal:
    """Return a proposal without abstractions."""
    return Proposal(patterns=(), terms=corpus.terms, notes=tuple(notes))
