"""Running the examples of primitives, and of nothing else; and the grids that stand in examples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.examples import ExampleResult, parse_grids, run_examples

TOUCH = "__import__('pathlib').Path('ran').touch()"


def test_an_example_says_what_was_expected_and_what_came(library):
    assert run_examples(library["arc_rotate_90"], library)[1] == ExampleResult(
        call="rotate_90([[1, 2, 3]])", expected="[[1], [2], [3]]", actual="[[1], [2], [3]]", passed=True
    )


def test_how_often_it_was_used_and_when_it_was_added_do_not_matter(library):
    stored = replace(library["arc_crop"], usage_count=7, success_rate=0.5, description="Mine.", guidance="Often.")
    assert all(result.passed for result in run_examples(stored, library))


def test_examples_that_were_stored_as_lists_are_the_same(library):
    stored = replace(library["arc_crop"], examples=[list(pair) for pair in library["arc_crop"].examples])
    assert all(result.passed for result in run_examples(stored, library))


@pytest.mark.parametrize(
    "edit",
    [
        lambda concept: replace(concept, code=f"{TOUCH}\n{concept.code}"),
        lambda concept: replace(concept, code=concept.code + " "),
        lambda concept: replace(concept, examples=((TOUCH, "None"),)),
        lambda concept: replace(concept, examples=(*concept.examples, (TOUCH, "None"))),
        lambda concept: replace(concept, calls=()),
    ],
)
def test_what_differs_from_the_installed_primitive_is_not_run(library, edit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"'rotate_90' \(arc_rotate_90\) differs from the installed primitive"):
        run_examples(edit(library["arc_rotate_90"]), library)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("changed", [{"source": "imported"}, {"source": "learned"}, {"id": "arc_unknown"}])
def test_what_is_no_installed_primitive_is_not_run(library, changed):
    with pytest.raises(InvalidInput, match="expected a primitive that is installed here"):
        run_examples(replace(library["arc_rotate_90"], **changed), library)


def brought(**fields):
    defaults = {"id": "x_f", "name": "f", "description": "F.", "code": "def f(x):\n    return 1 / x\n"}
    return CodeConcept(source="primitive", **{**defaults, **fields})


def test_an_example_that_fails_is_a_result_and_the_others_are_run():
    concept = brought(examples=(("f(0)", "0"), ("f(1)", "2.0"), ("f(1)", "1"), ("f(1)", "1.0"), ("f", "a function")))
    results = run_examples(concept, {concept.id: concept})
    assert [result.passed for result in results] == [False, False, False, True, False]
    assert results[0].actual == "ZeroDivisionError: division by zero"


def test_an_example_may_name_other_primitives_of_its_loader():
    other = brought(id="x_g", name="g", code="def g(x):\n    return f(x) + 1\n", calls=("x_f",))
    concept = brought(examples=(("g(1)", "2.0"),))
    assert run_examples(concept, {"x_f": concept, "x_g": other})[0].passed


def test_what_a_primitive_calls_but_nobody_brings_is_said_in_the_result():
    concept = brought(code="def f(x):\n    return g(x)\n", calls=("x_g",), examples=(("f(1)", "1"),))
    assert run_examples(concept, {"x_f": concept})[0].actual == "NameError: name 'g' is not defined"


def test_examples_leave_nothing_behind(library, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert all(result.passed for result in run_examples(library["swe_write_file"], library))
    assert list(tmp_path.iterdir()) == []


def test_the_grids_of_an_example_are_those_of_its_call_and_of_its_result():
    grids = parse_grids(("overlay([[1, 1]], [[0, 5]], transparent=0)", "[[1, 5]]"))
    assert grids.inputs == ([[1, 1]], [[0, 5]])
    assert grids.outputs == ([[1, 5]],)


def test_a_list_of_grids_is_several():
    grids = parse_grids(("join_horizontal([[[1]], [[2], [3]]])", "[[[1, 2]], [[3, 4]]]"))
    assert grids.inputs == ([[1]], [[2], [3]])
    assert grids.outputs == ([[1, 2]], [[3, 4]])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "True",
        "[1, 2]",
        "[[]]",
        "[[1], [2, 3]]",
        "[[10]]",
        "[[True]]",
        "[['1']]",
        "[[x]]",
        "[[0.5]]",
        "[(0, 1)]",
    ],
)
def test_what_is_no_grid_is_none(text):
    assert parse_grids((text, text)).inputs == parse_grids((text, text)).outputs == ()


def test_grids_are_read_and_not_executed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert parse_grids((f"f({TOUCH}, [[1]])", TOUCH)).inputs == ([[1]],)
    assert not (tmp_path / "ran").exists()


def test_every_grid_in_the_grid_primitives_examples_is_found():
    for concept in ARCPrimitiveLoader().load().values():
        takes_grid, gives_grid = "grid: Grid" in concept.signature, concept.signature.endswith("-> Grid")
        for example in concept.examples:
            grids = parse_grids(example)
            assert not takes_grid or grids.inputs, example
            assert not gives_grid or len(grids.outputs) == 1, example
