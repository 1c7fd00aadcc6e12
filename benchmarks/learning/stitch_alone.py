"""Stitch, alone in a process, on programs in its own form or in DreamCoder's, without any part of ATLAS.

This is run as a file. It reads a request from its input and writes what it measured as one line of JSON. Nothing else
is imported, so that the memory is that of Python and `stitch_core`.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TERMINAL = 100
"""Cost of a name, a constant or a variable. An application and a lambda cost 1. These are Stitch's own costs."""


def main(request: dict[str, Any]) -> dict[str, Any]:
    """Learn from some programs, rewrite others with what was learned, and measure both."""
    limit = request["megabytes"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    import stitch_core

    inputs = _inputs(request)
    begin = time.process_time()
    result = stitch_core.compress(**inputs, iterations=request["iterations"], max_arity=request["max_arity"], threads=1)
    other_programs = request.get("others", [])
    rewritten = (
        stitch_core.rewrite(other_programs, result.abstractions).rewritten
        if other_programs and result.abstractions
        else other_programs
    )
    seconds = time.process_time() - begin
    return {
        "n_found": len(result.abstractions),
        "before": corpus_cost(inputs["programs"], inputs.get("tasks")),
        "after": corpus_cost(result.rewritten, inputs.get("tasks")),
        "library": corpus_cost([each.body for each in result.abstractions]),
        "others_before": corpus_cost(other_programs),
        "others_after": corpus_cost(rewritten),
        "seconds": seconds,
        "megabytes": _most_memory(),
    }


def _inputs(request: dict[str, Any]) -> dict[str, Any]:
    """Return the programs as Stitch takes them, with their tasks if they have any."""
    import stitch_core

    if "dreamcoder" not in request:
        return {"programs": request["programs"]}
    bench = json.loads(Path(request["dreamcoder"]).read_text("utf-8"))
    try:
        inputs: dict[str, Any] = stitch_core.from_dreamcoder(bench)
    except AssertionError:
        raise SystemExit("it calls an invention that its DSL does not have") from None
    if not inputs["programs"]:  # it would end the process
        raise SystemExit("there is no program in it")
    return inputs


def corpus_cost(programs: Sequence[str], tasks: Sequence[str] | None = None) -> int:
    """Return the cost of programs. Of those of one task only the cheapest counts."""
    cheapest: dict[object, int] = {}
    for number, program in enumerate(programs):
        task = tasks[number] if tasks else number
        cheapest[task] = min(cost(program), cheapest.get(task, sys.maxsize))
    return sum(cheapest.values())


def cost(program: str) -> int:
    """Return the cost of a program. Each space is an application or follows a lambda."""
    words: list[str] = re.findall(r"[^\s()]+", program)
    return program.count(" ") + TERMINAL * sum(word != "lam" for word in words)


def _most_memory() -> float:
    """Return the most memory of this process in MB. `ru_maxrss` would be that of the process that started it."""
    match = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text("ascii"))
    return int(match[1]) * 1_024 / 1e6 if match else float("nan")


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))
