"""The baseline that compressing is measured beside finds what it should, and is as naive as it should be."""

from __future__ import annotations

import ast

from benchmarks.baselines.anti_unifying import anti_unify


def found(template: str, names: str = "abcdef"):
    sources = {name: template.format(x=name, n=number) for number, name in enumerate(names)}
    return anti_unify({name: ast.parse(source) for name, source in sources.items()}), sources


def test_what_expressions_differ_in_becomes_a_parameter_and_programs_do_the_same():
    shared, sources = found("def f({x}):\n    return sorted(set({x}) - set({x}[::2]), key=lambda e: (-e, str(e)))[0]")
    assert len(shared.functions) == shared.n_valid == 1
    assert shared.tokens_after < shared.tokens_before
    assert 0 < shared.saved < 100
    for name, source in sources.items():
        before: dict = {}
        after: dict = {}
        exec(source, before)
        exec(shared.sources[name], after)
        assert "shared_0(" in shared.sources[name].split("def f")[1]
        assert after["f"]([3, 1, 4, 1, 5, 9]) == before["f"]([3, 1, 4, 1, 5, 9])


def test_a_function_of_somebody_elses_variables_is_kept_but_not_valid():
    shared, _ = found("def f(rows):\n    return max(rows[-1] * rows[0], rows[1] * {n}, rows[2] * rows[3])")
    assert (len(shared.functions), shared.n_valid) == (1, 0)


def test_programs_that_share_nothing_stay():
    shared, _ = found("print({n})")
    assert (shared.functions, shared.sources, shared.saved) == ([], {}, 0.0)


def test_texts_with_expressions_in_them_are_one_piece():
    shared, sources = found(
        "def f({x}):\n    return f'{{sorted(set({x}))[0]:>{{{n} + len({x})}}}}' + str(sorted(set({x}))[0])"
    )
    for name in sources:
        ast.parse(shared.sources.get(name, ""))
    assert len(shared.functions) <= 1
