"""Learning a library: its worth for unseen programs, and it beside Stitch as it comes and plain anti-unification."""

from __future__ import annotations

import ast
import os
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from atlas.core.types import Trajectory
from atlas.importers import Limits as ReadingLimits
from atlas.importers import detect
from atlas.learning.compression import compress
from atlas.learning.extraction import programs_of
from atlas.learning.results import Abstraction, Compression
from atlas.learning.reuse import evaluate_held_out
from atlas.learning.rewrite.gates import operations
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.sandbox.verification import Verifier
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Engine
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.parsing import parse
from atlas.learning.terms.programs import Program
from atlas.learning.whole_definitions import Verify
from benchmarks.baselines.anti_unifying import anti_unify
from benchmarks.learning.programs_file import read_attempts
from benchmarks.measuring import Figure

GIVEN = Path(os.environ.get("ATLAS_REAL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
"""ATLAS_REAL_DATA: the directory of real agent runs, and of programs that others have published."""

SIZES = tuple(int(n) for n in os.environ.get("ATLAS_BENCHMARK_PROGRAMS", "10,50,160,1000").split(","))
"""ATLAS_BENCHMARK_PROGRAMS: numbers of programs, with commas. All there are is the most."""

SPLITS = 4
"""Number of ways to split the tasks into two halves."""

FILE = os.environ.get("ATLAS_BENCHMARK_FILE")
"""ATLAS_BENCHMARK_FILE: a JSONL file of programs to measure on in place of those, as `programs_file` reads it."""

LOGS = ("mbpp_py_reflexion_gpt4.jsonl", "humaneval_py_reflexion_gpt4.jsonl")


def as_it_comes(head: str) -> int:
    """Return Stitch's own costs: every head counts the same, whether it is read or is only syntax."""
    return 100


def figures() -> Iterator[Figure]:
    """Yield reuse first, then sizes, then planted functions."""
    programs = solved_programs()
    with Sandbox() as sandbox:
        verify = Verifier(sandbox).compare_all
        if programs:
            yield from _unseen(programs, verify)
            for n in SIZES:
                yield from _at(_spread(programs, n))
        else:
            print("no real programs: set ATLAS_REAL_DATA to the directory of real agent runs", file=sys.stderr)
    yield from _planted()


def solved_programs() -> list[Program]:
    """Return the programs of `solved_attempts`."""
    return list(programs_of(solved_attempts()).programs)


def solved_attempts() -> list[Trajectory]:
    """Return attempts that pass their tests: those of ATLAS_BENCHMARK_FILE, or GPT-4's, one for each task.

    Empty where the data are absent.
    """
    if FILE:
        return read_attempts(Path(FILE))
    paths = [GIVEN / "reflexion" / name for name in LOGS]
    rows = [row.item for path in paths if path.exists() for row in detect(path).read(path, ReadingLimits())]
    return [item for item in rows if isinstance(item, Trajectory) and item.outcome.success]


def _spread(programs: Sequence[Program], n: int) -> list[Program]:
    rows = np.linspace(0, len(programs) - 1, min(n, len(programs))).round().astype(int)
    return [programs[row] for row in rows]


def _unseen(programs: Sequence[Program], verify: Verify) -> Iterator[Figure]:
    """Yield what each split of the tasks into halves saves on the half that was not learned from."""
    splits = [evaluate_held_out(programs, verify=verify, seed=seed) for seed in range(SPLITS)]
    saved = [_saved(split.reuse.ratio) for split in splits]
    for number, split in enumerate(splits):
        what = f"unseen half {number + 1}, {split.reuse.n_programs} programs"
        n_used = f"{len(split.reuse.used)} of {split.reuse.n_functions} functions used"
        yield Figure(what=f"{what}: tokens saved, {n_used}", ours=saved[number], baseline=None, unit="%", aim="")
    mean = sum(saved) / SPLITS
    yield Figure(what="unseen halves: tokens saved in the mean", ours=mean, baseline=None, unit="%", aim="at least 2.4")
    n_refused = sum(split.reuse.n_refused for split in splits)
    n_rewritten = sum(len(split.reuse.rewritten) for split in splits)
    what = f"unseen halves: programs that did something else, beside {n_rewritten} that did the same"
    yield Figure(what=what, ours=n_refused, baseline=None, unit="", aim="0")
    plain = evaluate_held_out(programs, engine=AntiUnificationEngine(), limits=Limits(max_arity=3), verify=verify)
    what = "unseen half 1: tokens saved; beside anti-unification"
    yield Figure(what=what, ours=saved[0], baseline=_saved(plain.reuse.ratio), unit="%", aim="more")


def _saved(ratio: float) -> float:
    return 100 * (1 - 1 / ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measurement:
    """The result of one compression, in a process of its own."""

    n_programs: int
    n_found: int
    n_valid: int
    n_kept: int
    n_doing_more: int
    """Of those kept: those that do more than one call or operation."""

    tokens_before: int
    tokens_after: int
    tokens_library: int
    n_run: int
    """Rewritten programs that have tests."""

    n_passing: int
    n_proving: int
    """Of those that pass: those whose tests run what was put in."""

    seconds: float
    megabytes: float
    """At most at a time, the search and the programs that were run counted."""

    @property
    def saved(self) -> float:
        return 100 * (1 - (self.tokens_after + self.tokens_library) / self.tokens_before)


def _measured(programs: Sequence[Program], engine: Engine, max_arity: int = Limits().max_arity) -> _Measurement:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:  # the most memory of a process only grows
        return alone.submit(_measure_compression, programs, engine, max_arity).result()


def _measure_compression(programs: Sequence[Program], engine: Engine, max_arity: int) -> _Measurement:
    with Sandbox() as sandbox:
        verify, start = Verifier(sandbox).compare_all, time.perf_counter()
        limits = Limits(max_arity=max_arity, max_programs=len(programs))
        compression = compress(programs, engine=engine, limits=limits, verify=verify)
        seconds = time.perf_counter() - start
        rewritten = [
            (program, compression.rewritten[program.id].standalone)
            for program in programs
            if program.id in compression.rewritten
        ]
        verdicts = list(verify(rewritten).values())
    return _Measurement(
        n_programs=compression.n_programs,
        n_found=compression.n_found,
        n_valid=compression.n_valid,
        n_kept=len(compression.abstractions),
        n_doing_more=sum(map(_does_more, compression.abstractions)),
        tokens_before=compression.tokens_before,
        tokens_after=compression.tokens_after,
        tokens_library=compression.tokens_library,
        n_run=len(verdicts) - verdicts.count(None),
        n_passing=verdicts.count(True),
        n_proving=len({name for each in compression.abstractions for name in each.proofs}),
        seconds=seconds,
        megabytes=_most_memory(),
    )


def _does_more(function: Abstraction) -> bool:
    """Return whether a function does more than one call or operation."""
    return len(list(operations(parse(function.source).body))) > 1


def _most_memory() -> float:
    parent, child = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return (parent + child) / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _measure_baseline(programs: Sequence[Program]) -> _Measurement:
    """Measure the baseline on programs."""
    start = time.perf_counter()
    shared = anti_unify({program.id: normalise(program.source) for program in programs})
    seconds = time.perf_counter() - start
    with Sandbox() as sandbox:
        rewritten = [(program, shared.sources[program.id]) for program in programs if program.id in shared.sources]
        verdicts = list(Verifier(sandbox).compare_all(rewritten).values())
    library = sum(map(n_tokens, shared.functions))
    return _Measurement(
        n_programs=len(programs),
        n_found=len(shared.functions),
        n_valid=shared.n_valid,
        n_kept=len(shared.functions),
        n_doing_more=0,
        tokens_before=shared.tokens_before,
        tokens_after=shared.tokens_after - library,
        tokens_library=library,
        n_run=len(verdicts) - verdicts.count(None),
        n_passing=verdicts.count(True),
        n_proving=0,
        seconds=seconds,
        megabytes=0.0,
    )


def _at(programs: Sequence[Program]) -> Iterator[Figure]:
    """Yield ours beside Stitch as it comes, our second engine, and plain pairwise anti-unification."""
    ours = _measured(programs, StitchEngine())
    baselines = {
        "Stitch as it comes": _measured(programs, StitchEngine(costs=as_it_comes)),
        "our anti-unification": _measured(programs, AntiUnificationEngine(), 3),
        "plain pairs": _measure_baseline(programs),
    }
    size = f"{ours.n_programs} programs"
    what = f"{size}: tokens before and after, the library of {ours.tokens_library} counted"
    after = ours.tokens_after + ours.tokens_library
    yield Figure(what=what, ours=after, baseline=ours.tokens_before, unit="", aim="fewer")
    for name, other in baselines.items():
        yield from _beside(size, ours, name, other)
    if ours.n_kept:
        what = f"{size}: functions that do more than one call or operation, of {ours.n_kept}"
        yield Figure(what=what, ours=100 * ours.n_doing_more / ours.n_kept, baseline=None, unit="%", aim="at least 80")
    if ours.n_run:
        what = f"{size}: rewritten ones whose tests run what was put in, of {ours.n_run}"
        yield Figure(what=what, ours=100 * ours.n_proving / ours.n_run, baseline=None, unit="%", aim="most")
    yield Figure(what=f"{size}: most memory", ours=ours.megabytes, baseline=None, unit="MB", aim="all under 1000")


def _beside(size: str, ours: _Measurement, name: str, other: _Measurement) -> Iterator[Figure]:
    label = f"of {ours.n_found} found, {ours.n_valid} valid"
    beside = f"{name}, {other.n_found} found, {other.n_valid} valid"
    yield Figure(
        what=f"{size}: functions kept, {label}; {beside}", ours=ours.n_kept, baseline=other.n_kept, unit="", aim=""
    )
    yield Figure(
        what=f"{size}: tokens saved, library counted; {name}",
        ours=ours.saved,
        baseline=other.saved,
        unit="%",
        aim="3.13 of all",
    )
    yield Figure(
        what=f"{size}: rewritten ones that pass their tests, of {ours.n_run}; {name}, of {other.n_run}",
        ours=_share(ours),
        baseline=_share(other),
        unit="%",
        aim="100",
    )
    yield Figure(what=f"{size}: time; {name}", ours=ours.seconds, baseline=other.seconds, unit="s", aim="all under 180")


def _share(measurement: _Measurement) -> float:
    """Return the size of the rewritten programs in percent of the originals, or 100 if there are none."""
    return 100 * measurement.n_passing / measurement.n_run if measurement.n_run else 100.0


PLANTED = (
    "total = 0\nfor {x} in {xs}:\n    if {x} > {k}:\n        total += {x} * {x}\n    else:\n        total -= 1",
    "low, high = 0, len({xs})\nwhile low < high:\n    middle = (low + high) // 2\n"
    "    if {xs}[middle] < {k}:\n        low = middle + 1\n    else:\n        high = middle\ntotal = low",
    "total = sorted(set({xs}) - set({xs}[:{k}]), key=lambda {x}: (-{x}, str({x})))[0]",
    "total = {{}}\nfor {x} in {xs}:\n    total.setdefault({x}% {k}, []).append({x})\n"
    "total = max(map(len, total.values()))",
)
NOISE = (
    "print('{noise}', {k})",
    "other{k} = [{k}, '{noise}'] * {k}",
    "assert {xs} is not {k}, '{noise}'",
    "{noise} = ({xs}, {k} ** {k})",
)


def _planted() -> Iterator[Figure]:
    """Yield how many of the functions that programs were written with are found again."""
    programs = _with_planted(40)
    for name, engine in (("ours", StitchEngine()), ("anti-unification", AntiUnificationEngine())):
        compression = compress(programs, engine=engine, limits=Limits(iterations=20, max_arity=3))
        n_found = sum(_is_found(text, compression) for text in PLANTED)
        yield Figure(
            what=f"planted functions in {len(programs)} programs, recalled by {name}",
            ours=n_found / len(PLANTED),
            baseline=None,
            unit="",
            aim="1" if name == "ours" else "",
        )


def _with_planted(n: int) -> list[Program]:
    """Return programs with each function in a quarter of them, under other names and between other statements."""
    generator = np.random.default_rng(0)
    programs = []
    for number in range(n):
        names = generator.permutation(["rows", "items", "values", "queue", "points", "words"])
        filled = {"xs": names[0], "x": names[1][0], "k": number % 7 + 2, "noise": f"{names[2]}{number}"}
        before, after = (NOISE[row].format(**filled) for row in generator.permutation(len(NOISE))[:2])
        body = "\n".join([before, PLANTED[number % len(PLANTED)].format(**filled), after, "return total"])
        source = f"def solve{number}({filled['xs']}):\n    " + body.replace("\n", "\n    ")
        programs.append(Program(id=str(number), task_id=str(number), description="", source=source))
    return programs


def _is_found(text: str, compression: Compression) -> bool:
    """Return whether a function holds as many statements and operations of a planted one as it has."""
    planted = _shape(text.format(xs="xs", x="x", k=2))
    return any(planted <= _shape(_with_calls(each.name, compression)) for each in compression.abstractions)


def _with_calls(name: str, compression: Compression) -> str:
    """Return the code of a function, after that of those that it calls."""
    by_name = {each.name: each for each in compression.abstractions}
    return "\n".join([*(_with_calls(other, compression) for other in by_name[name].calls), by_name[name].source])


def _shape(source: str) -> set[str]:
    """Return the statements, operators and called functions of some code, without plain assignments."""
    nodes = list(ast.walk(normalise(source)))
    kinds = {type(node).__name__ for node in nodes if isinstance(node, (ast.stmt, ast.operator, ast.cmpop, ast.Lambda))}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return (kinds - {"Assign"}) | called
