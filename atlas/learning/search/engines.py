"""The protocol of a search for abstractions, which compression calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from atlas.core.errors import AtlasError
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import Term


class EngineError(AtlasError):
    """The error of a search that ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The programs that are searched for abstractions."""

    terms: tuple[Term, ...]
    tasks: tuple[str, ...]
    """Task of each term. Of several terms for one task, only the cheapest counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternProposal:
    """The patterns that a search proposes."""

    patterns: tuple[Pattern, ...]
    terms: tuple[Term, ...]
    """The corpus, rewritten to call the patterns."""

    notes: tuple[str, ...] = ()
    is_by_model: bool = False
    """True if a language model wrote the patterns. No patterns of statements are added to these."""


@runtime_checkable
class Engine(Protocol):
    """A search for abstractions that make a corpus smaller."""

    @property
    def name(self) -> str:
        """Display name of the search."""
        ...

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> PatternProposal:
        """Return the abstractions that save most tokens. An abstraction may call earlier ones.

        Raises:
            Cancelled: `cancelled` returned True.
            EngineError: The search ended without an answer.
        """
        ...


def empty_proposal(corpus: Corpus, notes: Sequence[str] = ()) -> PatternProposal:
    """Return a proposal without abstractions."""
    return PatternProposal(patterns=(), terms=corpus.terms, notes=tuple(notes))
