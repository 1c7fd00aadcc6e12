"""Lengths are those of the sources, however they are counted."""

from __future__ import annotations

import pytest

from atlas.learning.analysis.functions import program_source
from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.rewrite.executable import Executables
from atlas.learning.rewrite.lengths import Lengths
from atlas.learning.rewrite.workspace import Workspace
from atlas.learning.sandbox.runner import Sandbox
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.terms.description_length import n_tokens
from tests.support.learning.corpora import dsl_programs, grid_programs
from tests.support.learning.patterns import term_of
from tests.support.learning.prime_programs import programs

ODD = [
    "",
    "import re, math as m\nfrom a import b, c as d\nb(d)",
    "if a:\n    x = 1\nelif b:\n    import json\nelif c:\n    pass\nelse:\n    y = 2",
    "if a:\n    x = 1\nelse:\n    if b:\n        x = 2\n    y = 3",
    "for x in y:\n    while z:\n        break\n    else:\n        pass\nelse:\n    'text'",
    "try:\n    import json\nexcept (A, B) as e:\n    raise\nexcept C:\n    pass\nelse:\n    f()\nfinally:\n    g()",
    "class A(B, metaclass=C):\n    import re\n    x: int = 3\n\n    @a\n    def y(s):\n        import os",
    "async def f(a, /, b=1, *c, d, **e):\n    async with a as b, c:\n        return [x async for x in y if x]",
    "def f():\n    import re",
    "match a:\n    case [1, *b] if b:\n        x = 1\n    case {'k': v, **c}:\n        import re",
    "def f():\n    def g():\n        global h\n        h = f'{a!r:>{w}} {b}'\n    return lambda x: (yield)",
]


@pytest.mark.parametrize("source", ODD)
def test_programs_of_every_kind_of_statement_are_counted_as_they_are_written(source):
    term = term_of(source)
    workspace = Workspace({"p": term}, {"p": term}, [])
    assert Lengths(workspace, {}).of("p") == n_tokens(program_source(term, {}))


@pytest.fixture(scope="module", params=["primes", "grids", "solvers"])
def compressed(request, tmp_path_factory) -> Compression:
    directory = tmp_path_factory.mktemp("modules")
    made = {"primes": lambda _: programs(), "grids": grid_programs, "solvers": dsl_programs}[request.param](directory)
    with Sandbox(path=[directory]) as sandbox:
        return compress(made, engine=AntiUnificationEngine(), sandbox=sandbox)


def test_rewritten_programs_are_counted_as_they_are_written(compressed):
    workspace, functions = compressed.library.workspace, compressed.library.functions
    executables = Executables(workspace, functions)
    written = {name: executables.program(name) for name in workspace.programs}
    lengths = Lengths(workspace, functions)
    assert {name: lengths.of(name) for name in written} == {name: n_tokens(text) for name, text in written.items()}
    assert compressed.tokens_after == sum(map(n_tokens, written.values()))
    assert compressed.rewritten


def test_a_library_is_counted_as_one_module(compressed):
    written = [function.source for function in compressed.abstractions]
    lines = [line for source in written for line in source.splitlines()]
    imported = [line.strip() for line in lines if line.startswith(("    from ", "    import "))]
    body = n_tokens("\n".join(line for line in lines if line.strip() not in imported))
    names = {(line.split()[1], name.strip()) for line in imported for name in line.partition(" import ")[2].split(",")}
    modules = {module for module, _ in names}
    assert compressed.tokens_library == body + 2 * len(modules) + 2 * len(names)  # from m import a, b


def test_what_a_function_saves_is_what_all_gets_longer_by_without_it(compressed):
    functions = compressed.library.functions
    for name in compressed.library.workspace.patterns:
        workspace = compressed.library.workspace.copy()
        lengths = Lengths(workspace, functions)
        saving, before = lengths.saving(name, workspace.callers()[name]), lengths.library()
        before += sum(map(lengths.of, workspace.programs))
        workspace.inline([name])
        assert lengths.library() + sum(map(lengths.of, workspace.programs)) - before == saving
