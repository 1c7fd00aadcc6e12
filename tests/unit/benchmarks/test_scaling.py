"""What a compression takes is that of all its processes."""

from __future__ import annotations

import subprocess
import sys
import time

from atlas.learning.search.limits import Limits
from benchmarks.learning.memory import watched
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


def test_memory_is_watched_of_what_is_started_and_of_what_that_starts():
    with watched() as peak:
        commands = [HOLDING.format(size=120_000_000), STARTING]
        started = [
            subprocess.Popen([sys.executable, "-c", each], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for each in commands
        ]
        try:
            end = time.monotonic() + PATIENCE
            while peak.together < 200 and time.monotonic() < end:
                time.sleep(0.1)
        finally:
            for process in started:
                process.communicate(b"\n")
    assert 120 < peak.largest < 200
    assert 200 < peak.together < 3 * peak.largest
