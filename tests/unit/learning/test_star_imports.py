"""Programs that import all names of a module beside them: functions are found, and nothing of it is left behind."""

from __future__ import annotations

import ast
import asyncio
import os
from dataclasses import replace

import pytest

from atlas.learning.compression import DIFFERENT_AS_TERM, compress
from atlas.learning.examples import run_concept_examples
from atlas.learning.results import Compression
from atlas.learning.reuse import reuse
from atlas.learning.sandbox.runner import RunLimits, Sandbox
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.limits import Limits
from atlas.learning.strategies import StitchCompressionStrategy
from atlas.learning.terms.imports import star_modules
from atlas.learning.terms.programs import Program
from atlas.learning.terms.scopes import IMPORTS, imported_names
from tests.support.learning.builders import attempt, task
from tests.support.learning.corpora import dsl_programs, grid_programs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="programs are run on Linux and macOS only")


@pytest.fixture(
    scope="module", params=[grid_programs, pytest.param(dsl_programs, marks=pytest.mark.slow)], ids=["grids", "solvers"]
)
def corpus(request, tmp_path_factory):
    """The programs, and what compresses them beside their module."""
    directory = tmp_path_factory.mktemp("modules")
    with Sandbox(path=[directory]) as sandbox:
        yield request.param(directory), sandbox


@pytest.fixture(scope="module")
def compressed(corpus) -> Compression:
    programs, sandbox = corpus
    return compress(programs, sandbox=sandbox)


def unread(source: str) -> set[str]:
    tree = ast.parse(source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {name for node in ast.walk(tree) if isinstance(node, IMPORTS) for name in imported_names(node)} - names


def test_functions_are_found_that_need_the_module(corpus, compressed):
    programs, _ = corpus
    (module,) = {f"from {name} import " for one in programs for name in star_modules(ast.parse(one.source))}
    importing = [one for one in compressed.abstractions if module in one.source]
    assert len(importing) >= 2
    assert all(one.n_tasks >= 4 for one in importing[:2])
    assert [one for one in compressed.abstractions if " import " in one.source] == importing
    assert all(one.proofs == one.uses for one in compressed.abstractions)
    assert compressed.ratio > 1.3
    unasked = compress(programs).abstractions  # no names of the star imports are known
    assert not any(" import " in one.source for one in unasked)


def test_rewritten_programs_do_the_same_and_import_what_they_read(corpus, compressed):
    programs, sandbox = corpus
    rewritten = [(one, compressed.rewritten[one.id]) for one in programs if one.id in compressed.rewritten]
    before = sandbox.run_all([(one.source, one.tests) for one, _ in rewritten])
    after = sandbox.run_all([(made.standalone, one.tests) for one, made in rewritten])
    assert [(run.outcome, run.output) for run in after] == [("passed", run.output) for run in before]
    assert len(rewritten) >= 8
    assert [unread(made.after) for _, made in rewritten] == [set()] * len(rewritten)
    assert not any("*" in made.after.partition("def ")[0] for _, made in rewritten)


def test_a_library_is_found_again_in_programs_with_the_same_star_import(corpus):
    programs, sandbox = corpus
    unseen = programs[::4]
    learned = compress([one for one in programs if one not in unseen], sandbox=sandbox)
    found = reuse(learned.library, unseen, sandbox=sandbox)
    assert len(found.used) >= 2
    assert len(found.rewritten) >= 2
    assert found.n_refused == 0
    assert found.ratio > 1.5


SLUG = "'-'.join(word.strip().lower() for word in text.replace('_', ' ').split() if word.isalnum())"


def test_a_program_that_does_something_else_without_its_star_import_keeps_it(tmp_path):
    grid_programs(tmp_path)
    programs = [
        Program(
            id=str(n),
            task_id=str(n),
            description="",
            source=f"from common import *\ndef red():\n    return RED + {n}\ndef slug(text):\n    return [{n}, {SLUG}]",
            tests=f"assert slug('Big_Red dog') == [{n}, 'big-red-dog']" + "\nassert eval('BLUE') == 1" * (n < 3),
        )
        for n in range(6)
    ]
    with Sandbox(path=[tmp_path]) as sandbox:
        found = compress(programs, sandbox=sandbox)
    assert (found.n_programs, found.refused.get(f"program: {DIFFERENT_AS_TERM}")) == (6, None)
    (function,) = found.abstractions
    assert function.proofs == function.uses == tuple("012345")
    heads = [found.rewritten[one.id].after.partition("\n")[0] for one in programs]
    assert heads == ["from common import *"] * 3 + ["from common import RED"] * 3
    assert [found.rewritten[one.id].before.partition("\n")[0] for one in programs] == heads


TOO_LARGE = Limits(max_heads=1_000)
TABLES = "".join(f"TABLE_{n} = {[[0] * 40] * 6}\n" for n in range(5))
"""Tables that are searched part by part, as none has more than 300 constants."""


def too_large(one: Program) -> Program:
    """The same program for another task, with so much beside it that it is not searched."""
    return replace(one, id=f"{one.id}~", task_id=f"{one.id}~", source=f"{one.source}\n{TABLES}")


def test_programs_that_were_not_searched_are_rewritten_too(corpus, compressed):
    programs, sandbox = corpus
    others = [too_large(one) for one in programs]
    found = compress([*programs, *others], sandbox=sandbox, limits=TOO_LARGE)
    assert (found.n_searched, found.n_programs) == (12, 24)
    assert "a sample of 12 of 24 programs was searched" in found.notes[0]
    assert {name.removesuffix("~") for name in found.rewritten} == compressed.rewritten.keys()
    assert len(found.rewritten) == 2 * len(compressed.rewritten)
    assert [one.n_tasks for one in found.abstractions] == [2 * one.n_tasks for one in compressed.abstractions]
    assert all(one.proofs == one.uses for one in found.abstractions)
    assert found.tokens_before - found.tokens_after > compressed.tokens_before - compressed.tokens_after


def test_a_program_that_was_not_searched_and_would_do_something_else_stays_and_no_function_is_to_blame(
    corpus, compressed
):
    programs, sandbox = corpus
    name = next(iter(compressed.rewritten))
    other = too_large(next(one for one in programs if one.id == name))

    def verify(pairs):
        return {one.id: "concept_" not in source or one.id != other.id for one, source in pairs}

    found = compress([*programs, other], sandbox=sandbox, verify=verify, limits=TOO_LARGE)
    assert found.rewritten.keys() == compressed.rewritten.keys()
    assert found.refused["program: behaves differently with functions that were found in other programs"] == 1


def test_concepts_import_from_the_module_and_their_examples_run_with_it(tmp_path):
    attempts = [
        attempt(one.source, of=replace(task("Draw", tests=one.tests), id=one.task_id)) for one in dsl_programs(tmp_path)
    ]
    strategy = StitchCompressionStrategy(engine=AntiUnificationEngine(), path=[tmp_path])
    proposal = asyncio.run(strategy.propose(attempts))
    importing = [one.concept for one in proposal.learned if "from dsl import " in one.concept.code]
    assert importing
    assert all(one.n_verified == one.n_checked > 0 for one in proposal.learned)
    with_examples = [one for one in importing if one.examples]
    assert with_examples
    find = {one.concept.id: one.concept for one in proposal.learned}.get
    assert all(run.passed for one in with_examples for run in run_concept_examples(one, find, path=[tmp_path]))
    assert not any(run.passed for one in with_examples for run in run_concept_examples(one, find))


HOSTILE = {
    "never ends": ("while True: pass", "it used more than 1 s of processor time"),
    "raises": ("raise ValueError('not today')", "ValueError: not today"),
    "leaves": ("import os\nos._exit(0)", "its process ended with status 0 before the program did"),
    "is not Python": ("def f(:", "SyntaxError: "),
    "lies": ("__all__ = ['f', 'gone']\ndef f(x): return x", "AttributeError: module 'common' has no attribute 'gone'"),
    "is not there": (None, "ModuleNotFoundError: No module named 'common'"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_a_module_that_cannot_be_imported_leaves_programs_as_they_were(tmp_path, code, reason):
    programs = grid_programs(tmp_path)
    if code is None:
        (tmp_path / "common.py").unlink()
    else:
        (tmp_path / "common.py").write_text(code, "utf-8")
    untested = [replace(one, tests="") for one in programs]
    with Sandbox(RunLimits(cpu_seconds=1), path=[tmp_path]) as sandbox:
        found = compress(untested, engine=AntiUnificationEngine(), sandbox=sandbox)
    assert not any("import" in one.source or "BLACK" in one.source for one in found.abstractions)
    assert found.n_programs == 12
    (note,) = found.notes
    assert note.startswith(f"12 programs with a star import of 'common' are left unchanged: {reason}")


def test_a_module_may_print_and_have_names_in_any_script(tmp_path):
    telling = "print('x' * 10**6)\nimport os\nos.write(1, b'{}')\ngroesse = größe = 3\n"
    programs = dsl_programs(tmp_path)
    (tmp_path / "dsl.py").write_text(telling + (tmp_path / "dsl.py").read_text("utf-8"), "utf-8")
    called = [
        replace(one, source=one.source.replace("(I):\n", "(I):\n    I = (*I, *I)[größe:]\n")) for one in programs[:6]
    ]
    with Sandbox(path=[tmp_path]) as sandbox:
        found = compress(called, engine=AntiUnificationEngine(), sandbox=sandbox)
    assert found.abstractions
    assert all(one.proofs for one in found.abstractions)
    assert any("größe" in made.before.partition("def ")[0] for made in found.rewritten.values())
