"""Programs that are nested too deeply to be walked: each is left out, or refused by an error of ours."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from atlas.learning.compression import compress
from atlas.learning.reading import TOO_DEEP, TOO_WIDE
from atlas.learning.rewrite.normal_forms import normal_form, shape
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.rewrite.sharing import parse_programs
from atlas.learning.search.limits import Limits
from atlas.learning.terms.normalisation import strip
from atlas.learning.terms.parsing import InvalidPython, parse
from atlas.learning.terms.programs import Program

SLUG = "'-'.join(word.strip().lower() for word in text.replace('_', ' ').split() if word.isalnum())"

DEEP = {
    "a sum of 2,000 terms": "def deep(a):\n    return " + " + ".join(["a"] * 2_000),
    "a chain of 2,000 attributes": "def deep(a):\n    return a" + ".a" * 2_000,
    "a chain of 900 calls": "def deep(a):\n    return a" + ".a()" * 900,
    "900 conditions in one another": "def deep(a):\n    return " + "1 if a else " * 900 + "2",
    "900 branches": "def deep(a):\n    if a:\n        return 0\n" + "    elif a:\n        return 1\n" * 900,
    "900 signs": "def deep(a):\n    return " + "-" * 900 + "a",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_a_program_that_is_nested_too_deeply_is_left_out_and_others_are_compressed(source: str) -> None:
    others = [f"def slug{n}(text):\n    return {SLUG} + '{n}'" for n in range(3)]
    found = compress([*others, source], limits=Limits(iterations=2))
    assert found.refused[f"program: {TOO_DEEP}"] == 1
    assert found.n_programs == 3
    assert len(found.abstractions) == 1


WIDE = {
    "2,000 conditions": "def wide(a):\n    return " + " or ".join(f"a == {number}" for number in range(2_000)),
    "a list of 2,000 items that are no constants": f"def wide(a):\n    return [{'a, ' * 2_000}][a]",
}


@pytest.mark.parametrize("source", WIDE.values(), ids=WIDE)
def test_a_program_with_a_very_wide_expression_is_left_out_and_counted(source: str) -> None:
    others = [f"def slug{n}(text):\n    return {SLUG} + '{n}'" for n in range(3)]
    found = compress([*others, source, source], limits=Limits(iterations=2))
    assert found.refused[f"program: {TOO_WIDE}"] == 2
    assert found.n_programs == 3


TABLES = {
    "a list": str(list(range(2_000))),
    "a dict of rows": str({f"é{number}": [number, -1.5, None] for number in range(400)}),
    "a tuple that a name follows": f"({tuple(range(2_000))} + (a,))",
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_program_with_a_long_table_is_compressed_around_it(table: str) -> None:
    sources = [f"def wide{n}(a, text):\n    return {table}[a], {SLUG} + '{n}'" for n in range(3)]
    found = compress(sources, limits=Limits(iterations=2))
    assert found.n_programs == len(found.rewritten) == 3
    for n, program in enumerate(found.rewritten.values()):
        assert returned(program.standalone, f"wide{n}") == returned(sources[n], f"wide{n}")


def returned(source: str, name: str) -> object:
    space: dict[str, Callable[..., object]] = {}
    exec(source, space)
    return space[name](300 if "é" not in source else "é300", "Big_Red dog")


def test_a_table_that_programs_share_is_moved_into_the_library_once() -> None:
    table = list(range(0, 4_000, 2))
    sources = [f"def wide{n}(a):\n    return {n} * {table}[a % {n + 3}]" for n in range(3)]
    found = compress(sources, limits=Limits(iterations=2))
    assert [str(table) in function.source for function in found.abstractions] == [True]
    assert found.tokens_after + found.tokens_library < found.tokens_before / 2


def sums(n_terms: int) -> list[Program]:
    """Programs of three tasks that have one helper, a sum of so many terms."""
    code = f"def total(a):\n    return {' + '.join(['a'] * n_terms)}\n\n\ndef use(a):\n    return total(a)"
    return [Program(id=str(n), task_id=str(n), source=f"{code} - {n}\n") for n in range(3)]


def test_a_program_of_any_depth_is_read_or_left_out():
    n_read = [len(parse_programs(sums(n_terms), lambda _: ())) for n_terms in range(20, 600, 20)]
    assert n_read[0] == 3
    assert n_read[-1] == 0


def test_programs_at_the_edge_of_what_can_be_read_are_compressed():
    for n_terms in (100, 150, 200, 250, 300):
        assert compress(sums(n_terms), limits=Limits(iterations=1)).n_programs in (0, 3)


@pytest.mark.parametrize(
    "use", [normal_form, shape, strip, lambda source: rename_identifiers(source, {"a": "b"})],
    ids=["normal form", "shape", "without docstrings", "renamed"],
)  # fmt: skip
@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_code_that_is_nested_too_deeply_is_refused_and_the_error_says_what_to_do(
    source: str, use: Callable[[str], object]
) -> None:
    parse(source)  # Python itself reads it
    with pytest.raises(InvalidPython, match="nested less deeply; split its longest expressions"):
        use(source)
