"""Functions that use an agent's tools: names that no part of a program binds."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator

import pytest

from atlas.core.types import Outcome, Task, Trajectory, VerificationSpec
from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.reuse import reuse
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.strategies import StitchCompressionStrategy
from atlas.learning.terms.programs import Program

TOOLS = """
def get_user(user_id):
    return {"id": user_id, "orders": [1, 2, 3]}

def get_order(order):
    return {"total": order * 10, "status": "delivered" if order % 2 else "pending"}

def notify(user, text):
    return (user, text)
"""
SHARED = """\
def solve(key):
    user = get_user(key)
    total = 0
    for order in user["orders"]:
        details = get_order(order)
        if details["status"] == "delivered":
            total += details["total"]
"""
ENDINGS = {
    "return total": "40",
    "return total * 2": "80",
    "return notify(key, total)": "('u', 40)",
    "print(total)\n    return -total": "-40",
}


def programs(make: Callable[[str], str] = str, call: str = "solve('u')") -> list[Program]:
    return [
        Program(
            id=f"p{number}",
            task_id=f"t{number}",
            description="",
            source=make(f"{SHARED}    {ending}\n"),
            tests=f"{make(TOOLS)}import asyncio\nassert {call} == {expected}\n",
        )
        for number, (ending, expected) in enumerate(ENDINGS.items())
    ]


def asynchronous(code: str) -> str:
    """Return code whose functions are all async, and whose calls of tools are awaited."""
    return re.sub(r"(?<!def )\b(get_user|get_order|notify)\(", r"await \1(", code.replace("def ", "async def "))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def learned(sandbox: Sandbox) -> Compression:
    return compress(programs(), sandbox=sandbox)


@pytest.fixture(scope="module")
def learned_async(sandbox: Sandbox) -> Compression:
    return compress(programs(asynchronous, "asyncio.run(solve('u'))"), sandbox=sandbox)


def test_a_function_keeps_its_tools_as_free_names_and_lists_them(learned: Compression) -> None:
    (function,) = learned.abstractions
    assert function.needs == ("get_order", "get_user")
    assert "import" not in function.source
    assert function.proofs == ("p0", "p1", "p2", "p3")


def test_without_running_tests_an_unbound_name_is_the_programs_own() -> None:
    found = compress(programs())
    assert found.abstractions == ()
    assert found.refused["uses a name that only its program defines"] > 0


def test_tools_that_are_listed_need_no_test() -> None:
    (function,) = compress(programs(), tools=["get_user", "get_order"]).abstractions
    assert function.needs == ("get_order", "get_user")
    assert function.proofs == ()


def test_a_name_that_the_program_binds_is_no_tool(sandbox: Sandbox) -> None:
    own = [
        Program(id=each.id, task_id=each.task_id, description="", source=f"{TOOLS}\n{each.source}", tests=tests)
        for each in programs()
        for tests in [each.tests.removeprefix(TOOLS)]
    ]
    assert all(not function.needs for function in compress(own, sandbox=sandbox).abstractions)


def test_functions_with_tools_are_used_in_programs_that_were_not_seen(learned: Compression, sandbox: Sandbox) -> None:
    source = f"{SHARED}    return total + 1\n"
    tests = f"{TOOLS}assert solve('u') == 41\n"
    program = Program(id="new", task_id="new", description="", source=source, tests=tests)
    result = reuse(learned.library, [program], sandbox=sandbox)
    assert "concept_0(key)" in result.rewritten["new"].after
    assert result.n_refused == 0


def test_a_function_that_awaits_is_async_and_its_calls_are_awaited(learned_async: Compression) -> None:
    (function,) = learned_async.abstractions
    assert function.source.startswith("async def concept_0(key):")
    assert function.proofs == ("p0", "p1", "p2", "p3")
    assert "await concept_0(key)" in learned_async.rewritten["p2"].after


def test_async_programs_do_the_same_when_they_are_run(learned_async: Compression) -> None:
    for program in programs(asynchronous, "asyncio.run(solve('u'))"):
        names: dict[str, object] = {"asyncio": asyncio}
        exec(learned_async.rewritten[program.id].standalone, names)
        exec(program.tests, names)


LOOPS = """\
async def solve(source):
    found = []
    async with source as lines:
        async for line in lines:
            cleaned = line.strip().lower()
            if cleaned and not cleaned.startswith("#"):
                found.append(cleaned.split("=", 1))
"""
SOURCE = """
import asyncio

class Source:
    async def __aenter__(self):
        return self.lines()

    async def __aexit__(self, *error):
        return False

    async def lines(self):
        for line in [" A=1 ", "# no", "B=2"]:
            await asyncio.sleep(0)
            yield line
"""


def test_async_loops_and_contexts_are_learned(sandbox: Sandbox) -> None:
    endings = {
        "return found": "[['a', '1'], ['b', '2']]",
        "return len(found)": "2",
        "return dict(found)": "{'a': '1', 'b': '2'}",
    }
    found = compress(
        [
            Program(
                id=str(number),
                task_id=str(number),
                description="",
                source=f"{LOOPS}    {ending}\n",
                tests=f"{SOURCE}assert asyncio.run(solve(Source())) == {expected}\n",
            )
            for number, (ending, expected) in enumerate(endings.items())
        ],
        sandbox=sandbox,
    )
    (function,) = found.abstractions
    assert "async for line in lines" in function.source
    assert function.proofs == ("0", "1", "2")


def test_what_is_awaited_is_not_moved_behind_another_effect(sandbox: Sandbox) -> None:
    """An argument that awaits comes after the calls before it, as in the programs."""
    tests = """
import asyncio
log = []
def note(text):
    log.append(text)
async def fetch(text):
    log.append(text)
    return text
asyncio.run(solve())
assert log == ['begin', {first!r}, 'middle', {first!r}, 'end'], log
"""
    body = """\
async def solve():
    note('begin')
    value = await fetch({first!r})
    note('middle')
    note(value)
    note('end')
    return {ending}
"""
    cases = [("a", "value"), ("b", "value + value"), ("c", "[value]"), ("d", "(value,)")]
    found = compress(
        [
            Program(
                id=first,
                task_id=first,
                description="",
                source=body.format(first=first, ending=ending),
                tests=tests.format(first=first),
            )
            for first, ending in cases
        ],
        sandbox=sandbox,
    )
    assert found.refused.get("changes the behaviour of a program", 0) == 0
    (function,) = found.abstractions
    assert set(function.proofs) == {"a", "b", "c", "d"}


def test_a_concept_is_stored_with_the_tools_that_it_needs() -> None:
    attempts = [
        Trajectory(
            task=Task(
                id=program.task_id,
                domain="orders",
                description=f"Sum the orders, {program.id}",
                verification=VerificationSpec("tests", {"tests": program.tests}),
            ),
            steps=(),
            outcome=Outcome(success=True),
            metadata={"solution": program.source},
        )
        for program in programs()
    ]
    (learned,) = asyncio.run(StitchCompressionStrategy().propose(attempts)).learned
    assert learned.is_proven
    assert learned.concept.tools == ("get_order", "get_user")
    assert learned.concept.calls == ()
