"""What every primitive has: code that runs without this package, examples that hold, and its lineage."""

from __future__ import annotations

import ast

import pytest

from atlas.primitives.arc import loader as arc
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.examples import run_examples
from atlas.primitives.swe import loader as swe
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from atlas.protocols.strategies import PrimitiveLoader

ARC, SWE = ARCPrimitiveLoader().load(), SWEPrimitiveLoader().load()
EVERY = [*ARC.values(), *SWE.values()]


def every_primitive(test):
    return pytest.mark.parametrize("concept", EVERY, ids=[concept.id for concept in EVERY])(test)


@every_primitive
def test_its_examples_hold_where_only_its_own_code_and_that_of_its_calls_was_executed(concept, library):
    results = run_examples(concept, library)
    assert len(results) >= 2
    assert [(result.call, result.actual) for result in results if not result.passed] == []


@every_primitive
def test_its_code_needs_nothing_of_this_package(concept):
    modules = {
        name
        for node in ast.walk(ast.parse(concept.code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not {name for name in modules if name.startswith("atlas") or name == "__future__"}


@every_primitive
def test_it_is_documented_as_a_primitive(concept):
    assert concept.source == "primitive"
    assert concept.description.endswith(".")
    assert ">>>" not in concept.description
    assert concept.signature.startswith(f"{concept.name}(")
    assert not concept.signature.endswith("None")


@every_primitive
def test_what_it_calls_is_found_in_its_code(concept, library):
    names = {node.id for node in ast.walk(ast.parse(concept.code)) if isinstance(node, ast.Name)}
    domain = concept.id.partition("_")[0]
    assert set(concept.calls) == {f"{domain}_{name}" for name in names} & library.keys() - {concept.id}


@every_primitive
def test_its_annotations_mean_something_where_its_code_was_executed(concept, library):
    namespace = {}
    exec(compile(concept.code, "<code>", "exec", dont_inherit=True), namespace)
    assert callable(namespace[concept.name])


def test_the_examples_of_grids_hold_in_any_order_of_execution(library):
    namespace = {}
    for concept in reversed(list(ARC.values())):
        exec(compile(concept.code, "<code>", "exec", dont_inherit=True), namespace)
    calls = [example for concept in ARC.values() for example in concept.examples]
    assert [call for call, result in calls if eval(call, namespace) != ast.literal_eval(result)] == []


def test_there_are_enough_of_them_under_the_names_that_the_specification_has():
    assert len(ARC) >= 40
    assert {"get_objects", "flood_fill", "rotate_90", "mirror_horizontal", "get_background_color"} <= ARC.keys()
    assert len(SWE) >= 15
    assert {"read_file", "write_file", "search_codebase", "apply_patch", "run_tests", "find_definition"} <= SWE.keys()
    assert all(ARC[name].id == f"arc_{name}" and ARC[name].name == name for name in ARC)
    assert all(SWE[name].id == f"swe_{name}" and SWE[name].name == name for name in SWE)


@pytest.mark.parametrize("loader", [arc.ARCPrimitiveLoader(), swe.SWEPrimitiveLoader()])
def test_a_loader_brings_the_same_each_time(loader):
    assert isinstance(loader, PrimitiveLoader)
    assert loader.load() == loader.load()


def test_the_concepts_of_a_project_do_not_depend_on_its_place(root):
    assert SWEPrimitiveLoader(root).load() == SWE


def test_tools_work_below_the_loaders_root_and_take_no_other(root, outside):
    tools = SWEPrimitiveLoader(root).tools()
    assert tools["read_file"]("notes.txt") == "first\nsecond\n"
    assert tools["read_file"](path="notes.txt", first_line=2) == "second\n"
    with pytest.raises(TypeError, match="root"):
        tools["read_file"](path="secret.txt", root=outside)


def test_tools_work_in_the_working_directory_of_the_moment_where_no_root_is_given(root, monkeypatch):
    loader = SWEPrimitiveLoader()
    monkeypatch.chdir(root)
    tools = loader.tools()
    monkeypatch.chdir(root.parent)
    assert tools["list_files"]("*.txt")["files"] == ["notes.txt"]


def test_tools_of_a_root_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        SWEPrimitiveLoader(tmp_path / "missing").tools()
