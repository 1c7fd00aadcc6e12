"""Stores whose successful attempts hold Python programs that have a function in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import atlas
from atlas.jobs.artefact import CACHE
from atlas.jobs.compression import compress_now
from atlas.jobs.compression_file import CompressionFile, CompressionResult
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.strategies import StitchCompressionStrategy
from atlas.memory.concepts.memory import COLLECTION
from tests.support.records import attempt
from tests.support.stores import make_store, opened_store

PROGRAM = """def tidy_{what}(texts):
    found = {{}}
    for {each} in texts:
        word = ' '.join({each}.strip().lower().replace('-', ' ').split())
        found[word] = found.get(word, 0) + 1
    return {result}
"""
RESULTS = ("found", "len(found)", "sorted(found)", "max(found.values())")
CALLS = ("{'a': 2}", "1", "['a']", "2")
SHARED = {
    "prime": """def is_prime({n}):
    if {n} < 2:
        return False
    for {d} in range(2, int({n} ** 0.5) + 1):
        if {n}% {d} == 0:
            return False
    return True


{use}
""",
    "runs": """def runs({n}):
    found = []
    for {d} in {n}:
        if found and found[-1][0] == {d}:
            found[-1][1] += 1
        else:
            found.append([{d}, 1])
    return found


{use}
""",
}
USES = {
    "prime": (
        ("def primes(xs):\n    return [x for x in xs if is_prime(x)]", "primes([1, 2, 9]) == [2]"),
        (
            "def following(n):\n    n += 1\n    while not is_prime(n):\n        n += 1\n    return n",
            "following(8) == 11",
        ),
        ("def total(xs):\n    return sum(x for x in xs if is_prime(x))", "total([2, 3, 4]) == 5"),
        ("def both(a, b):\n    return is_prime(a) and is_prime(b)", "both(3, 7)"),
    ),
    "runs": (
        ("def encoded(text):\n    return ''.join(f'{n}{c}' for c, n in runs(text))", "encoded('aab') == '2a1b'"),
        ("def longest(text):\n    return max(n for _, n in runs(text))", "longest('abb') == 2"),
        ("def squeezed(text):\n    return ''.join(c for c, _ in runs(text))", "squeezed('aab') == 'ab'"),
        ("def n_runs(text):\n    return len(runs(text))", "n_runs('aba') == 3"),
    ),
}


def dozen() -> list[atlas.Trajectory]:
    """Twelve attempts at different tasks, whose programs share three functions, four each."""
    planted = [
        attempt(
            f"Task {number} about {what}",
            task_id=f"{what}-{number}",
            solution=SHARED[what].format(n="nmkx"[number], d="ijdp"[number], use=use),
            context={"tests": f"assert {check}"},
        )
        for what, uses in USES.items()
        for number, (use, check) in enumerate(uses)
    ]
    return [*programs(), *planted]


def programs(*, tested: bool = True, **given: Any) -> list[atlas.Trajectory]:
    """Four attempts whose programs count words, each with its test if they are tested."""
    return [
        attempt(
            f"Count the {what}",
            task_id=f"count-{what}",
            solution=PROGRAM.format(what=what, each=what[0], result=result),
            context={"tests": f"assert tidy_{what}(['a', 'A ']) == {expected}"} if tested else {},
            **given,
        )
        for what, result, expected in zip(("words", "names", "lines", "keys"), RESULTS, CALLS, strict=True)
    ]


def make_programs(path: Path, **given: Any) -> list[str]:
    """A store of such attempts; their ids."""
    return make_store(path, programs(**given))


def compress(memory: atlas.MemorySystem, **where: Any) -> CompressionResult:
    """What the worker does, with a search that is quick."""
    return compress_now(memory, where, strategy=StitchCompressionStrategy(engine=AntiUnificationEngine()))


def compress_store(path: Path, **where: Any) -> CompressionResult:
    """The same, kept beside the store."""
    with opened_store(path) as memory:
        found = compress(memory, **where)
        CompressionFile(path / CACHE, COLLECTION).save(found)
    return found
