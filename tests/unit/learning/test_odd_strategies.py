"""From attempts to concepts: only what is proven is proposed unseen, and odd names cost nothing else."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any

import pytest

from atlas.core.errors import Cancelled, InvalidInput
from atlas.core.types import CodeConcept, Task
from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.limits import Limits
from atlas.learning.strategies import Proposal, StitchCompressionStrategy
from tests.support.learning.builders import attempt, task
from tests.support.learning.prime_programs import programs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")


def attempts(*, with_tests: bool = True) -> list[Any]:
    return [attempt(one.source, of=_task(one.id, one.tests if with_tests else "")) for one in programs()]


def _task(name: str, tests: str) -> Task:
    return replace(task(name, tests=tests), id=name)


def strategy(documenter: Any = None) -> StitchCompressionStrategy:
    return StitchCompressionStrategy(documenter, engine=AntiUnificationEngine(), limits=Limits(iterations=5))


def proposed(documenter: Any = None, **options: Any) -> Proposal:
    return asyncio.run(strategy(documenter).propose(attempts(), **options))


class Failing:
    """Names what cannot be renamed."""

    async def document(self, concept: CodeConcept, examples: Any) -> CodeConcept:
        raise InvalidInput("the code fixes the name")


class Noting:
    """Notes that it was asked for a name."""

    def __init__(self, told: list[str]) -> None:
        self._told = told

    async def document(self, concept: CodeConcept, examples: Any) -> CodeConcept:
        self._told.append("naming")
        return concept


class Titled:
    """Gives a concept another name than its function has."""

    async def document(self, concept: CodeConcept, examples: Any) -> CodeConcept:
        return replace(await HeuristicDocumenter().document(concept, examples), name="title")


def test_what_programs_prove_is_proposed():
    (learned,) = proposed().learned
    assert (learned.n_verified, learned.n_checked) == (6, 6)
    (concept,) = asyncio.run(strategy().compress(attempts()))
    assert concept.code == learned.concept.code


def test_what_no_program_proves_is_returned_and_said_to_be_unproven(caplog):
    (concept,) = asyncio.run(strategy().compress(attempts(with_tests=False)))
    assert concept.metadata["proven"] is False
    assert "1 of 1 concepts are not proven" in caplog.text


def test_a_concept_that_cannot_be_named_keeps_its_placeholder():
    (learned,) = proposed(Failing()).learned
    assert (learned.concept.name, learned.n_verified) == ("concept_0", 6)


def test_a_concept_may_have_another_name_than_its_function():
    (learned,) = proposed(Titled()).learned
    assert (learned.concept.name, learned.n_verified) == ("title", 6)
    held = replace(learned.concept, name="of the library")
    (again,) = proposed(library=[held]).learned
    assert (again.is_known, again.concept.name, again.n_verified) == (True, "of the library", 6)


def test_cancelling_ends_the_runs():
    told: list[float] = []
    with pytest.raises(Cancelled, match="the run was cancelled"):
        proposed(progress=lambda stage, share: told.append(share), cancelled=lambda: any(0 < one < 1 for one in told))


def test_cancelling_ends_the_naming():
    told: list[str] = []
    proposed(Noting(told), progress=lambda stage, share: told.append(stage))
    n_before_naming = told.index("naming")
    told.clear()
    with pytest.raises(Cancelled, match="naming the concepts was cancelled"):
        proposed(progress=lambda stage, share: told.append(stage), cancelled=lambda: len(told) >= n_before_naming)


def test_the_share_of_programs_that_were_run_is_told():
    told: list[tuple[str, float]] = []
    proposed(progress=lambda stage, share: told.append((stage, share)))
    assert {share for stage, share in told if stage == "verifying"} > {0, 1 / 6, 0.5, 1}
