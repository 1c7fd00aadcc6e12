"""The judgement of a documenter by the names that it gives to well-known functions, and to those that look alike."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from atlas.core.types import CodeConcept
from atlas.protocols.strategies import ConceptDocumenter
from benchmarks.naming.near_misses import NEAR_MISSES
from benchmarks.naming.table import TABLE

FITTING, SAYING_NOTHING, WRONG = "fitting", "saying nothing", "wrong"

_COUNTED = re.compile(r"concept_\d+")
_NUMBER = re.compile(r"(_variant)?(_\d+)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A name that was given to a function, and how it fits."""

    source: str
    name: str
    expected: frozenset[str]
    verdict: str


def on_table(documenter: Callable[[], ConceptDocumenter]) -> Iterator[Verdict]:
    """Yield a verdict on each way to write each function of the table. A fresh documenter names each."""
    for row in TABLE:
        for source in row.sources:
            yield _judged(documenter(), source, row.names)


def on_near_misses(documenter: Callable[[], ConceptDocumenter]) -> Iterator[Verdict]:
    """Yield a verdict on each function that looks like one of the table."""
    for miss in NEAR_MISSES:
        yield _judged(documenter(), miss.source, miss.names)


def _judged(documenter: ConceptDocumenter, source: str, names: frozenset[str]) -> Verdict:
    concept = CodeConcept(name="concept_0", description="concept_0", code=source, source="learned")
    name = asyncio.run(documenter.document(concept, [])).name
    plain = _NUMBER.sub("", name)
    verdict = SAYING_NOTHING if _COUNTED.fullmatch(name) else FITTING if {name, plain} & names else WRONG
    return Verdict(source=source, name=name, expected=names, verdict=verdict)
