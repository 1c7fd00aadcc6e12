"""Stitch, and everything that it is known to end on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atlas.core.errors import Cancelled
from atlas.learning.rewrite.workspace import Workspace, locate_occurrences
from atlas.learning.search import stitch_worker
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Corpus, Engine, PatternProposal
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from tests.support.learning.patterns import term_of
from tests.support.waiting import GIVE_UP_SECONDS

COUNTING = (
    "def {name}({arg}):\n    n = 0\n    for x in {arg}:\n        if x {test}:\n            n += 1\n    return n + {k}"
)
PROGRAMS = [
    COUNTING.format(name=f"f{number}", arg=arg, test=test, k=number)
    for number, (arg, test) in enumerate([("xs", "> 1"), ("rows", "== 'a'"), ("q", "in {2, 3}"), ("s", "% 2")])
]
SMALL = Limits(iterations=3, seconds=60)


def corpus(programs: list[str]) -> Corpus:
    return Corpus(terms=tuple(map(term_of, programs)), tasks=tuple(f"t{n}" for n in range(len(programs))))


def gives_back(before: Corpus, found: PatternProposal) -> bool:
    """Whether the rewritten programs are the originals once every call is replaced by what it stands for."""
    names = [str(number) for number in range(len(before.terms))]
    workspace = Workspace(
        dict(zip(names, before.terms, strict=True)), dict(zip(names, found.terms, strict=True)), found.patterns
    )
    locate_occurrences(workspace)  # raises where one is not
    return True


@pytest.fixture(params=[StitchEngine(), AntiUnificationEngine()], ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    return found


def test_programs_alike_but_for_their_variables_are_found_and_keep_their_names() -> None:
    before = corpus([f"def f({a}, {b}):\n    return sorted(set({a}) & set({b}[1:])) + [{a}]" for a, b in ("xy", "yx")])
    found = StitchEngine().abstractions(before, SMALL)
    assert found.patterns
    assert gives_back(before, found)
    assert [[head for head in ("&x", "&y") if head in str(term)] for term in found.terms] == [["&x", "&y"]] * 2


def test_both_engines_find_what_programs_have_in_common(engine: Engine) -> None:
    before = corpus([f"def f{n}(a, b):\n    return sorted(set(a) & set(b[{n}:])) + [{n}]" for n in range(4)])
    found = engine.abstractions(before, SMALL)
    assert found.patterns
    assert found.patterns[0].name == "fn_0"
    assert sum(term.size for term in found.terms) < sum(term.size for term in before.terms)
    assert gives_back(before, found)


def test_both_engines_save_as_much_on_expressions() -> None:
    statements = ["return {}", "b = {}", "if {}: pass", "assert {}", "print({})"]
    before = corpus(
        [
            f"def f{n}(a, b):\n    " + text.format(f"sorted(set(a) & set(b[{n}:])) + [a[0] - b[1]]")
            for n, text in enumerate(statements)
        ]
    )
    found = [engine.abstractions(before, Limits(iterations=1)) for engine in (StitchEngine(), AntiUnificationEngine())]
    sizes = [sum(term.size for term in each.terms) + each.patterns[0].body.size for each in found]
    assert sizes[0] == sizes[1]


def test_an_engine_finds_nothing_in_nothing(engine: Engine) -> None:
    assert engine.abstractions(Corpus(terms=(), tasks=()), SMALL).patterns == ()


def test_one_program_is_left_as_it_is(engine: Engine) -> None:
    before = corpus(PROGRAMS[:1])
    assert gives_back(before, engine.abstractions(before, SMALL))


def test_text_beyond_ascii_and_text_that_looks_like_syntax_is_kept(engine: Engine) -> None:
    texts = ["é (x) #0 $1 'q\" \\ \n fn_0", "日本", "lam app", "%0 &a"]
    before = corpus(
        [
            f"def f{n}(a, é):\n    return a.replace({text!r}, é) + a.strip() + {n} * '(é)'"
            for n, text in enumerate(texts)
        ]
    )
    assert gives_back(before, engine.abstractions(before, SMALL))


def test_programs_with_names_like_those_of_abstractions_are_not_mistaken(engine: Engine) -> None:
    before = corpus(
        [f"def fn_{n}(fn_0, fn_1):\n    return fn_0(fn_1(fn_0 + 1) * 2) + fn_{n}(1, {n})" for n in range(4)]
    )
    found = engine.abstractions(before, SMALL)
    assert found.patterns
    assert gives_back(before, found)


def test_stitch_abstracts_statements_over_their_variables() -> None:
    before = corpus(PROGRAMS)
    found = StitchEngine().abstractions(before, SMALL)
    assert any(pattern.sort in "bts" for pattern in found.patterns)
    assert gives_back(before, found)


def test_directories_with_spaces_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spaced = tmp_path / "with spaces"
    spaced.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spaced))
    assert StitchEngine().abstractions(corpus(PROGRAMS), SMALL).patterns
    assert not list(spaced.iterdir())


def test_a_search_that_is_cancelled_is_ended_at_once() -> None:
    with pytest.raises(Cancelled, match="nothing was changed"):
        StitchEngine().abstractions(corpus(PROGRAMS), SMALL, cancelled=lambda: True)
    assert not _children()


def test_a_search_that_takes_too_long_is_ended_and_says_so() -> None:
    before = corpus(PROGRAMS)
    found = StitchEngine().abstractions(before, Limits(seconds=0))
    assert found.terms == before.terms
    assert "stopped after 0 s" in found.notes[0]
    assert f"0 of at most {Limits().iterations} functions; more time (ATLAS_COMPRESS_SECONDS)" in found.notes[0]
    assert not _children()


def test_a_search_without_enough_memory_is_ended_and_says_so() -> None:
    before = corpus([program.replace("def f", f"def f{n}_") for n in range(20) for program in PROGRAMS])
    found = StitchEngine().abstractions(before, Limits(megabytes=14, seconds=60))
    assert re.search(r"stopped at 14 MB, .*: \d+ of at most 100 functions", found.notes[0])
    assert gives_back(before, found)


def test_a_mismatch_of_costs_is_tried_again_without_the_check(tmp_path: Path) -> None:
    request = {
        "programs": ["(a b)"],
        "tasks": ["t"],
        "automaton": {},
        "options": {},
        "iterations": 1,
        "megabytes": 8000,
        "cpu_seconds": 60,
        "seconds": 60,
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    code = (
        f"import sys, types; sys.path[:0] = {sys.path!r}\n"
        "class E(Exception): pass\n"
        "def compress(programs, **options):\n"
        "    if 'no_mismatch_check' not in options: raise E('cost mismatch of 3')\n"
        "    return types.SimpleNamespace(rewritten=programs, json={'abstractions': []})\n"
        "sys.modules['stitch_core'] = types.SimpleNamespace(compress=compress, StitchException=E)\n"
        f"import runpy; sys.argv = ['x', {str(tmp_path)!r}]\n"
        f"runpy.run_path({stitch_worker.__file__!r}, run_name='__main__')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["unchecked"]
    assert answer["error"] == ""


def _worker(directory: Path, seconds: float, before: str = "", cpu_seconds: int = 60) -> list[str]:
    """The command of a worker whose search takes a minute, and says when it has begun."""
    request = {
        **{"programs": ["(a b)"], "tasks": ["t"], "automaton": {}, "options": {}},
        **{"iterations": 1, "megabytes": 8000, "cpu_seconds": cpu_seconds, "seconds": seconds},
    }
    (directory / "request.json").write_text(json.dumps(request))
    code = (
        f"import sys, time, types; sys.path[:0] = {sys.path!r}\n{before}\n"
        "def compress(programs, **options):\n"
        "    print('searching', flush=True); time.sleep(3600)\n"
        "sys.modules['stitch_core'] = types.SimpleNamespace(compress=compress, StitchException=OSError)\n"
        f"import os, runpy; os.chdir({str(directory)!r}); sys.argv = ['x', {str(directory)!r}]\n"
        f"runpy.run_path({stitch_worker.__file__!r}, run_name='__main__')"
    )
    return [sys.executable, "-c", code]


def test_a_search_ends_by_itself_in_the_end_and_where_memory_cannot_be_limited(tmp_path: Path) -> None:
    refusing = (
        "def refuse(*_): raise ValueError('current limit exceeds maximum limit')\n"
        "sys.modules['resource'] = types.SimpleNamespace("
        "RLIMIT_AS=0, RLIMIT_CPU=1, setrlimit=refuse, getrlimit=lambda what: (1, 1))"
    )
    ended = subprocess.run(_worker(tmp_path, 2, refusing), stdout=subprocess.PIPE, timeout=GIVE_UP_SECONDS, check=False)
    assert ended.returncode == -signal.SIGALRM


def test_a_search_ends_where_it_has_computed_for_as_long_as_it_may(tmp_path: Path) -> None:
    computing = "def compute(_):\n    while True: pass\ntime.sleep = compute"
    command = _worker(tmp_path, 600, computing, cpu_seconds=1)
    ended = subprocess.run(command, stdout=subprocess.PIPE, timeout=GIVE_UP_SECONDS, check=False)
    assert ended.returncode == -signal.SIGXCPU


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_a_search_ends_with_its_parent(tmp_path: Path) -> None:
    code = f"import subprocess; subprocess.run({_worker(tmp_path, 600)!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"searching\n"
        parent.kill()
        parent.communicate(timeout=GIVE_UP_SECONDS)  # the search holds the pipe for as long as it lives


def _children() -> list[str]:
    own = str(os.getpid())
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[1] == own and fields[0] != "Z":
            found.append((status.parent / "cmdline").read_text())
    return [command for command in found if "stitch_worker" in command]
