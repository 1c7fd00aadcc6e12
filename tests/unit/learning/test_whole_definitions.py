"""Whole functions and classes that several programs define."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from atlas.learning.compression import compress
from atlas.learning.reading import no_tools
from atlas.learning.results import Compression
from atlas.learning.reuse import reuse
from atlas.learning.rewrite.sharing import parse_programs
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.limits import Limits
from atlas.learning.terms.programs import Program
from atlas.learning.whole_definitions import verify_sharing
from tests.support.learning.planted import KINDS, N_OF_KIND, decoys, planted


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def learned(sandbox: Sandbox) -> Compression:
    return compress([*planted(), *decoys()], sandbox=sandbox)


def test_the_decoys_are_half_of_at_least_sixty_programs() -> None:
    assert len(decoys()) == len(planted())
    assert len(decoys()) + len(planted()) >= 60
    sources = {program.source.partition("def solve")[0] for program in decoys()}
    assert len(sources) == len(decoys()), "no helper of a decoy is that of another"


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_each_kind_of_helper_is_learned_and_proven(learned: Compression, kind: str) -> None:
    ids = {f"{kind.replace(' ', '_')}_{number}" for number in range(N_OF_KIND)}
    found = [function for function in learned.abstractions if ids <= set(function.uses)]
    assert found
    assert all(ids <= set(function.proofs) for function in found)


def test_no_helper_of_a_decoy_is_learned(learned: Compression) -> None:
    users = {name for function in learned.abstractions for name in function.uses}
    assert not {program.id for program in decoys()} & users


def test_all_rewritten_programs_do_the_same_when_they_are_run(learned: Compression, sandbox: Sandbox) -> None:
    programs = {program.id: program for program in [*planted(), *decoys()]}
    rewritten = learned.rewritten
    assert len(rewritten) == len(planted())
    runs = sandbox.run_all([(each.standalone, programs[name].tests) for name, each in rewritten.items()])
    assert [(run.outcome, run.detail) for run in runs] == [("passed", "")] * len(rewritten)


def test_the_saving_counts_the_library(learned: Compression) -> None:
    assert learned.tokens_before > learned.tokens_after + learned.tokens_library


def test_definitions_are_used_in_programs_that_were_not_seen(sandbox: Sandbox) -> None:
    programs = planted()[: 4 * N_OF_KIND]
    unseen = [program for program in programs if program.id.endswith("_2")]
    seen = [program for program in programs if not program.id.endswith("_2")]
    result = reuse(compress(seen, sandbox=sandbox).library, unseen, sandbox=sandbox)
    assert result.rewritten.keys() == {program.id for program in unseen}
    assert result.n_refused == 0
    assert result.tokens_after < result.tokens_before
    tests = {program.id: program.tests for program in unseen}
    runs = sandbox.run_all([(each.standalone, tests[name]) for name, each in result.rewritten.items()])
    assert {run.outcome for run in runs} == {"passed"}
    assert list(result.saved.values()) == sorted(result.saved.values(), reverse=True)
    assert result.saved.keys() == result.used.keys()


LOOP = """def chosen(numbers):
    result = []
    for number in numbers:
        if number > 2:
            result.append(number * number + 1)
    return result
"""
COMPREHENSION = "def chosen(values):\n    return [value * value + 1 for value in values if value > 2]\n"


def equal_in_canonical_form(tests: str = "assert f([1, 3])") -> list[Program]:
    uses = ("def f(x):\n    return sum(chosen(x))\n", "def f(x):\n    return max(chosen(x), default='none')\n")
    pairs = enumerate(zip((LOOP, COMPREHENSION), uses, strict=True))
    return [Program(id=str(n), task_id=str(n), source=f"{code}\n\n{use}", tests=tests) for n, (code, use) in pairs]


def test_a_loop_and_a_comprehension_are_shared_where_tests_decide(sandbox: Sandbox) -> None:
    learned = compress(equal_in_canonical_form(), sandbox=sandbox)
    (function,) = learned.abstractions
    assert "for value in values if value > 2" in function.source, "the shorter one is kept"
    assert function.uses == function.proofs == ("0", "1")


def whole_programs(also: str = "") -> list[Program]:
    """Programs of two tasks whose whole code is one function, and what else stands in each."""
    sources = (f"{LOOP.replace('chosen', name)}{also}" for name in ("first", "second"))
    names = zip(("first", "second"), sources, strict=True)
    return [Program(id=name, task_id=name, source=code, tests=f"assert {name}([3]) == [10]") for name, code in names]


def test_a_function_that_is_a_whole_program_is_left_to_the_search(sandbox: Sandbox) -> None:
    assert compress(whole_programs(), sandbox=sandbox).library.definitions == ()


def test_a_function_beside_other_code_is_shared(sandbox: Sandbox) -> None:
    for also in ("\nKEPT = 3\n", "\ndef other(number):\n    return number - 1\n"):
        assert len(compress(whole_programs(also), sandbox=sandbox).library.definitions) == 1


def test_where_no_tests_decide_only_equal_code_is_shared(sandbox: Sandbox) -> None:
    assert compress(equal_in_canonical_form()).library.definitions == ()
    assert compress(equal_in_canonical_form(tests=""), sandbox=sandbox).library.definitions == ()


def test_a_whole_program_that_equals_a_shared_helper_uses_it() -> None:
    helper = (
        "def middle(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2] - ordered[0] * 2\n"
    )
    calls = ("print(middle([3, 1, 2]))", "total = middle([4, 4]) + 1", "for row in [[1], [2]]:\n    print(middle(row))")
    sources = {"alone": helper} | {f"calling {number}": f"{helper}\n{call}\n" for number, call in enumerate(calls)}
    programs = [Program(id=name, task_id=name, description="", source=source) for name, source in sources.items()]
    sharing, _ = verify_sharing(parse_programs(programs, no_tools), Limits(), "concept_", None)
    assert sharing.used == dict.fromkeys(sources, ("concept_0",))
