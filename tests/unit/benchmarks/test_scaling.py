"""What a compression takes is that of all its processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import benchmarks
from atlas.learning.search.limits import Limits
from benchmarks.learning.scaling import compressed
from tests.support.learning.builders import program

BUSY = "end = __import__('time').process_time() + 0.3\nwhile __import__('time').process_time() < end: pass"
HOLDING = "held = b'x' * {size}; print(flush=True); input()"
STARTING = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDING.format(size=80_000_000)!r}])"
PATIENCE = 60


def test_the_tests_that_programs_are_run_with_count():
    """Each original runs twice, and so takes 0.6 s of a process that the one that compresses has not started itself."""
    body = "sorted(set(text.strip().lower()) - set(text[::2]), key=lambda one: (-ord(one), one))[0]"
    given = [
        program(f"def f{n}(text):\n    return {body} + '{n}'", f"assert f{n}('abcd') == 'd{n}'\n{BUSY}", name=f"p{n}")
        for n in range(5)
    ]
    made = compressed(given, Limits(iterations=3))
    assert (made.n_programs, made.n_kept, made.n_rewritten) == (5, 1, 5)
    assert made.n_found >= made.n_kept
    assert made.saved > 0
    assert made.seconds > 5 * 2 * 0.3


WATCHING = f"""
import subprocess, sys, time
from benchmarks.learning.memory import watched

with watched() as peak:
    started = [
        subprocess.Popen([sys.executable, "-c", each], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for each in {[HOLDING.format(size=120_000_000), STARTING]}
    ]
    end = time.monotonic() + {PATIENCE}
    while peak.together < 200 and time.monotonic() < end:
        time.sleep(0.1)
    for process in started:
        process.communicate(b"\\n")
print(peak.largest, peak.together)
"""
"""Program that watches what it starts, by itself: the process of the tests has more below it."""


def test_memory_is_watched_of_what_is_started_and_of_what_that_starts():
    root = Path(benchmarks.__file__).parents[1]
    told = subprocess.run([sys.executable, "-c", WATCHING], cwd=root, capture_output=True, text=True, check=True)
    largest, together = map(float, told.stdout.split())
    python = largest - 120
    assert 0 < python < 40
    assert 200 < together < 200 + 3 * python + 5
