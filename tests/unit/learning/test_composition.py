"""Functions are composed where the types fit, and only if the examples run."""

from __future__ import annotations

import ast
import asyncio
import os
from dataclasses import replace

import pytest

from atlas.core.types import CodeConcept
from atlas.learning.annotations import fits, typed_concept
from atlas.learning.composition import PipelineCompositionStrategy, composition_problem, find_nothing
from atlas.protocols.strategies import CompositionStrategy
from tests.support.learning.builders import concept

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")

WORDS = concept(
    "def words_of(text: str) -> list[str]:\n    return text.split()", ("words_of('a b a')", "['a', 'b', 'a']")
)
COUNT = concept(
    "def count_of(items: list[str], item: str) -> int:\n    return items.count(item)", ("count_of(['x'], 'a')", "0")
)
DOUBLE = concept("def double(number: int) -> int:\n    return 2 * number", ("double(4)", "8"))
FAILING = concept("def failing(number: int) -> int:\n    raise ValueError(number)", ("failing(4)", "8"))


def compose(*concepts: CodeConcept, **options) -> CodeConcept | None:
    return asyncio.run(PipelineCompositionStrategy(**options).compose(list(concepts)))


def test_it_is_a_composition_strategy():
    assert isinstance(PipelineCompositionStrategy(), CompositionStrategy)


def test_what_one_returns_is_what_the_next_takes_and_other_parameters_are_the_wholes():
    found = compose(WORDS, COUNT, DOUBLE)
    assert found is not None
    assert found.name == "words_of_then_count_of_then_double"
    assert found.signature == "words_of_then_count_of_then_double(text: str, item: str) -> int"
    assert found.examples == (("words_of_then_count_of_then_double('a b a', 'a')", "4"),)
    assert (found.source, found.composed_of) == ("composed", (WORDS.id, COUNT.id, DOUBLE.id))
    assert found.calls == found.composed_of
    assert found.description.startswith("Does words_of. Then: Does count_of. Then: Does double. Composed by types")


def test_its_code_runs_beside_that_of_its_parts():
    found = compose(WORDS, COUNT)
    assert found is not None
    namespace: dict[str, object] = {}
    exec("\n".join([WORDS.code, COUNT.code, found.code]), namespace)
    assert namespace[found.name]("b a b", "b") == 2


def test_another_order_is_tried_where_the_given_one_does_not_fit():
    found = compose(DOUBLE, COUNT)
    assert found is not None
    assert found.composed_of == (COUNT.id, DOUBLE.id)
    assert compose(DOUBLE, WORDS) is None


@pytest.mark.parametrize(
    "concepts",
    [
        (),
        (WORDS,),
        (DOUBLE, DOUBLE),
        (WORDS, concept("def plain(x):\n    return x")),
        (WORDS, concept("x = 1", name="x")),
        (DOUBLE, CodeConcept(name="js", description="", code="const f = 1", language="javascript")),
        (DOUBLE, FAILING),
    ],
    ids=["none", "one", "the same", "no types", "no function", "another language", "its examples fail"],
)
def test_nothing_is_made_of_what_does_not_fit(concepts):
    assert compose(*concepts) is None


def test_without_examples_it_says_that_nothing_was_run():
    found = compose(concept("def a(text: str) -> int:\n    return len(text)"), DOUBLE)
    assert found is not None
    assert found.metadata["n_examples_run"] == 0
    assert "No example was run" in found.description


def test_what_the_concepts_call_is_found():
    helper = concept("def helper(number):\n    return number + 1")
    calling = concept(
        "def calling(number: int) -> int:\n    return helper(number)", ("calling(1)", "2"), calls=(helper.id,)
    )
    library = {helper.id: helper}
    assert compose(calling, DOUBLE) is None
    found = compose(calling, DOUBLE, find=library.get)
    assert found is not None
    assert found.examples == (("calling_then_double(1)", "4"),)


CALLING = concept("def calling(number: int) -> int:\n    return helper(number)", calls=("id_helper",))


@pytest.mark.parametrize(
    "code",
    [
        CALLING.code,
        "def calling(number: int) -> int:\n    return max(map(helper, [number]))",
        "def calling(number: int) -> int:\n    def inner(x):\n        return helper(x)\n    return inner(number)",
    ],
    ids=["called", "handed on", "in a function within"],
)
def test_what_needs_a_concept_that_is_gone_is_refused_with_why(code):
    calling = replace(CALLING, code=code)
    assert compose(calling, DOUBLE) is None
    assert composition_problem([calling, DOUBLE], find_nothing) == (
        "calling needs helper, but none of the concepts that it calls defines it. "
        "Restore the missing concept or change the code, then try again."
    )
    outer = concept("def outer(number: int) -> int:\n    return calling(number)", calls=(CALLING.id,))
    assert composition_problem([outer, DOUBLE], {CALLING.id: calling}.get).startswith("calling needs helper")


def test_what_is_gone_but_not_called_by_its_code_is_no_obstacle():
    assert composition_problem([replace(DOUBLE, calls=("id_gone",)), WORDS], find_nothing) == ""


def test_names_that_code_gives_a_meaning_itself_are_not_lacking():
    code = (
        "import math\nfrom os import path as p\n\nLIMIT = 3\n\n\nclass Box:\n    pass\n\n\n"
        "def own(number: Number, *rest: Rest) -> int:\n"
        "    global seen\n    seen: Boxes = [Box() for _ in range(LIMIT)]\n"
        "    return math.floor(number) + len(p.sep) + own(len(seen)) + len(__name__)\n"
    )
    assert composition_problem([concept(code, name="own"), DOUBLE], find_nothing) == ""


def test_a_call_of_what_is_written_in_another_language_is_refused_with_why():
    written = CodeConcept(id="id_helper", name="helper", description="", code="const f = 1", language="javascript")
    assert composition_problem([CALLING, DOUBLE], {"id_helper": written}.get).startswith(
        "Only Python can be composed, but helper is"
    )


def test_parameters_of_one_name_are_kept_apart():
    power = concept(
        "def power(number: int, exponent: int) -> int:\n    return number ** exponent", ("power(2, 3)", "8")
    )
    other = concept("def root(number: int, exponent: int) -> int:\n    return number // exponent", ("root(8, 2)", "4"))
    found = compose(power, other)
    assert found is not None
    assert found.signature == "power_then_root(number: int, exponent: int, exponent_2: int) -> int"
    assert found.examples == (("power_then_root(2, 3, 2)", "4"),)


@pytest.mark.parametrize(
    ("given", "expected", "does"),
    [
        ("int", "int", True),
        ("bool", "float", True),
        ("float", "int", False),
        ("Grid", "Grid", True),
        ("Grid", "list", False),
        ("list[int]", "List[int]", True),
        ("list[int]", "list[str]", False),
        ("list[bool]", "list[int]", True),
        ("list", "list[str]", True),
        ("list[int]", "Sequence[int]", True),
        ("list[int]", "typing.Iterable[str]", False),
        ("int", "int | None", True),
        ("int | None", "int", False),
        ("int | None", "Optional[int]", True),
        ("Union[int, str]", "str | int | bytes", True),
        ("Any", "int", False),
        ("int", "object", False),
        ("list[int]", "list[Any]", True),
        ("dict[str, int]", "Mapping[str, int]", True),
    ],
)
def test_types_fit_where_a_value_may_be_passed(given, expected, does):
    types = (ast.parse(text, mode="eval").body for text in (given, expected))
    assert fits(*types) is does


def test_a_signature_counts_before_the_code_and_defaults_are_not_needed():
    found = typed_concept(
        CodeConcept(name="f", description="", code="def f(a, b=1): ...", signature="f(a: 'Grid', b: int = 1) -> Grid")
    )
    assert [parameter.name for parameter in found.parameters] == ["a"]
    assert fits(found.returns, found.parameters[0].type)


@pytest.mark.parametrize("parameters", ["*numbers: int", "number: int = 3, *rest: int", "**named: int"])
def test_what_would_take_nothing_any_more_begins_nothing(parameters):
    starred = concept(f"def starred({parameters}) -> int:\n    return 1", ("starred()", "1"))
    assert compose(starred, DOUBLE) is None


def test_what_takes_nothing_as_it_is_written_begins():
    found = compose(concept("def seven() -> int:\n    return 7", ("seven()", "7")), DOUBLE)
    assert found.examples == (("seven_then_double()", "14"),)


def test_what_a_function_prints_besides_is_not_its_result():
    found = compose(concept("def loud() -> int:\n    print('[1]\\nso')\n    return 7", ("loud()", "7")), DOUBLE)
    assert found.examples == (("loud_then_double()", "14"),)


KEYED = concept(
    "def repeated(text: str, *, times: int) -> str:\n    return text * times", ("repeated('a', times=2)", "'aa'")
)
NUMBERED = concept("def taking(*, number: int) -> int:\n    return number + 1", ("taking(number=1)", "2"))


def test_parameters_that_are_passed_by_name_only_are():
    found = compose(KEYED, WORDS)
    assert found is not None
    assert "words_of(repeated(text_2, times=times))" in found.code or "repeated(text, times=times)" in found.code
    assert found.examples == (("repeated_then_words_of('a', 2)", "['aa']"),)
    after = compose(DOUBLE, NUMBERED)
    assert after is not None
    assert "return taking(number=double(number" in after.code
    assert after.examples == (("double_then_taking(4)", "9"),)


def test_what_two_concepts_define_in_different_ways_cannot_stand_in_one_program():
    helper = (
        "def _helper(x: int) -> int:\n    return x + {n}\n\n\n"
        "def {name}(number: int) -> int:\n    return _helper(number)\n"
    )
    first = concept(helper.format(n=1, name="plus_one"), ("plus_one(1)", "2"))
    same = concept(helper.format(n=1, name="plus_one_too"), ("plus_one_too(1)", "2"))
    other = concept(helper.format(n=2, name="plus_two"), ("plus_two(1)", "3"))
    assert compose(first, same) is not None
    assert compose(first, other) is None
    assert composition_problem([first, other], find_nothing) == (
        "plus_one and plus_two define _helper in different ways. Rename one of these functions, then try again."
    )


def test_two_concepts_of_one_name_are_refused_with_why():
    other = replace(concept("def double(number: int) -> int:\n    return number << 1"), id="another")
    assert compose(DOUBLE, other) is None
    assert composition_problem([DOUBLE, other], find_nothing).startswith(
        "Two concepts named double define double in different"
    )


def test_what_has_to_be_waited_for_is_refused_with_why():
    waiting = concept("async def fetch(number: int) -> int:\n    return number")
    assert compose(DOUBLE, waiting) is None
    assert composition_problem([DOUBLE, waiting], find_nothing).startswith("fetch is async")


def test_a_concept_whose_code_has_another_name_is_refused_with_why():
    named = replace(DOUBLE, name="twice")
    assert compose(COUNT, named) is None
    assert "twice is called double in its code" in composition_problem([COUNT, named], find_nothing)
