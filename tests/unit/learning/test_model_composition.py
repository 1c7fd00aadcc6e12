"""A language model composes; what it writes may do little, and has to do what it says."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from atlas.learning.model_composition import LLMCompositionStrategy
from atlas.llm.prompts.composition import COMPOSITION
from atlas.llm.structured_output import split_data
from atlas.protocols.strategies import CompositionStrategy
from atlas.testing import ScriptedLLM
from tests.support.learning.builders import concept

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")

HALF = concept("def half(n: int) -> int:\n    return n // 2", ("half(4)", "2"))
NEXT = concept("def next_one(n: int) -> int:\n    return n + 1", ("next_one(4)", "5"))
CODE = "def halves(n: int) -> list[int]:\n    return [half(next_one(one)) for one in range(n)]"


def answer(**fields: Any) -> dict[str, Any]:
    given = {
        "name": "halves",
        "description": "The rounded-up halves under a number.",
        "code": CODE,
        "examples": [{"call": "halves(3)", "result": "[0, 1, 1]"}],
        "guidance": "To split things evenly.",
    }
    return {**given, **fields}


def compose(*answers: Any, concepts=(HALF, NEXT)):
    llm = ScriptedLLM(answers)
    return asyncio.run(LLMCompositionStrategy(llm).compose(list(concepts))), llm


def test_it_is_a_composition_strategy():
    assert isinstance(LLMCompositionStrategy(ScriptedLLM([])), CompositionStrategy)


def test_a_function_whose_examples_hold_is_taken():
    found, llm = compose(answer())
    assert (found.name, found.code.strip()) == ("halves", CODE.replace("n: int) -> list[int]", "n)"))
    assert found.signature == "halves(n: int) -> list[int]"
    assert found.examples == (("halves(3)", "[0, 1, 1]"),)
    assert (found.source, set(found.composed_of)) == ("composed", {HALF.id, NEXT.id})
    assert found.metadata == {"composed_by": "model", "model": "scripted", "prompt": COMPOSITION.version}
    _, shown = split_data(llm.prompts[0])
    assert [text.splitlines()[-2].strip() for text in shown] == [
        "def half(n: int) -> int:",
        "def next_one(n: int) -> int:",
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "half"}, "expected a new name, got that of a given function"),
        ({"name": "print"}, "not a keyword or builtin"),
        ({"description": ""}, "expected words for description, got none"),
        ({"code": "def halves(n) return"}, "that compiles"),
        ({"code": "x = 1\n" + CODE}, "only the function 'halves'"),
        ({"code": CODE.replace("halves", "other")}, "only the function 'halves'"),
        ({"code": "def halves(n):\n    import os\n    return half(next_one(n))"}, "expected code without imports"),
        ({"code": "def halves(n):\n    return half(next_one(open('x')))"}, "not ['open']"),
        ({"code": "def halves(n):\n    return eval('half(next_one(n))')"}, "not ['eval']"),
        ({"code": "def halves(n):\n    return half(next_one(n.__class__))"}, "the attribute '__class__'"),
        ({"code": "def halves(n):\n    return half(third(next_one(n)))"}, "not ['third']"),
        ({"code": "def halves(n):\n    return half(n)"}, "at least two of the given functions, got ['half']"),
        ({"examples": []}, "1 to 5"),
        ({"examples": [{"call": "halves(half(3))", "result": "1"}]}, "with literal arguments"),
        ({"examples": [{"call": "half(3)", "result": "1"}]}, "expected an example that calls halves"),
        ({"examples": [{"call": "halves(3)", "result": "halves(3)"}]}, "and a literal"),
        ({"examples": [{"call": "halves(3)", "result": "[9]"}]}, "halves(3) does not return [9]: got ([0, 1, 1], "),
        ({"examples": [{"call": "halves(3)", "result": "[False, True, 1]"}]}, "does not return [False, True, 1]: got"),
        ({"examples": [{"call": "halves(-1, 1)", "result": "[0]"}]}, "does not return [0]: failed, TypeError"),
        (
            {"examples": [{"call": "halves('a')", "result": "[0]"}]},
            "declares the type int, but the example halves('a') has 'a'",
        ),
        ({"examples": [{"call": "halves(3)", "result": "(0, 1, 1)"}]}, "declares the type list[int], but the example"),
        ({"code": "def halves(n):\n    while True: half(next_one(n))\n", "examples": []}, "1 to 5"),
    ],
)
def test_what_breaks_a_rule_is_asked_for_once_more_with_what_is_wrong(wrong, message):
    found, llm = compose(answer(**wrong), answer())
    assert found.name == "halves"
    assert message in llm.prompts[1]


@pytest.mark.parametrize(
    "header",
    [
        "def halves(n) -> open('ran', 'w').close():",
        "def halves(n: __import__('os')):",
        "def halves(n, *rest: open('ran', 'w'), **others: open('ran', 'w')):",
        "def halves(n):\n    def inner(x: open('ran', 'w')) -> open('ran', 'w'): return x\n",
    ],
)
def test_annotations_are_not_kept_in_what_is_run(header):
    found, _ = compose(answer(code=f"{header}\n    return [half(next_one(one)) for one in range(n)]"))
    assert "open" not in found.code
    assert "__import__" not in found.code


@pytest.mark.parametrize(
    ("expression", "attribute"),
    [
        ("'{0.__class__}'.format(half)", "format"),
        ("'{n.__class__}'.format_map({'n': half})", "format_map"),
        ("(x for x in []).gi_frame", "gi_frame"),
    ],
)
def test_attributes_that_reach_around_are_refused(expression, attribute):
    _, llm = compose(answer(code=f"def halves(n):\n    return half(next_one({expression}))"), answer())
    assert f"the attribute {attribute!r}" in llm.prompts[1]


def test_patterns_that_read_private_attributes_are_refused():
    code = "def halves(n):\n    match half:\n        case object(__globals__=n): pass\n    return half(next_one(n))"
    assert "the attribute '__globals__'" in compose(answer(code=code), answer())[1].prompts[1]


def test_a_result_that_equals_everything_is_no_result():
    code = "def halves(n):\n    half(next_one(n))\n    return type('x', (), {'__eq__': lambda s, o: True})()"
    assert "not ['type']" in compose(answer(code=code), answer())[1].prompts[1]
    library = (concept("def half(n):\n    return type('x', (), {'__eq__': lambda s, o: True})()"), NEXT)
    code = "def halves(n):\n    return half(next_one(n))"
    found, llm = compose(answer(code=code), answer(code=code), concepts=library)
    assert found is None
    assert "does not return [0, 1, 1]: got (<__main__.x" in llm.prompts[1] or "got (<program.x" in llm.prompts[1]


@pytest.mark.parametrize(
    ("code", "idle"),
    [
        ("def halves(n):\n    if 0: half(next_one(n))\n    return [0, 1, 1]", "['half', 'next_one']"),
        ("def halves(n, m=[half(next_one(1))]):\n    return [0, 1, 1]", "['half', 'next_one']"),
        ("def halves(n):\n    return [0, 1, half(2)] if n == 3 else next_one(n)", "['next_one']"),
        ("def halves(n):\n    twice(n)\n    return [0, half(3), 1] if n else next_one(n)", "['next_one']"),
    ],
    ids=["never", "only when it is defined", "in no example", "only by another concept"],
)
def test_what_names_concepts_without_calling_them_is_not_composed_of_them(code, idle):
    twice = concept("def twice(n: int) -> int:\n    return next_one(next_one(n))", calls=(NEXT.id,))
    _, llm = compose(answer(code=code), answer(), concepts=(HALF, NEXT, twice))
    assert f"no example calls {idle}" in llm.prompts[1]


def test_examples_may_call_one_concept_each_and_hand_concepts_on():
    code = "def halves(n):\n    return list(map(half, range(n))) if n > 1 else next_one(n)"
    examples = [{"call": "halves(3)", "result": "[0,0,1]"}, {"call": "halves(1)", "result": "2"}]
    assert compose(answer(code=code, examples=examples))[0].calls == (HALF.id, NEXT.id)


def test_sets_and_dictionaries_may_be_written_in_another_order():
    code = "def halves(n):\n    return {half(n): {8, 0}, next_one(n): 'b'}"
    examples = [{"call": "halves(2)", "result": "{3: 'b', 1: {0, 8}}"}]
    assert compose(answer(code=code, examples=examples))[0] is not None


def test_what_is_wrong_twice_is_nothing():
    found, llm = compose(answer(name="half"), "no idea")
    assert found is None
    assert len(llm.prompts) == 2


def test_a_model_that_sees_nothing_is_not_asked_again():
    assert compose(answer(name=None))[0] is None


def test_a_single_concept_is_not_asked_about():
    assert compose(concepts=(HALF,))[0] is None
