"""A rewritten program is proven only by an original that proves something."""

from __future__ import annotations

import os

import pytest

from atlas.core.errors import Cancelled
from atlas.learning.sandbox.runner import RunLimits, Sandbox
from atlas.learning.sandbox.verification import Verdict, Verifier
from tests.support.learning.builders import program

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")

TWICE = program("def twice(x):\n    return 2 * x\n", "assert twice(2) == 4")


class CountingSandbox(Sandbox):
    """Keeps how many programs it ran."""

    n_runs = 0

    def run_all(self, programs, **options):
        self.n_runs += len(programs)
        return super().run_all(programs, **options)


@pytest.fixture(scope="module")
def sandbox():
    with CountingSandbox(RunLimits(memory_megabytes=256)) as opened:
        yield opened


@pytest.fixture
def verifier(sandbox) -> Verifier:
    sandbox.n_runs = 0
    return Verifier(sandbox)


def verdict(verifier: Verifier, original, source: str) -> Verdict:
    return verifier.judge_all([(original, source)])[original.id]


def test_a_rewritten_program_that_passes_is_the_same(verifier):
    found = verdict(verifier, TWICE, "def fn_0(x):\n    return x + x\n\ndef twice(x):\n    return fn_0(x)\n")
    assert (found.state, found.is_proven, found.reason) == ("same", True, "")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def twice(x):\n    return x\n", "failed: AssertionError at line 1 of the tests: assert twice(2) == 4"),
        ("def twice(x):\n    return fn_0(x)\n", "failed: NameError: name 'fn_0' is not defined"),
        ("def twice(x) return", "error: SyntaxError"),
        ("def twice(x):\n    print(x)\n    return 2 * x\n", "it prints a different output"),
        ("import os; os._exit(0)", "error: its process ended"),
    ],
)
def test_a_rewritten_program_that_ends_otherwise_is_different(verifier, source, reason):
    found = verdict(verifier, TWICE, source)
    assert (found.state, found.is_proven) == ("different", False)
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(
    ("original", "reason"),
    [
        (
            program("def twice(x):\n    return x\n", TWICE.tests),
            "it does not pass its own tests: failed, AssertionError",
        ),
        (program("import random\nprint(random.random())", "x = 1"), "two runs of it differ"),
        (program("def twice(x):\n    return x\n"), "it has no tests"),
    ],
)
def test_an_original_that_shows_nothing_proves_nothing(verifier, original, reason):
    assert verifier.find_unproven([original])[original.id].startswith(reason)
    found = verdict(verifier, original, original.source + "\n")
    assert (found.state, found.is_proven) == ("unproven", False)


@pytest.mark.parametrize(
    "tests",
    [
        "def test_twice():\n    assert twice(2) == 4",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        assert twice(2) == 4\n"
        "if __name__ == '__main__':\n    unittest.main()",
        "def check(candidate):\n    assert candidate(2) == 4",
        "METADATA = {'author': 'x'}",
        "assert callable(twice)",
        "try:\n    assert twice(2) == 4\nexcept Exception:\n    pass",
    ],
)
def test_tests_that_call_nothing_of_an_original_prove_nothing(verifier, tests):
    untested = program(TWICE.source, tests)
    found = verdict(verifier, untested, "def twice(x):\n    return x\n")
    assert (found.state, found.reason) == ("unproven", "its tests call none of its functions")


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        ("class A:\n    @staticmethod\n    def f():\n        return 1", "assert A.f() == 1"),
        ("total = sum(range(4))", "assert total == 6"),
        ("if True:\n    def f():\n        return 1", "print(f())"),
        ("def f():\n    raise ValueError", "try:\n    f()\nexcept ValueError:\n    pass"),
    ],
)
def test_whatever_an_original_defines_its_tests_may_depend_on(verifier, source, tests):
    assert verifier.find_unproven([program(source, tests)]) == {}


def test_originals_are_run_three_times_and_never_again(verifier, sandbox):
    verifier.find_unproven([TWICE, TWICE])
    assert sandbox.n_runs == 3
    verdict(verifier, TWICE, TWICE.source + "\n")
    assert sandbox.n_runs == 4


def test_a_program_that_was_not_rewritten_is_not_run_again(verifier, sandbox):
    assert verdict(verifier, TWICE, TWICE.source).is_proven
    assert sandbox.n_runs == 3


def test_what_a_program_without_tests_shows_may_count(sandbox):
    verifier = Verifier(sandbox, compare_output=True)
    script = program("total = sum(range(4))\nprint(total)")
    quiet = program("def f(): pass", name="q")
    assert verdict(verifier, script, "def fn_0(): return 6\ntotal = fn_0()\nprint(total)").is_proven
    assert verdict(verifier, script, "total = '6'\nprint(total)").reason == "it ends with different values of total"
    assert verdict(verifier, quiet, "def f(): return 1").reason == ("it has no tests, no output and no final values")


def test_the_short_form_says_yes_no_or_nothing(verifier):
    others = [program(TWICE.source, TWICE.tests, name="other"), program("x = 1", name="untested")]
    sources = ["def twice(x): return x + x", "def twice(x): return x", "x = 2"]
    found = verifier.compare_all(list(zip([TWICE, *others], sources, strict=True)))
    assert found == {"p": True, "other": False, "untested": None}


def test_cancelling_is_passed_on(sandbox):
    verifier = Verifier(sandbox, is_cancelled=lambda: True)
    with pytest.raises(Cancelled):
        verifier.judge_all([(TWICE, "x = 1")])
