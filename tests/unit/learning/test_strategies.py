"""From attempts to concepts: named, proven, known again, and told apart from names that programs use themselves."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from atlas.core.errors import Cancelled
from atlas.core.types import CodeConcept, Trajectory
from atlas.learning.examples import RecordedProgram, find_examples, run_concept_examples
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.strategies import Proposal, StitchCompressionStrategy
from tests.support.learning.prime_attempts import attempt, attempts


def propose(given: Sequence[Trajectory], library: Sequence[CodeConcept] = (), **options: Any) -> Proposal:
    strategy = StitchCompressionStrategy(options.pop("documenter", None), engine=AntiUnificationEngine())
    return asyncio.run(strategy.propose(given, library, **options))


@pytest.fixture(scope="module")
def found() -> Proposal:
    """What the four programs have in common."""
    return propose(attempts())


def test_what_programs_have_in_common_becomes_a_concept_proven_by_their_tests(found: Proposal):
    (learned,) = found.learned
    assert "range(2, int(number ** 0.5) + 1)" in learned.concept.code
    assert learned.concept.source == "learned"
    assert set(learned.concept.found_in) == {"a0", "a1", "a2", "a3"}
    assert (learned.n_tasks, learned.n_checked, learned.n_verified) == (4, 4, 4)
    assert learned.saving > 0
    assert not learned.is_known
    made = found.compression
    assert made.tokens_after + made.tokens_library == made.tokens_before - learned.saving


def test_a_concept_has_calls_of_its_programs_as_examples_and_they_run(found: Proposal):
    concept = found.learned[0].concept
    calls = dict(concept.examples)
    assert calls[f"{concept.name}(2)"] == "True", "one of the tests asks about 2"
    assert calls[f"{concept.name}(1)"] == "False"
    assert concept.metadata["calls_recorded"] == len(calls) == 4
    assert all(one.passed for one in run_concept_examples(concept))


SPREADING = "def told_{n}(x):\n    return [len(str(x)) * 3 + 1, {n}]\n"


def spreading(*values: object) -> list[tuple[str, str]]:
    """Return the examples of what four programs share that are tested with these values."""
    tests = "\n".join(f"assert told_{{n}}({value!r})[1] == {{n}}" for value in values)
    given = [attempt(n, source=SPREADING.format(n=n), tests=tests.format(n=n)) for n in range(4)]
    (learned,) = propose(given).learned
    return list(learned.concept.examples)


def test_examples_are_the_shortest_calls_with_different_results():
    examples = spreading("a" * 400, "bcd", 7, "a" * 40, 8, "ef")
    assert [result for _, result in examples] == ["[4, 0]", "[4, 1]", "[4, 2]", "[4, 3]"]
    assert max(len(call) for call, _ in examples) < 40


def test_a_long_call_is_an_example_only_if_there_is_no_other():
    assert [result for _, result in spreading("a" * 400, "b" * 500)] == ["[1201, 0]"]


def test_an_example_that_gives_something_else_is_told(found: Proposal):
    concept = found.learned[0].concept
    calls = ((f"{concept.name}(9)", "True"), (f"{concept.name}('9')", "False"))
    other, raising = run_concept_examples(replace(concept, examples=calls))
    assert (other.passed, other.actual) == (False, "False")
    assert not raising.passed
    assert raising.actual.startswith("TypeError")


NOISY = """import random
print("noise " * 5_000)
def told_{n}(x):
    return [int(x * {n} + 1) % 7 + len(str(x)) * random.randint(5, 5), {n}]
"""
PRINTING = 'def shout(x):\n    print("noise " * 5_000, end="")\n    return [x, x * 3]\n'
CHANGING = "import random\ndef told_{n}(x):\n    return [random.random() + x, len(str(x)) * 3 + 1, {n}]\n"


def test_a_program_that_prints_much_tells_its_calls_nevertheless():
    given = [attempt(n, source=NOISY.format(n=n), tests=f"assert told_{n}(3)[1] == {n}") for n in range(4)]
    (learned,) = propose(given).learned
    assert learned.concept.examples
    assert all(one.passed for one in run_concept_examples(learned.concept))


def test_a_function_that_prints_much_has_examples(found: Proposal):
    concept = replace(found.learned[0].concept, name="shout", code=PRINTING)
    program = RecordedProgram(
        functions=PRINTING, program="", tests="shout(2)\nshout('a')", called_by={concept.id: "shout"}
    )
    with Sandbox() as sandbox:
        examples = find_examples([concept], [program], sandbox)[concept.id]
    assert examples == (("shout(2)", "[2, 6]"), ("shout('a')", "['a', 'aaa']"))
    assert all(run.passed for run in run_concept_examples(replace(concept, examples=examples)))


def test_a_call_that_gives_something_else_each_time_is_no_example():
    given = [attempt(n, source=CHANGING.format(n=n), tests=f"assert told_{n}(3)[2] == {n}") for n in range(4)]
    (learned,) = propose(given).learned
    assert learned.concept.examples == ()
    assert "calls_recorded" not in learned.concept.metadata


def test_the_rewritten_programs_call_the_concept_by_its_name_and_do_the_same(found: Proposal):
    (learned,) = found.learned
    assert len(found.rewritings) == 4
    for rewriting in found.rewritings:
        assert f"{learned.concept.name}(" in rewriting.after
        assert "** 0.5" in rewriting.before
        assert "** 0.5" not in rewriting.after
        assert rewriting.does_the_same is True
        assert rewriting.concepts == (learned.concept.id,)


def test_a_name_that_the_library_or_a_program_has_is_not_given_again(found: Proposal):
    first = found.learned[0].concept
    taken = CodeConcept(name=first.name, description="another", code=f"def {first.name}(a):\n    return a\n")
    (learned,) = propose(attempts(), [taken]).learned
    assert learned.concept.name != first.name
    assert learned.concept.name.isidentifier()
    assert not learned.is_known
    own = {
        node.id if isinstance(node, ast.Name) else node.name
        for one in attempts()
        for node in ast.walk(ast.parse(one.metadata["solution"]))
        if isinstance(node, ast.Name | ast.FunctionDef)
    }
    assert learned.concept.name not in own


class StubbornDocumenter:
    """Gives every function the same name, whatever else has it."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        code = concept.code.replace(concept.name, self.name)
        return replace(concept, name=self.name, code=code, signature=f"{self.name}(n)", description="Tells primes.")


def test_a_documenter_cannot_give_a_name_that_a_program_uses_itself():
    proposal = propose(attempts(), documenter=StubbornDocumenter("is_prime"))
    (learned,) = proposal.learned
    assert learned.concept.name != "is_prime"
    assert learned.concept.signature == f"{learned.concept.name}(n)"
    assert f"def {learned.concept.name}(" in learned.concept.code
    assert all(rewriting.does_the_same for rewriting in proposal.rewritings)


class SyncDocumenter:
    def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        return replace(concept, description="Tells primes.")


def test_a_documenter_may_be_sync():
    (learned,) = propose(attempts(), documenter=SyncDocumenter()).learned
    assert learned.concept.description == "Tells primes."


def test_a_concept_that_the_library_has_is_found_again_and_not_proposed(found: Proposal):
    held = replace(found.learned[0].concept, id="held", name="told", code=_renamed(found, "told"))
    proposal = propose(attempts(), [held])
    (learned,) = proposal.learned
    assert learned.is_known
    assert learned.concept.id == "held"
    assert proposal.concepts == []
    assert all("told(" in rewriting.after for rewriting in proposal.rewritings)


def _renamed(found: Proposal, name: str) -> str:
    concept = found.learned[0].concept
    return concept.code.replace(concept.name, name)


def test_programs_without_tests_are_rewritten_and_said_to_be_unproven():
    proposal = propose([attempt(number, tests="") for number in range(4)])
    (learned,) = proposal.learned
    assert (learned.n_checked, learned.n_verified) == (0, 0)
    assert learned.concept.examples == (), "no test runs it"
    assert {rewriting.does_the_same for rewriting in proposal.rewritings} == {None}
    assert learned.concept.metadata["proven"] is False
    assert proposal.concepts == [learned.concept]
    assert proposal.proven == []


WORD = "' '.join(text.strip().lower().replace('-', ' ').split())"
CONTEXTS = ("len({})", "[{}]", "{} or None", "({}, 1)", "{{{}}}", "not {}", "{}[0]", "{} * 2", "min({})", "-len({})")
COUNT = """def count{n}(texts):
    found = {{}}
    for text in texts:
        word = {word}
        found[word] = found.get(word, 0) + 1
    return sorted(found.items(), key=lambda pair: (-pair[1], pair))[:{n} + 1]
"""


def test_a_found_function_that_calls_another_comes_after_it_and_names_it():
    short = [f"def f{n}(text):\n    return {each.format(WORD)}\n" for n, each in enumerate(CONTEXTS)]
    sources = [*short, *(COUNT.format(n=n, word=WORD) for n in range(3))]
    tests = [f"assert f{n}(' A-b ') is not None" for n in range(len(CONTEXTS))]
    tests += [f"assert count{n}(['a', 'A ']) == [('a', 2)]" for n in range(3)]
    programs = zip(sources, tests, strict=True)
    given = [attempt(n, source=source, tests=test) for n, (source, test) in enumerate(programs)]
    proposal = asyncio.run(StitchCompressionStrategy(engine=StitchEngine()).propose(given))
    learned = [one.concept for one in proposal.learned]
    (caller,) = [concept for concept in learned if concept.calls]
    (callee,) = [concept for concept in learned if concept.id in caller.calls]
    assert learned.index(callee) < learned.index(caller)
    assert f"{callee.name}(" in caller.code
    assert {rewriting.does_the_same for rewriting in proposal.rewritings} == {True}


def test_programs_that_have_nothing_in_common_give_nothing():
    sources = ["def a(x):\n    return x + 1\n", "def b(t):\n    print(t)\n", "def c():\n    return 'z' * 3\n"]
    proposal = propose([attempt(n, source=source, tests="") for n, source in enumerate(sources)])
    assert proposal.learned == ()
    assert proposal.rewritings == ()
    assert proposal.compression.n_programs == 3
    assert proposal.compression.ratio == 1.0


def test_attempts_without_programs_give_nothing_and_say_why():
    proposal = propose([attempt(0, success=False), attempt(1, source="Just ask them.")])
    assert proposal.learned == ()
    assert proposal.compression.n_programs == 0
    assert sum(proposal.dropped.values()) == 2
    assert "the attempt did not succeed" in proposal.dropped
    assert propose([]).compression.n_programs == 0


def test_a_cancelled_compression_ends_without_an_answer():
    with pytest.raises(Cancelled, match="nothing was changed"):
        propose(attempts(), cancelled=lambda: True)


def test_every_program_that_calls_it_is_counted_whether_it_was_searched_or_not():
    sources = [(SPREADING.format(n=n), f"assert told_{n}(3)[1] == {n}") for n in range(14)]
    given = [attempt(n, source=source, tests=tests) for n, (source, tests) in enumerate(sources)]
    strategy = StitchCompressionStrategy(engine=AntiUnificationEngine(), limits=Limits(max_programs=8))
    (learned,) = asyncio.run(strategy.propose(given)).learned
    assert f"Found in {len(learned.concept.found_in)} programs." in learned.concept.description
    assert len(learned.concept.found_in) == 14


def test_a_whole_function_is_counted_in_every_program_that_defines_it():
    learned = propose([attempt(number) for number in range(14)]).learned
    prime = next(each for each in learned if "** 0.5" in each.concept.code)
    assert len(prime.concept.found_in) == prime.n_checked == 14
    assert all(each.saving > 0 for each in learned)


def test_compress_gives_the_concepts_alone(found: Proposal):
    strategy = StitchCompressionStrategy(engine=AntiUnificationEngine(), limits=Limits())
    (concept,) = asyncio.run(strategy.compress(attempts()))
    assert concept.code == found.learned[0].concept.code
    assert concept.metadata["proven"] is True


def compress(given: Sequence[Trajectory]) -> list[CodeConcept]:
    return asyncio.run(StitchCompressionStrategy(engine=AntiUnificationEngine()).compress(list(given)))


def test_compress_says_why_it_found_nothing(caplog: pytest.LogCaptureFixture):
    assert compress([attempt(n, source="Just ask them.") for n in range(12)]) == []
    assert (
        "no Python program to compress in 12 attempts: no part of the attempt parses as a whole Python program"
        in caplog.text
    )


def test_a_concept_of_the_library_that_is_found_again_keeps_what_is_said_of_its_proof(found: Proposal):
    held = replace(found.learned[0].concept, id="held", metadata={"proven": False})
    (learned,) = propose(attempts(), [held]).learned
    assert learned.is_known
    assert learned.concept.metadata == {"proven": False}
