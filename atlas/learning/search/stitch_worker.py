"""The script that runs Stitch in a separate process. Stitch cannot be interrupted, and aborts if memory runs out.

The script takes the path of a directory. The script reads `request.json` there, and writes `answer.json` after each
step, so that the results of a search that is ended early are kept.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


def main(directory: Path) -> None:
    """Run the search in steps, each on the programs that the previous step rewrote."""
    _end_with_parent()
    request = json.loads((directory / "request.json").read_text("ascii"))
    _limit_resources(request["megabytes"], request["cpu_seconds"])
    _limit_wall_time(request["seconds"])
    answer: dict[str, Any] = {"patterns": [], "programs": request["programs"], "unchecked": False, "error": ""}
    _write_answer(directory, answer)
    for number in range(request["iterations"]):
        found_any = _search_once(directory, request, answer, number)
        _write_answer(directory, answer)
        if not found_any:
            return


def _search_once(directory: Path, request: dict[str, Any], answer: dict[str, Any], number: int) -> bool:
    """Search for one abstraction and add it to the answer. Return whether there was any."""
    import stitch_core

    automaton = request["automaton"]
    for pattern in answer["patterns"]:
        automaton.setdefault(pattern["sort"], {})[pattern["name"]] = pattern["hole_sorts"]
    (directory / "automaton.json").write_text(json.dumps(automaton), "ascii")
    options = dict(request["options"], iterations=1, previous_abstractions=number, tasks=request["tasks"])
    try:
        result = stitch_core.compress(answer["programs"], **options)
    except stitch_core.StitchException as error:  # Stitch's own check of costs aborts on some real code
        answer["error"] = str(error)[:500]
        _write_answer(directory, answer)
        result = stitch_core.compress(answer["programs"], **options, no_mismatch_check=True)
        answer.update(unchecked=True, error="")
    answer["programs"] = result.rewritten
    answer["patterns"] += [_describe_pattern(abstraction) for abstraction in result.json["abstractions"]]
    return bool(result.json["abstractions"])


def _describe_pattern(abstraction: dict[str, Any]) -> dict[str, Any]:
    sorts = abstraction["tdfa_annotation"]
    return {
        "name": abstraction["name"],
        "body": abstraction["body"],
        "sort": sorts["root_state"],
        "hole_sorts": sorts["metavariable_states"],
    }


def _write_answer(directory: Path, answer: dict[str, Any]) -> None:
    """Replace the answer in one step, so that a reader never sees an unfinished one."""
    unfinished = directory / "answer.begun"
    unfinished.write_text(json.dumps(answer), "ascii")
    unfinished.replace(directory / "answer.json")


def _end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, as `confinement.end_with_parent` does."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _limit_resources(megabytes: int, cpu_seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for resource_kind, limit in ((resource.RLIMIT_AS, megabytes << 20), (resource.RLIMIT_CPU, cpu_seconds)):
        with suppress(ValueError, OSError):  # macOS refuses the memory limit, but the time limits still apply
            resource.setrlimit(resource_kind, (limit, resource.getrlimit(resource_kind)[1]))


def _limit_wall_time(seconds: float) -> None:
    """Let the system end this process after a time, in case its parent has ended without ending it."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
