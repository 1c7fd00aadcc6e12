"""Refining from the command line: the plan is kept, applied exactly, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.cli import main
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store


@pytest.fixture
def store(tmp_path, monkeypatch) -> Path:
    """Six different attempts and three that say the same."""
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    make_store(tmp_path, [*attempts(6), *(attempt("Water the garden", agent=f"agent {n}") for n in range(3))])
    return tmp_path


def run(capsys, *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def ids(store: Path) -> list[str]:
    with opened_store(store) as memory:
        return memory.experience.ids()


def test_a_plan_is_printed_kept_applied_once_and_undone(store, capsys):
    before = ids(store)
    said = run(capsys, "refine")
    assert (
        "9 experiences judged: 7 stay, 2 would be merged into them, 0 dropped. 2 of 9 would be deleted (22%)." in said
    )
    assert "Judged by rules, without a language model" in said
    assert "near-duplicate of" in said
    assert "Nothing was changed. To do exactly this: atlas refine --apply" in said
    assert ids(store) == before

    said = run(capsys, "refine", "--apply")
    assert "Merged 2 into others and dropped 0. To undo it: atlas undo " in said
    assert len(ids(store)) == 7
    assert "nothing was done" in run(capsys, "refine", "--apply", status=1)

    run(capsys, "undo", said.rsplit(" ", 1)[1].strip())
    assert ids(store) == before


def test_what_is_judged_can_be_narrowed(store, capsys):
    assert "4 experiences judged" in run(capsys, "refine", "--limit", "4")
    assert "all of them are worth keeping as they are" in run(capsys, "refine", "--outcome", "failed")
    assert "3 experiences judged" in run(capsys, "refine", "--source", "north")


def test_without_a_plan_there_is_nothing_to_apply(store, capsys):
    assert "there is no plan to apply; make one first: atlas refine" in run(capsys, "refine", "--apply", status=1)


def test_a_store_that_may_only_be_read_is_planned_for(store, capsys, monkeypatch):
    monkeypatch.setenv("ATLAS_READ_ONLY", "1")
    assert "the plan was not stored: the store is read-only" in run(capsys, "refine")
    assert "atlas refine" in run(capsys, "refine", "--apply", status=1)


def test_a_limit_of_none_is_refused(store, capsys):
    assert "expected at least 1 for --limit" in run(capsys, "refine", "--limit", "0", status=1)
