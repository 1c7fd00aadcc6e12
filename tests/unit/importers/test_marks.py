"""Marks from an edited copy of a store's file of marks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import atlas
from atlas.cli import main
from atlas.core.errors import ImportFailed
from atlas.core.operations import Marks
from atlas.core.settings import Settings
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.importers.marks import import_marks, is_marks_file, plan_marks
from atlas.testing import HashEmbedder
from tests.support.records import attempt


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(32)) as opened:
        yield opened


def write(path: Path, rows: dict[str, dict[str, object]]) -> Path:
    """A file of marks, with what it says of each record."""
    numbered = {str(n): {"id": record_id, **row} for n, (record_id, row) in enumerate(rows.items(), start=1)}
    path.write_text(json.dumps({"copied": {"1": {"state": "edited"}}, "marks": numbered}), encoding="utf-8")
    return path


def test_an_edited_file_is_previewed_then_taken_in_as_one_operation_that_can_be_undone(memory, tmp_path):
    one, two, three = memory.experience.store_many([attempt("one"), attempt("two"), attempt("three")])
    four = memory.strategies.add(atlas.Strategy(situation="four", suggestion="do it"))
    memory.experience.change_marks([one, three], add_tags=["old"])
    before = memory.revision()
    rows = {one: {"tags": ["new", "grüße"], "note": "n"}, two: {"pinned": False}, four: {"pinned": True}}
    file = write(tmp_path / "edited.json", {**rows, "stranger": {"note": "x"}})
    planned = plan_marks(memory, file)
    assert memory.revision() == before
    assert {change.id: (change.before, change.after) for change in planned.changes} == {
        one: (Marks(tags=("old",)), Marks(tags=("new", "grüße"), note="n")),
        four: (Marks(), Marks(pinned=True)),
    }
    assert (planned.n_listed, planned.n_missing) == (4, 1)
    done = import_marks(memory, file)
    assert memory.experience.marks([one, three]) == {
        one: Marks(tags=("new", "grüße"), note="n"),
        three: Marks(tags=("old",)),
    }
    assert memory.strategies.marks([four]) == {four: Marks(pinned=True)}
    assert memory.history(1)[0].id == done.operation_id
    assert memory.history(1)[0].reason == "imported edited.json"
    memory.undo(done.operation_id)
    assert memory.experience.marks([one])[one] == Marks(tags=("old",))
    assert memory.strategies.marks([four])[four] == Marks()


def test_the_stores_own_file_changes_nothing(memory, tmp_path):
    memory.experience.change_marks([memory.experience.store(attempt("one"))], note="n", add_tags=["a"])
    memory.storage.marks_files.finish()
    report = import_marks(memory, tmp_path / "store" / "experiences_meta.json")
    assert (report.n_listed, report.changes, report.operation_id) == (1, [], None)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"pinned": "false"}, "expected true or false for pinned of .*, got 'false'"),
        ({"buried": 1}, "expected true or false for buried of .*, got 1"),
        ({"pinned": None}, "expected true or false for pinned of .*, got None"),
        ({"tags": ["a", "  "]}, "a tag of .* is empty"),
    ],
)
def test_an_edited_row_that_no_other_way_would_accept_is_refused(memory, tmp_path, row, expected):
    one = memory.experience.store(attempt("one"))
    with pytest.raises(ImportFailed, match=expected):
        import_marks(memory, write(tmp_path / "edited.json", {one: row}))
    assert memory.experience.marks([one])[one] == Marks()


def test_a_tag_that_is_there_twice_or_has_spaces_around_it_is_set_once(memory, tmp_path):
    one = memory.experience.store(attempt("one"))
    import_marks(memory, write(tmp_path / "edited.json", {one: {"tags": ["a", " b", "a", "b"]}}))
    assert memory.experience.marks([one])[one] == Marks(tags=("a", "b"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"marks": {"1": 5}}', '{"marks": {"1": {"id": "a", "tags": "b"}}}'])
def test_a_file_that_holds_no_marks_is_refused(memory, tmp_path, text):
    (tmp_path / "edited.json").write_text(text)
    with pytest.raises(ImportFailed, match=r"in .*edited\.json"):
        import_marks(memory, tmp_path / "edited.json")


@pytest.mark.parametrize(("text", "is_one"), [('{"marks": {}}', True), ('{"copied": {', True), ('{"task": {}}', False)])
def test_a_file_of_marks_is_told_by_its_beginning(tmp_path, text, is_one):
    (tmp_path / "file.json").write_text(text)
    assert is_marks_file(tmp_path / "file.json") is is_one


def test_the_command_previews_and_imports(tmp_path, capsys):
    settings = Settings(store=tmp_path / "store", embedding_model=BUNDLED)
    with atlas.open_memory(tmp_path / "store", settings=settings) as memory:
        one = memory.experience.store(attempt("one"))
        file = write(tmp_path / "edited.json", {one: {"tags": ["new"], "pinned": True}})
        store = ["--store", str(tmp_path / "store")]
        assert main([*store, "import", str(file), "--dry-run"]) == 0
        assert f"{one[:8]} one: no marks → pinned, #new" in capsys.readouterr().out
        assert memory.experience.marks([one])[one] == Marks()
        assert main([*store, "import", str(file)]) == 0
        assert "marks of 1 record read, 1 changed" in capsys.readouterr().out
        assert memory.experience.marks([one])[one] == Marks(tags=("new",), pinned=True)
