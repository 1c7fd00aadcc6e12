"""`atlas diff` lists what differs between stores and backups, and changes neither."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import atlas
from atlas.cli import main
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.storage.maintenance.backup import backup
from atlas.testing import HashEmbedder
from tests.support.everything import content
from tests.support.records import attempt


def opened(path: Path) -> atlas.MemorySystem:
    return atlas.open_memory(path, embedder=HashEmbedder(384, BUNDLED), settings=atlas.Settings(actor="tester"))


@pytest.fixture
def states(tmp_path) -> tuple[Path, Path, dict[str, str]]:
    """A store, a later state of it, and the ids of what differs."""
    first, second = tmp_path / "first", tmp_path / "second"
    with opened(first) as memory:
        gone, edited, _ = memory.experience.store_many([attempt(f"mend report {n}") for n in range(3)])
        strategy = memory.strategies.add(atlas.Strategy(situation="a page is slow", suggestion="cache it"))
        memory.strategies.record_use(strategy, False, task_id="t0")
        entry = memory.journal.add("observation", "the gate is open", generation=1)
    shutil.copytree(first, second)
    with opened(second) as memory:
        new = memory.experience.store(attempt("sort the crates"))
        memory.experience.delete([gone])
        memory.experience.edit(edited, feedback="better", agent_id="baker")
        for n in range(1, 4):
            memory.strategies.record_use(strategy, True, task_id=f"t{n}")
        memory.journal.change_marks([entry], pinned=True)
    ids = {"added": new, "removed": gone, "changed": edited, "rate": strategy, "marked": entry}
    return first, second, ids


def run(capsys, *arguments: object) -> str:
    assert main(["diff", *map(str, arguments)]) == 0
    out: str = capsys.readouterr().out
    return out


def test_records_and_rates_that_differ_are_listed(states, capsys):
    first, second, ids = states
    before = content(first), content(second)
    lines = run(capsys, first, second).splitlines()
    assert lines == [
        "experience: 1 added",
        f"  + {ids['added'][:8]}  sort the crates",
        "experience: 1 changed",
        f"  ~ {ids['changed'][:8]}  mend report 1  (trajectory_summary, feedback, agent_id)",
        "experience: 1 removed",
        f"  - {ids['removed'][:8]}  mend report 0",
        "journal: 1 changed",
        f"  ~ {ids['marked'][:8]}  the gate is open  (marks)",
        "strategies: 1 rate moved",
        f"  % {ids['rate'][:8]}  a page is slow  (0 of 1 → 3 of 4)",
    ]
    assert (content(first), content(second)) == before


def test_the_other_way_round_what_was_added_is_removed(states, capsys):
    first, second, ids = states
    rows = {
        row["change"]: row for row in json.loads(run(capsys, second, first, "--json")) if row["memory"] != "journal"
    }
    assert (rows["added"]["id"], rows["removed"]["id"]) == (ids["removed"], ids["added"])
    assert (rows["rate"]["before"], rows["rate"]["after"]) == ("3 of 4", "0 of 1")
    assert "feedback" in rows["changed"]["fields"]


def test_a_backup_is_compared_as_its_store(states, tmp_path, capsys):
    first, second, _ = states
    with opened(first) as memory:
        backup(memory.storage, tmp_path / "first.zip")
    assert run(capsys, tmp_path / "first.zip", second) == run(capsys, first, second)
    assert run(capsys, first, tmp_path / "first.zip") == "No differences.\n"


def test_long_lists_are_cut_unless_all_is_asked_for(states, capsys):
    first, second, _ = states
    with opened(second) as memory:
        memory.experience.store_many([attempt(f"draw chart {n}") for n in range(14)])
    assert "  + … and 5 more (--all prints them)" in run(capsys, first, second)
    assert run(capsys, first, second, "--all").count("draw chart") == 14


def test_a_store_that_does_not_exist_is_refused(states, tmp_path, capsys):
    assert main(["diff", str(states[0]), str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
