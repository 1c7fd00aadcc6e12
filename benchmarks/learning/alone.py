"""Runs of Stitch alone, each in a process of its own: it cannot be interrupted, and may end its process."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.learning import stitch_alone

MAX_ARITY = 3
MEGABYTES = 8_000
SECONDS = 1_800


class MissingAnswer(Exception):
    """A run that ended without an answer, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The costs before and after, and what it took. Costs are Stitch's own: 100 a name, 1 an application or a lambda.

    Of the programs of one task only the cheapest counts.
    """

    n_found: int
    before: int
    after: int
    library: int
    others_before: int
    """Cost of the held-out programs, 0 without any."""

    others_after: int
    seconds: float
    """Processor time of learning and rewriting."""

    megabytes: float
    """Most memory of the process, Python counted."""

    @property
    def ratio(self) -> float:
        """Before / after without the library, as Stitch's own table has it."""
        return self.before / self.after

    @property
    def ratio_with_library(self) -> float:
        return self.before / (self.after + self.library)

    @property
    def ratio_of_others(self) -> float:
        return self.others_before / self.others_after


def stitch(*, iterations: int, seconds: float = SECONDS, **programs: Any) -> Measurement:
    """Run Stitch with one thread and arity 3.

    Args:
        seconds: Time of day after which it is ended.
        programs: Either `programs`, s-expressions, and `others` to rewrite, or `dreamcoder`, the path of a bench.

    Raises:
        MissingAnswer: It took too long or too much memory, or refused the programs.
    """
    request = {"iterations": iterations, "max_arity": MAX_ARITY, "megabytes": MEGABYTES, **programs}
    command = [sys.executable, "-P", stitch_alone.__file__]
    try:
        ended = subprocess.run(
            command, input=json.dumps(request), capture_output=True, encoding="utf-8", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MissingAnswer(f"no answer within {seconds:.0f} s") from error
    if ended.returncode:
        error_lines = ended.stderr.strip().splitlines() or ["nothing said"]
        raise MissingAnswer(f"ended with code {ended.returncode}: {error_lines[-1][:200]}")
    return Measurement(**json.loads(ended.stdout.splitlines()[-1]))
