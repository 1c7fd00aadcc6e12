"""One-sentence explanations of why compressing attempts gave no function."""

from __future__ import annotations

from collections.abc import Mapping

from atlas.learning.rewrite.gates import FUNCTION

PROGRAM = "program: "
"""Prefix of the reasons for leaving out a program."""

LINE = "line: "
"""Prefix of the reasons for leaving lines of programs out of the search."""

MAX_REASONS = 3
"""Largest number of reasons in a sentence."""


def explain_empty_result(
    n_attempts: int, n_programs: int, dropped: Mapping[str, int], refused: Mapping[str, int]
) -> str:
    """Return a sentence that explains why no function was learned.

    Args:
        n_programs: Programs that were compressed.
        dropped: Number of attempts without a program, keyed by reason.
        refused: Number of functions and programs that were left out, keyed by reason.
    """
    if not n_programs:
        attempts = "1 attempt" if n_attempts == 1 else f"{n_attempts:,} attempts"
        programs = {
            reason.removeprefix(PROGRAM): count for reason, count in refused.items() if reason.startswith(PROGRAM)
        }
        reasons = _list_counts({**dropped, **programs})
        return f"no Python program to compress in {attempts}{': ' if reasons else ''}{reasons}"
    if n_programs == 1:
        return "only one program, but a function has to occur in programs of at least two tasks"
    return _explain_refusals(n_programs, refused) + _describe_own_checks(
        sum(count for reason, count in refused.items() if reason.startswith(LINE))
    )


def _explain_refusals(n_programs: int, refused: Mapping[str, int]) -> str:
    """Return why no function was kept, with the number of refused functions for each reason."""
    refused_functions = {reason: count for reason, count in refused.items() if not reason.startswith((PROGRAM, LINE))}
    if not refused_functions:
        return f"no code that two tasks share in {n_programs:,} programs"
    n_refused = sum(refused_functions.values())
    counted_functions = "1 function" if n_refused == 1 else f"{n_refused:,} functions"
    return (
        f"nothing worth keeping in {n_programs:,} programs: {counted_functions} refused, "
        f"{_list_counts({reason.removeprefix(FUNCTION): count for reason, count in refused_functions.items()})}"
    )


def _describe_own_checks(n_lines: int) -> str:
    """Return a clause on the number of lines that were left out of the search, or an empty string if there are none."""
    if not n_lines:
        return ""
    lines = (
        "1 top-level assertion or print was" if n_lines == 1 else (f"{n_lines:,} top-level assertions and prints were")
    )
    return f"; {lines} not searched, as the agent's own checks"


def _list_counts(counts: Mapping[str, int]) -> str:
    largest = sorted(counts.items(), key=lambda pair: -pair[1])[:MAX_REASONS]
    n_others = sum(counts.values()) - sum(count for _, count in largest)
    if n_others:
        largest.append(("other reasons", n_others))
    return ", ".join(f"{reason} ({count:,})" for reason, count in largest)
