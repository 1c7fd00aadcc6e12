"""Verification that a rewritten program behaves like the original, by running both."""

from __future__ import annotations

import symtable
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from atlas.learning.rewrite.executable import raising_stub
from atlas.learning.sandbox.runner import RunResult, Sandbox
from atlas.learning.terms.programs import Program
from atlas.protocols.infra import Progress

Ending = RunResult | str
"""Result of an original that two runs agree on, or the reason why no rewritten program can be compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The result of running a program before and after it was rewritten."""

    state: Literal["same", "different", "unproven"]
    """Result of the comparison, or `unproven` if the original has no result to compare with."""

    reason: str = ""
    """The difference, or why verification is impossible, in one line. Empty if both behave the same."""

    @property
    def is_proven(self) -> bool:
        """True if the rewritten program may take the original's place."""
        return self.state == "same"


class Verifier:
    """Verification of rewritten programs against their originals, which are run twice and cached.

    An original can be compared only if it passes its tests with the same output in both runs, and if the tests fail
    when all functions raise, which shows that the tests call them. A program without tests is unproven, unless
    `compare_output` is set. Then output and final values are compared.
    """

    def __init__(
        self, sandbox: Sandbox, *, compare_output: bool = False, is_cancelled: Callable[[], bool] | None = None
    ) -> None:
        """Create a verifier that calls `is_cancelled` about ten times a second while programs run."""
        self._sandbox = sandbox
        self._is_cancelled = is_cancelled
        self._compare_output = compare_output
        self._endings: dict[tuple[str, str], Ending] = {}

    def find_unproven(self, programs: Iterable[Program], *, on_progress: Progress | None = None) -> dict[str, str]:
        """Run originals. Return the ids of those that cannot be compared with rewritten programs, each with a reason.

        Raises:
            Cancelled: `is_cancelled` returned True.
        """
        originals = list(programs)
        keys = list(dict.fromkeys(_key(program) for program in originals if _key(program) not in self._endings))
        runnable = [key for key in keys if key[1] or self._compare_output]
        run_all = partial(self._sandbox.run_all, on_progress=on_progress, is_cancelled=self._is_cancelled)
        first_results = dict(zip(runnable, run_all(runnable), strict=True))
        passing = [key for key in runnable if first_results[key].outcome == "passed"]
        disabled = {key: (_replace_definitions(key[0]), key[1]) for key in passing if key[1]}
        results = run_all([*passing, *disabled.values()])
        second_results = dict(zip(passing, results, strict=False))
        disabled_results = dict(zip(disabled, results[len(passing) :], strict=True))
        self._endings |= dict.fromkeys(keys, "it has no tests")
        self._endings |= {
            key: _classify_ending(first_results[key], second_results.get(key), disabled_results.get(key), bool(key[1]))
            for key in runnable
        }
        endings = {program.id: self._endings[_key(program)] for program in originals}
        return {program_id: ending for program_id, ending in endings.items() if isinstance(ending, str)}

    def judge_all(
        self, pairs: Sequence[tuple[Program, str]], *, on_progress: Progress | None = None
    ) -> dict[str, Verdict]:
        """Run rewritten programs. Return a verdict on each, keyed by the original's id.

        Args:
            pairs: Originals with their rewritten sources.
            on_progress: Called for each original that was not run before, then for each rewritten source.

        Raises:
            Cancelled: `is_cancelled` returned True.
        """
        self.find_unproven([program for program, _ in pairs], on_progress=on_progress)
        to_run = {
            (source, program.tests): None
            for program, source in pairs
            if isinstance(self._endings[_key(program)], RunResult) and source != program.source
        }
        results = self._sandbox.run_all(list(to_run), on_progress=on_progress, is_cancelled=self._is_cancelled)
        rewritten_results = dict(zip(to_run, results, strict=True))
        return {
            program.id: _make_verdict(self._endings[_key(program)], rewritten_results.get((source, program.tests)))
            for program, source in pairs
        }

    def compare_all(
        self, pairs: Sequence[tuple[Program, str]], *, on_progress: Progress | None = None
    ) -> dict[str, bool | None]:
        """Run rewritten programs. Return whether each behaves as its original, keyed by the original's id.

        The value is None if the behaviour cannot be compared.

        Raises:
            Cancelled: `is_cancelled` returned True.
        """
        answers = {"same": True, "different": False, "unproven": None}
        verdicts = self.judge_all(pairs, on_progress=on_progress)
        return {program_id: answers[verdict.state] for program_id, verdict in verdicts.items()}


def _key(program: Program) -> tuple[str, str]:
    return program.source, program.tests


def _replace_definitions(source: str) -> str:
    """Return the source with every name that it defines at its top level redefined as a function that raises."""
    try:
        with warnings.catch_warnings(action="ignore"):  # such as invalid escapes in the program
            symbols = symtable.symtable(source, "<program>", "exec").get_symbols()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source  # code that does not parse does not run either
    names = [name.get_name() for name in symbols if name.is_assigned() and not name.is_imported()]
    return "\n".join([source, *map(raising_stub, names)]) + "\n"


def _classify_ending(
    first_run: RunResult, second_run: RunResult | None, disabled_run: RunResult | None, has_tests: bool
) -> Ending:
    """Return the ending of an original, given the results of its runs.

    Args:
        second_run: None if the original was run only once.
        disabled_run: Result of the run after `_replace_definitions`, or None if the original has no tests.
    """
    if second_run is None or second_run.outcome != "passed":
        failure = second_run or first_run
        return f"it does not {'pass its own tests' if has_tests else 'run'}: {failure.outcome}, {failure.detail}"
    if (first_run.printed, first_run.values) != (second_run.printed, second_run.values):
        return "two runs of it differ"
    if not has_tests and not first_run.output and not any(first_run.values.values()):
        return "it has no tests, no output and no final values"
    if disabled_run is not None and not _difference(first_run, disabled_run):
        return "its tests call none of its functions"
    return first_run


def _make_verdict(original: Ending, rewritten: RunResult | None) -> Verdict:
    if isinstance(original, str):
        return Verdict(state="unproven", reason=original)
    if rewritten is None:
        return Verdict(state="same")
    reason = _difference(original, rewritten)
    return Verdict(state="different" if reason else "same", reason=reason)


def _difference(original: RunResult, rewritten: RunResult) -> str:
    """Return the difference between two results, or an empty string. Values that only `rewritten` has are ignored."""
    if rewritten.outcome != "passed":
        return f"{rewritten.outcome}: {rewritten.detail}"
    if rewritten.printed != original.printed:
        return "it prints a different output"
    changed = [name for name, value in original.values.items() if rewritten.values.get(name) != value]
    return f"it ends with different values of {', '.join(changed)}" if changed else ""
