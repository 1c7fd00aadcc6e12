"""Compressing programs and loading primitives from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.cli import main
from tests.support.learning.tool_calls import refund
from tests.support.programs import make_programs, programs
from tests.support.records import attempt
from tests.support.stores import make_store, opened_store


@pytest.fixture
def store(tmp_path, monkeypatch) -> Path:
    """A store of four programs that have a function in common."""
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    make_programs(tmp_path)
    return tmp_path


def run(capsys, *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def n_concepts(store: Path) -> int:
    with opened_store(store) as memory:
        return len(memory.concepts)


def test_compress_prints_what_it_would_add_and_adds_it_when_told(store, capsys):
    said = run(capsys, "compress", "--show")
    assert "1 function in 4 programs" in said
    assert "4 of 4" in said
    assert "--- after, which does the same" in said
    assert "Nothing was added. To add those that are proven: atlas compress --apply" in said
    assert n_concepts(store) == 0
    said = run(capsys, "compress", "--apply")
    assert "Added 1 concept found in 4 programs. To undo it: atlas undo " in said
    assert n_concepts(store) == 1
    run(capsys, "undo", said.rsplit(" ", 1)[1].strip())
    assert n_concepts(store) == 0


def test_compress_by_a_model_needs_one(store, capsys, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert "there is no API key for a language model" in run(capsys, "compress", "--by", "model", status=1)


def test_compress_says_what_proposed_the_functions(store, capsys):
    assert "Found by Stitch " in run(capsys, "compress")


def test_compress_without_programs_says_why(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    make_store(tmp_path, [attempt("Talk to a customer", steps=())])
    said = run(capsys, "compress", "--apply")
    assert "Found no function: no Python program to compress in 1 attempt: the attempt has no solution (1)." in said
    assert "the attempt has no solution (1)" in said
    assert "Nothing was added: nothing new is proven." in said


def test_what_is_not_proven_is_added_only_when_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    make_store(tmp_path, programs(tested=False))
    said = run(capsys, "compress")
    assert "not proven" in said
    assert "None is proven. To add them even so: atlas compress --apply --unproven" in said
    assert "Nothing was added: nothing new is proven." in run(capsys, "compress", "--apply")
    assert n_concepts(tmp_path) == 0
    assert "Added 1 concept found in 4 programs." in run(capsys, "compress", "--apply", "--unproven")
    assert n_concepts(tmp_path) == 1
    assert "--unproven needs --apply; give both" in run(capsys, "compress", "--unproven", status=1)


def test_workflows_are_added_as_strategies_too_unless_their_advice_is_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    make_store(tmp_path, [refund(number) for number in range(6)])
    assert "--strategies needs --apply; give both" in run(capsys, "compress", "--strategies", status=1)
    output = run(capsys, "compress", "--apply", "--strategies")
    assert "Added 1 concept found in 6 attempts, and 1 strategy. To undo it" in output
    with opened_store(tmp_path) as memory:
        (strategy_id,) = memory.strategies.ids()
        memory.strategies.edit(strategy_id, title="A refund")
        memory.concepts.delete(memory.concepts.ids())
    output = run(capsys, "compress", "--apply", "--strategies")
    assert "Added 1 concept found in 6 attempts; 1 strategy with the same advice existed. To undo it" in output
    with opened_store(tmp_path) as memory:
        assert len(memory.strategies) == 1


def test_a_limit_of_none_is_refused(store, capsys):
    assert "expected at least 1 for --limit" in run(capsys, "compress", "--limit", "0", status=1)


def test_primitives_are_listed_loaded_once_and_others_named(store, capsys):
    assert run(capsys, "primitives").split()[:2] == ["arc", "swe"]
    assert "Added 23 ready-made functions. To undo it: atlas undo " in run(capsys, "primitives", "swe")
    assert "The library has all of them already." in run(capsys, "primitives", "swe")
    assert "no loader of primitives called 'chess', only arc, swe" in run(capsys, "primitives", "chess", status=1)
