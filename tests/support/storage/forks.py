"""Forked children of a test."""

from __future__ import annotations

import os
import traceback


def fork(work):
    """The id of a forked child that does some work."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)
    return pid


def went_through(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
