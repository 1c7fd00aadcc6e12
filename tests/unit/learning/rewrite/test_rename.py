"""Other names, the same code."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.core.errors import InvalidInput
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.terms.names import function_of, is_available, parameters_of, unused_name

CODE = "def fn_0(x0, x1):\n    return [x0 for _ in range(x1)] + (fn_0(x0, x1 - 1) if x1 else [])"


def test_a_function_its_parameters_and_its_calls_of_itself_are_renamed():
    assert rename_identifiers(CODE, {"fn_0": "repeat", "x0": "item", "x1": "times"}) == (
        "def repeat(item, times):\n    return [item for _ in range(times)] + (repeat(item, times - 1) if times else [])"
    )


def test_names_may_be_exchanged():
    with pytest.raises(InvalidInput, match="used in the code for something else"):
        rename_identifiers("def f(a, b): return a - b", {"a": "b", "b": "a"})


def test_the_same_names_leave_the_text_as_it_is():
    assert rename_identifiers("def f(a):  # kept\n    return a", {"f": "f"}) == "def f(a):  # kept\n    return a"


def test_attributes_and_texts_are_no_names():
    assert (
        rename_identifiers("def f(a):\n    return a.a + 'a'", {"a": "text"}) == "def f(text):\n    return text.a + 'a'"
    )


def test_names_that_only_look_like_functions_that_look_names_up_are_no_reason():
    code = "def f(a, dir):\n    vars = g(a, eval=dir)\n    return vars"
    assert rename_identifiers(code, {"a": "x"}).startswith("def f(x, dir):")
    with pytest.raises(InvalidInput, match="look up names by string"):
        rename_identifiers("def f(a):\n    return map(eval, a)", {"a": "x"})


def test_nested_functions_that_bind_the_name_anew_stay_right():
    code = "def f(a):\n    g = lambda a: a + 1\n    return g(a)"
    assert (
        rename_identifiers(code, {"a": "number"})
        == "def f(number):\n    g = lambda number: number + 1\n    return g(number)"
    )


@pytest.mark.parametrize(
    ("code", "names", "message"),
    [
        ("def f(a): return b", {"a": "b"}, "'b' is used in the code"),
        ("def f(a): return a", {"a": "class"}, "not a keyword or builtin, got 'class'"),
        ("def f(a): return a", {"a": "list"}, "not a keyword or builtin, got 'list'"),
        ("def f(a): return a", {"f": "é"}, "not a keyword or builtin"),
        ("def f(a): return g(a=a)", {"a": "x"}, "depends on the name 'a'"),
        ("def f(a):\n    import a", {"a": "x"}, "depends on the name 'a'"),
        ("def f(a):\n    global a", {"a": "x"}, "depends on the name 'a'|that parses"),
        ("def f(a):\n    class C:\n        a = 1\n    return C", {"a": "x"}, "depends on the name 'a'"),
        ("def f(a): return eval('a')", {"a": "x"}, "look up names by string"),
        ("def f(a, b): return a", {"a": "x", "b": "x"}, "different new names"),
        ("def f(", {"f": "g"}, "that parses"),
    ],
)
def test_names_that_would_change_the_code_are_refused(code, names, message):
    with pytest.raises(InvalidInput, match=message):
        rename_identifiers(code, names)


@given(st.permutations(["alpha", "beta", "gamma"]))
def test_whatever_the_names_the_function_does_the_same(names):
    code = rename_identifiers(CODE, dict(zip(["fn_0", "x0", "x1"], names, strict=True)))
    function = function_of(code)
    assert [function.name, *parameters_of(function)] == names
    namespace: dict[str, object] = {}
    exec(code, namespace)
    assert namespace[names[0]](7, 3) == [7] * 6


def test_the_named_function_is_found_or_else_the_last():
    code = "def a(): pass\ndef b(): pass"
    assert (function_of(code, "a").name, function_of(code).name) == ("a", "b")
    with pytest.raises(InvalidInput, match="code that defines a function"):
        function_of("x = 1")


def test_parameters_of_every_kind_are_told():
    function = ast.parse("def f(a, /, b, *c, d=1, **e): pass").body[0]
    assert parameters_of(function) == ["a", "b", "d", "c", "e"]


def test_a_name_that_is_taken_gets_a_number():
    assert unused_name("count", {"count", "count_2"}) == "count_3"
    assert unused_name("count", set()) == "count"
    assert unused_name("list", set()) == "list_2"
    assert not is_available("match")


def test_comments_and_layout_stay_where_names_change():
    code = (
        "# Cut.\ndef cut(grid,  box):  # of cells\n    # cut is done here, by box\n"
        "    return (grid[box:],\n            grid.box)\n"
    )
    assert rename_identifiers(code, {"cut": "crop", "box": "frame"}) == (
        "# Cut.\ndef crop(grid,  frame):  # of cells\n    # cut is done here, by box\n"
        "    return (grid[frame:],\n            grid.box)\n"
    )


def test_names_inside_of_f_strings_change_too():
    after = rename_identifiers("# A note\ndef show(box):\n    return f'{box!r}: {len(box)}'\n", {"box": "frame"})
    assert "f'{frame!r}: {len(frame)}'" in after
