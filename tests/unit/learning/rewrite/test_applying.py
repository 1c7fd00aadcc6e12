"""Calls that are put into programs which a library was not learned from."""

from __future__ import annotations

from textwrap import indent

from atlas.learning.compression import compress
from atlas.learning.reuse import reuse
from atlas.learning.terms.programs import Program

VALUE = "sorted(x * x % k + x // 2 - k for x in xs if x * k != 6)"
STATEMENTS = f"""    total = max({VALUE})
    for x in xs:
        if x * k > total + {{number}}:
            total += x - k
"""
ALONE = (
    f"    return {VALUE}[k:]",
    f"    if not {VALUE}:\n        return xs",
    f"    for y in {VALUE}:\n        print(y)",
    f"    return [*{VALUE}, k]",
    f"    return len(xs) + len({VALUE})",
)


def function(body: str, number: int) -> str:
    return f"def f(xs, k):\n{body.format(number=number)}"


def test_a_function_is_called_where_a_larger_one_does_not_fit() -> None:
    whole = [function(f"{STATEMENTS}    return total", number) for number in range(3)]
    found = compress([*whole, *(function(text, 0) for text in ALONE)])
    inner, outer = found.abstractions
    assert outer.calls == (inner.name,)
    inside = indent(f"{STATEMENTS}    return total", "    ")
    source = function(f"    total = 0\n    try:\n{inside}\n    finally:\n        print(total)", 1)
    reused = reuse(found.library, [Program(id="new", task_id="new", source=source)])
    assert set(reused.used) == {inner.name}
    assert f"total = max({inner.name}(" in reused.rewritten["new"].after
