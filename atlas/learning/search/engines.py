"""What proposes abstractions: the search that compression is built around."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.errors import AtlasError
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.patterns import Pattern
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
