"""Forty well-known functions get names that fit, however they are written, and what looks like them does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.learning.terms.names import function_of, parameters_of
from atlas.testing import ScriptedLLM
from benchmarks.naming import judged
from benchmarks.naming.judging import FITTING, SAYING_NOTHING, WRONG, Verdict, on_near_misses, on_table
from benchmarks.naming.near_misses import NEAR_MISSES
from benchmarks.naming.table import TABLE


def unfit(verdicts: list[Verdict], *fits: str) -> list[tuple[str, str]]:
    return [(one.name, one.source) for one in verdicts if one.verdict not in fits]


def test_the_table_has_forty_functions_and_twenty_that_only_look_like_them():
    assert len(TABLE) >= 40
    assert len(NEAR_MISSES) >= 20
    assert {miss.looks_like for miss in NEAR_MISSES} <= {name for row in TABLE for name in row.names} | {"copy_grid"}


def test_every_way_to_write_a_function_of_the_table_gets_a_name_that_fits():
    assert unfit(list(on_table(HeuristicDocumenter)), FITTING) == []


def test_what_only_looks_like_one_gets_a_name_for_what_it_does_or_one_that_says_nothing():
    assert unfit(list(on_near_misses(HeuristicDocumenter)), FITTING, SAYING_NOTHING) == []


def answering(name: str) -> Callable[[], LLMAutoDocumenter]:
    """Return the maker of a documenter whose model calls everything by one name."""

    class Stubborn:
        async def complete(self, system: str, prompt: str, **options: Any) -> dict[str, Any]:
            function = function_of(json.loads(prompt)["code"])
            parameters = [{"name": own, "type": ""} for own in parameters_of(function)]
            said = {"name": name, "description": "Something.", "parameters": parameters, "returns": "", "guidance": ""}
            return await ScriptedLLM([said]).complete(system, prompt, **options)

    return lambda: LLMAutoDocumenter(Stubborn())


def test_a_model_is_judged_by_the_same_table():
    verdicts = list(on_table(answering("is_prime")))
    fitting = [one for one in verdicts if one.verdict == FITTING]
    assert [one.expected for one in fitting] == [
        row.names for row in TABLE if "is_prime" in row.names for _ in row.sources
    ]
    assert {one.verdict for one in verdicts} == {FITTING, WRONG}
    assert {one.verdict for one in on_near_misses(answering("is_prime"))} == {WRONG}


def test_the_name_of_a_variant_counts_as_the_name():
    taken = [name for row in TABLE for name in row.names]
    numbered = list(on_table(lambda: HeuristicDocumenter(taken)))
    assert {one.name for one in numbered} >= {"is_prime_variant", "clamp_variant", "factorial_variant"}
    assert unfit(numbered, FITTING) == []


def test_the_benchmark_counts_the_verdicts():
    figures = {figure.what: figure.ours for figure in judged("a model", answering("is_prime"))}
    assert figures["100 well-known functions, named by a model: fitting"] == 3
    assert figures["100 well-known functions, named by a model: wrong"] == 97
    assert figures[f"{len(NEAR_MISSES)} near misses, named by a model: wrong"] == 100
