"""Patterns of statements that programs have in common."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.statements import Candidate, statement_patterns
from atlas.learning.terms.codec import encode
from atlas.learning.terms.heads import REST
from atlas.learning.terms.patterns import match

COUNT = """
    {count} = 0
    for x in {values}:
        for y in {values}:
            if {condition}:
                {count} += 1
            else:
                {count} = max({count} - 2, -{count} * {count}, x + y)
"""
ALONE = "def f(xs):" + COUNT.format(values="xs", condition="x < y", count="n") + "    return n\n"
GUARDED = (
    "def f(a, b):\n    if not a:\n        return None"
    + COUNT.format(values="b", condition="x * y == 3", count="found")
    + "    return found\n"
)
BEFORE_MORE = "def f(xs):" + COUNT.format(values="xs", condition="x > y", count="n") + "    return n * 2\n"


class Finding:
    """A search that finds nothing."""

    name = "nothing"

    def __init__(self, *, is_by_model: bool = False) -> None:
        self._is_by_model = is_by_model

    def abstractions(self, corpus: Corpus, limits: object, **_: object) -> PatternProposal:
        return PatternProposal(patterns=(), terms=corpus.terms, is_by_model=self._is_by_model)


def candidates(*sources: str, tasks: str = "abcdef") -> list[Candidate]:
    terms = {str(number): encode(ast.parse(source)) for number, source in enumerate(sources)}
    return statement_patterns(terms, {name: tasks[int(name)] for name in terms}, "fn_s")


def learned(*sources: str, is_by_model: bool = False) -> Compression:
    return compress(sources, engine=Finding(is_by_model=is_by_model))


def test_statements_match_at_the_start_of_a_block_and_later_in_it() -> None:
    found = [each for each in candidates(ALONE, GUARDED) if each.pattern.sort == REST]
    assert ("0", "1") in {each.programs for each in found}


def test_statements_match_before_others_that_differ() -> None:
    found = candidates(ALONE, BEFORE_MORE)
    assert any(REST in each.pattern.hole_sorts for each in found)


PAIRWISE = """
def f(xs):
    found = []
    for x in xs:
        found.append({first} * x * x + x)
        found.append({second} * x * x - x)
        found.append({third} * x * x // 7)
    return found[{number}]
"""


def test_three_programs_share_a_pattern_where_each_two_have_one_more_detail_in_common() -> None:
    shared = [{"first": 2, "second": 3, "third": 5}, {"first": 2, "second": 4, "third": 6}]
    shared.append({"first": 8, "second": 3, "third": 6})
    found = candidates(*(PAIRWISE.format(**values, number=number) for number, values in enumerate(shared)))
    assert ("0", "1", "2") in {each.programs for each in found}


def test_programs_of_one_task_have_no_candidates() -> None:
    assert candidates(ALONE, GUARDED, tasks="aa") == []


@pytest.mark.parametrize("sources", [(ALONE, GUARDED), (ALONE, BEFORE_MORE)])
def test_each_candidate_matches_code_of_the_programs_that_it_names(sources: tuple[str, ...]) -> None:
    terms = [encode(ast.parse(source)) for source in sources]
    for each in candidates(*sources):
        for name in each.programs:
            assert any(match(each.pattern, part) for part in terms[int(name)].walk())


def test_what_a_search_missed_is_learned_and_what_differs_is_an_argument() -> None:
    found = learned(ALONE, GUARDED, BEFORE_MORE)
    assert found.abstractions[0].uses == ("0", "1", "2")
    for name, arguments in (("0", ([1, 2, 3],)), ("1", (True, [1, 3])), ("2", ([1, 2, 3],))):
        assert result(found.rewritten[name].standalone, *arguments) == result(found.rewritten[name].before, *arguments)


def result(source: str, *arguments: object) -> object:
    space: dict[str, Callable[..., object]] = {}
    exec(source, space)
    return space["f"](*arguments)


def test_nothing_is_added_to_what_a_language_model_proposes() -> None:
    assert learned(ALONE, GUARDED, BEFORE_MORE, is_by_model=True).abstractions == ()
