"""Learning a library: its worth for unseen programs, and it beside Stitch as it comes and plain anti-unification."""

from __future__ import annotations

import ast
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from atlas.core.types import Trajectory
from atlas.importers import Limits as ReadingLimits
from atlas.importers import detect
from atlas.library_learning.compressing import Compression, Verify, compress
from atlas.library_learning.engines import Engine
from atlas.library_learning.extracting import programs_of
from atlas.library_learning.limits import Limits
from atlas.library_learning.normalising import normalise
from atlas.library_learning.programs import Program
from atlas.library_learning.reusing import held_out
from atlas.library_learning.running import Sandbox
from atlas.library_learning.stitch import StitchEngine
from atlas.library_learning.unifying import AntiUnificationEngine
from atlas.library_learning.verifying import Verifier
from benchmarks.measuring import Figure

REPOSITORY = Path(__file__).resolve().parent.parent
SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_PROGRAMS", "10,50,160,400").split(","))
"""ATLAS_BENCHMARK_PROGRAMS: numbers of programs, with commas."""

LOGS = ("mbpp_py_reflexion_gpt4.jsonl", "humaneval_py_reflexion_gpt4.jsonl")
AS_IT_COMES = StitchEngine(costs=lambda head: 100)
"""Stitch with its own costs: every head counts the same, whether it is read or is only syntax."""


def figures() -> Iterator[Figure]:
    """Reuse first, then sizes, then planted functions."""
    programs = _real(Path(os.environ.get("ATLAS_REAL_DATA") or REPOSITORY.parent / "shared" / "data"))
    with Sandbox() as sandbox:
        verify = _verifying(Verifier(sandbox))
        if programs:
            yield from _unseen(programs, verify)
            for n in SIZES:
                yield from _at(_spread(programs, n), verify)
        else:
            print("no real programs: set ATLAS_REAL_DATA to the directory of real agent runs", file=sys.stderr)
    yield from _planted()


def _real(directory: Path) -> list[Program]:
    """GPT-4's solutions that pass their tests; the same task once."""
    paths = [directory / "reflexion" / name for name in LOGS]
    rows = [row.item for path in paths if path.exists() for row in detect(path).read(path, ReadingLimits())]
    return list(programs_of(item for item in rows if isinstance(item, Trajectory)).programs)


def _spread(programs: Sequence[Program], n: int) -> list[Program]:
    rows = np.linspace(0, len(programs) - 1, min(n, len(programs))).round().astype(int)
    return [programs[row] for row in rows]


def _verifying(verifier: Verifier) -> Verify:
    states = {"same": True, "different": False, "unproven": None}

    def verify(pairs: Sequence[tuple[Program, str]]) -> Mapping[str, bool | None]:
        return {name: states[verdict.state] for name, verdict in verifier.verdicts(pairs).items()}

    return verify


def _unseen(programs: Sequence[Program], verify: Verify) -> Iterator[Figure]:
    found = held_out(programs, verify=verify)
    plain = held_out(programs, engine=AntiUnificationEngine(), limits=Limits(max_arity=3), verify=verify)
    what = f"unseen half, {found.reuse.n_programs} programs"
    yield Figure(
        what=f"{what}: tokens saved; beside anti-unification",
        ours=_saved(found.reuse.ratio),
        baseline=_saved(plain.reuse.ratio),
        unit="%",
        aim="over 0",
    )
    yield Figure(
        what=f"{what}: functions used, of {found.reuse.n_functions}",
        ours=len(found.reuse.used),
        baseline=len(plain.reuse.used),
        unit="",
        aim="most of them",
    )
    yield Figure(
        what=f"{what}: programs that did something else", ours=found.reuse.n_refused, baseline=None, unit="", aim="0"
    )


def _saved(ratio: float) -> float:
    return 100 * (1 - 1 / ratio)


@dataclass(frozen=True, slots=True)
class _Measured:
    compression: Compression
    seconds: float
    megabytes: float


def _measured(programs: Sequence[Program], verify: Verify | None, engine: Engine, **limits: int) -> _Measured:
    start = time.perf_counter()
    made = compress(programs, engine=engine, limits=Limits(**limits), verify=verify)
    seconds = time.perf_counter() - start
    own, search = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return _Measured(made, seconds, max(own, search) / (1 << 20 if sys.platform == "darwin" else 1 << 10))


def _at(programs: Sequence[Program], verify: Verify) -> Iterator[Figure]:
    """Ours beside Stitch as it comes, and beside anti-unification."""
    ours = _measured(programs, verify, StitchEngine())
    plain = _measured(programs, verify, AS_IT_COMES)
    unified = _measured(programs, verify, AntiUnificationEngine(), max_arity=3)
    made, size = ours.compression, f"{ours.compression.n_programs} programs"
    yield Figure(
        what=f"{size}: abstractions, of {made.n_found} found and {made.n_valid} valid; beside Stitch as it comes",
        ours=len(made.abstractions),
        baseline=len(plain.compression.abstractions),
        unit="",
        aim="",
    )
    yield Figure(
        what=f"{size}: tokens before and after, the library of {made.tokens_library} counted",
        ours=made.tokens_after + made.tokens_library,
        baseline=made.tokens_before,
        unit="",
        aim="fewer",
    )
    for name, other in (("Stitch as it comes", plain), ("anti-unification", unified)):
        yield Figure(
            what=f"{size}: tokens saved, library counted; beside {name}",
            ours=_saved(made.ratio),
            baseline=_saved(other.compression.ratio),
            unit="%",
            aim="over 0",
        )
        yield Figure(
            what=f"{size}: time, with running; beside {name}",
            ours=ours.seconds,
            baseline=other.seconds,
            unit="s",
            aim="400 under 180",
        )
    yield from _passing(programs, made, verify)
    yield Figure(what=f"{size}: most memory", ours=ours.megabytes, baseline=None, unit="MB", aim="400 under 1000")


def _passing(programs: Sequence[Program], made: Compression, verify: Verify) -> Iterator[Figure]:
    """How many of the rewritten programs still pass their tests, and of how many the tests run what was put in."""
    rewritten = [(one, made.rewritten[one.id].standalone) for one in programs if one.id in made.rewritten]
    verdicts = list(verify(rewritten).values())
    n_run = len(verdicts) - verdicts.count(None)
    if not n_run:
        return
    size = f"{made.n_programs} programs"
    share = 100 * verdicts.count(True) / n_run
    yield Figure(
        what=f"{size}: rewritten ones that pass their tests, of {n_run}", ours=share, baseline=None, unit="%", aim="100"
    )
    proving = {name for each in made.abstractions for name in each.proofs}
    what = f"{size}: rewritten ones whose tests run what was put in"
    yield Figure(what=what, ours=100 * len(proving) / n_run, baseline=None, unit="%", aim="most")


PLANTED = (
    "total = 0\nfor {x} in {xs}:\n    if {x} > {k}:\n        total += {x} * {x}\n    else:\n        total -= 1",
    "low, high = 0, len({xs})\nwhile low < high:\n    middle = (low + high) // 2\n"
    "    if {xs}[middle] < {k}:\n        low = middle + 1\n    else:\n        high = middle\ntotal = low",
    "total = sorted(set({xs}) - set({xs}[:{k}]), key=lambda {x}: (-{x}, str({x})))[0]",
    "total = {{}}\nfor {x} in {xs}:\n    total.setdefault({x} % {k}, []).append({x})\n"
    "total = max(map(len, total.values()))",
)
NOISE = (
    "print('{noise}', {k})",
    "other{k} = [{k}, '{noise}'] * {k}",
    "assert {xs} is not {k}, '{noise}'",
    "{noise} = ({xs}, {k} ** {k})",
)


def _planted() -> Iterator[Figure]:
    """How many of the functions that programs were written with are found again."""
    programs = _with_planted(40)
    for name, engine in (("ours", StitchEngine()), ("anti-unification", AntiUnificationEngine())):
        made = compress(programs, engine=engine, limits=Limits(iterations=20, max_arity=3))
        n_found = sum(_is_found(text, made) for text in PLANTED)
        yield Figure(
            what=f"planted functions in {len(programs)} programs, recalled by {name}",
            ours=n_found / len(PLANTED),
            baseline=None,
            unit="",
            aim="1" if name == "ours" else "",
        )


def _with_planted(n: int) -> list[Program]:
    """Each function in a quarter of the programs, under other names and between other statements."""
    generator = np.random.default_rng(0)
    made = []
    for number in range(n):
        names = generator.permutation(["rows", "items", "values", "queue", "points", "words"])
        filled = {"xs": names[0], "x": names[1][0], "k": number % 7 + 2, "noise": f"{names[2]}{number}"}
        before, after = (NOISE[row].format(**filled) for row in generator.permutation(len(NOISE))[:2])
        body = "\n".join([before, PLANTED[number % len(PLANTED)].format(**filled), after, "return total"])
        source = f"def solve{number}({filled['xs']}):\n    " + body.replace("\n", "\n    ")
        made.append(Program(id=str(number), task_id=str(number), description="", source=source))
    return made


def _is_found(text: str, made: Compression) -> bool:
    """Whether a function holds as many statements and operations of a planted one as it has."""
    wanted = _shape(text.format(xs="xs", x="x", k=2))
    return any(wanted <= _shape(_with_calls(each.name, made)) for each in made.abstractions)


def _with_calls(name: str, made: Compression) -> str:
    """The code of a function, after that of those that it calls."""
    by_name = {each.name: each for each in made.abstractions}
    return "\n".join([*(_with_calls(other, made) for other in by_name[name].calls), by_name[name].source])


def _shape(source: str) -> set[str]:
    """The statements, operators and called functions of a piece of code; plain assignments are everywhere."""
    nodes = list(ast.walk(normalise(source)))
    kinds = {type(node).__name__ for node in nodes if isinstance(node, (ast.stmt, ast.operator, ast.cmpop, ast.Lambda))}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return (kinds - {"Assign"}) | called
