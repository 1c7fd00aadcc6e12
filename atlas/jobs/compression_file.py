"""The result of compressing a store's programs, kept beside the store until somebody chooses from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from atlas.core.codec import decode_concept, encode_concept
from atlas.core.types import CodeConcept
from atlas.jobs.artefact import ArtefactFile
from atlas.learning.rewritings import Rewriting
from atlas.learning.strategies import LearnedConcept
from atlas.learning.terms.programs import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressionResult:
    """The functions that a store's programs have in common, and how far they were proven."""

    learned: tuple[LearnedConcept, ...]
    """Each after those that it calls."""

    rewritings: tuple[Rewriting, ...]
    n_attempts: int
    """Successful ones that were asked for."""

    n_programs: int
    """Programs that were compressed."""

    tokens_before: int
    tokens_after: int
    """Of the programs, without the library."""

    tokens_library: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many attempts gave no program, by the reason why."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """Why functions and programs were left out, with how many."""

    notes: tuple[str, ...] = ()
    engine: str = ""
    """Name of the search, for people: `Stitch`, or a language model's name."""

    where: Mapping[str, Any] = field(default_factory=dict)
    """The filter that the attempts passed."""

    revision: int = 0
    """The store's, before the attempts were read."""

    ledger_id: str = ""
    made_at: str = ""
    """As ISO 8601."""

    def rewritings_with(self, concept_id: str) -> list[Rewriting]:
        """Return the programs that need a concept."""
        return [rewriting for rewriting in self.rewritings if concept_id in rewriting.concepts]

    def with_callees(self, ids: Collection[str]) -> list[CodeConcept]:
        """Return the concepts with these ids and all found with them that they call, each after its own callees."""
        needed = set(ids)
        for learned in reversed(self.learned):
            if learned.concept.id in needed:
                needed.update(learned.concept.calls)
        return [learned.concept for learned in self.learned if learned.concept.id in needed and not learned.is_known]


class CompressionFile(ArtefactFile[CompressionResult]):
    """The latest result for one collection."""

    kind = "compression"

    def _header(self, artefact: CompressionResult) -> Mapping[str, Any]:
        plain = {name: getattr(artefact, name) for name in (*_NUMBERS, *_TEXTS, "notes")}
        plain |= {name: dict(getattr(artefact, name)) for name in ("dropped", "refused", "where")}
        learned = [{**_figures(one), "concept": encode_concept(one.concept)} for one in artefact.learned]
        return {**plain, "learned": learned, "rewritings": [asdict(one) for one in artefact.rewritings]}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> CompressionResult:
        """Return what a header says. `TypeError`, `KeyError` or `ValueError` where it is not what was saved."""
        return CompressionResult(
            learned=tuple(_learned(each) for each in header["learned"]),
            rewritings=tuple(_rewriting(each) for each in header["rewritings"]),
            notes=_texts(header["notes"]),
            where=_of(dict, header["where"]),
            dropped=_counts(header["dropped"]),
            refused=_counts(header["refused"]),
            **{name: _of(int, header[name]) for name in _NUMBERS},
            **{name: _of(str, header[name]) for name in _TEXTS},
        )


_NUMBERS = ("n_attempts", "n_programs", "tokens_before", "tokens_after", "tokens_library", "revision")
_TEXTS = ("ledger_id", "made_at", "engine")
_FIGURES = ("saving", "arity", "n_tasks", "n_verified", "n_checked")


def _figures(learned: LearnedConcept) -> dict[str, Any]:
    return {name: getattr(learned, name) for name in (*_FIGURES, "is_known")}


def _learned(raw: Mapping[str, Any]) -> LearnedConcept:
    concept = decode_concept(raw["concept"])
    is_known = _of(bool, raw["is_known"])
    if not is_known and concept.source != "learned":
        raise ValueError(f"expected a learned concept, got a {concept.source} one")
    return LearnedConcept(concept=concept, is_known=is_known, **{name: _of(int, raw[name]) for name in _FIGURES})


def _rewriting(raw: Mapping[str, Any]) -> Rewriting:
    program = Program(**{name: _of(str, value) for name, value in raw["program"].items()})
    does_the_same = raw["does_the_same"]
    return Rewriting(
        program=program,
        before=_of(str, raw["before"]),
        after=_of(str, raw["after"]),
        concepts=_texts(raw["concepts"]),
        does_the_same=None if does_the_same is None else _of(bool, does_the_same),
    )


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_of(str, value) for value in _of(list, values))


def _counts(raw: Any) -> dict[str, int]:
    return {_of(str, name): _of(int, n) for name, n in _of(dict, raw).items()}
