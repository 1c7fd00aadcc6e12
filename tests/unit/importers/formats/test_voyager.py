"""Voyager's skill libraries come in as concepts."""

from __future__ import annotations

import json

import pytest

import atlas
from atlas.core.errors import UndoRefused
from atlas.core.settings import Settings
from atlas.importers import Limits, detect, import_paths
from atlas.importers.registry import all_formats
from atlas.importers.sink import MemorySink
from atlas.testing import HashEmbedder

CODE = "async function mineLog(bot) {\n  await mineBlock(bot, 'oak_log', 1);\n}"
SAID = "async function mineLog(bot) {\n    // It mines one log.\n    // Then it says so.\n}"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=Settings()) as opened:
        yield opened


def run(memory, *paths, **options):
    sink = MemorySink(memory, "a test")
    return import_paths(sink, list(paths), settings=Settings(), **options), sink


def test_a_skill_is_a_concept_with_what_its_comment_says_and_where_it_is_from(files):
    path = files.json("skills.json", {"mineLog": {"code": CODE, "description": SAID}})
    [row] = detect(path).read(path, Limits())
    concept = row.item
    assert (concept.name, concept.description, concept.code) == ("mineLog", "It mines one log. Then it says so.", CODE)
    assert concept.signature == "async function mineLog(bot)"
    assert (concept.source, concept.language) == ("imported", "javascript")
    assert concept.metadata == {"origin": "voyager", "file": "skills.json"}


def test_a_description_in_another_form_is_kept_as_it_is(files):
    path = files.json("skills.json", {"mineLog": {"code": CODE, "description": " Mines a log.\nOnce. "}})
    [row] = detect(path).read(path, Limits())
    assert (row.item.description, row.item.signature) == ("Mines a log.\nOnce.", "")


def test_all_real_skills_come_in_once(memory, real_data):
    path = real_data / "voyager" / "skills_trial1.json"
    report, sink = run(memory, path)
    assert (report.read, report.added, report.added_concepts, report.rejected) == (51, 51, 51, 0)
    assert memory.concepts.values("language") == {"javascript": 51}
    again, _ = run(memory, path)
    assert (again.added, again.skipped) == (0, 51)
    memory.undo(sink.operation_id)
    assert len(memory.concepts) == 0


def test_deleting_importing_again_and_undoing_the_deletion_leaves_one_of_each(memory, files):
    path = files.json("skills.json", {"mineLog": {"code": CODE, "description": SAID}})
    run(memory, path)
    (first,) = memory.concepts.ids()
    deletion = memory.concepts.as_operation("delete", "a test")
    deletion.delete([first])
    assert run(memory, path)[0].added == 1
    assert memory.concepts.ids() == [first]
    with pytest.raises(UndoRefused):
        memory.undo(deletion.operation_id)
    assert memory.concepts.ids() == [first]


def test_one_import_of_attempts_and_concepts_is_one_operation(memory, files):
    skills = files.json("skills.json", {"mineLog": {"code": CODE, "description": SAID}})
    line = {"kind": "trajectory", "trajectory": {"task": {"id": "t", "description": "d"}, "outcome": {}}}
    report, sink = run(memory, skills, files.lines("a.jsonl", [line]))
    assert (report.added, report.added_concepts) == (2, 1)
    assert [operation.id for operation in memory.history()] == [sink.operation_id]
    assert memory.history()[0].counts == {"added": 2}
    memory.undo(sink.operation_id)
    assert (len(memory.experience), len(memory.concepts)) == (0, 0)


@pytest.mark.parametrize(
    ("skill", "reason"),
    [
        ("7", "expected an object for the skill, got type int"),
        ('{"code": "x"}', "expected a string for description, got nothing"),
        ('{"code": "", "description": "x"}', "expected a string for code, got an empty one"),
        ('{"code": 5, "description": "x"}', "expected a string for code, got type int"),
        ('{"code": "a\\u0000", "description": "x"}', "NUL"),
        ('{"code": "x", "description": "\\ud800"}', "lone surrogate"),
        ('{"code": "x", "code": "y", "description": "z"}', "has the key 'code' twice"),
        ('{"code": x}', "is not JSON"),
    ],
)
def test_a_bad_skill_is_refused_by_its_row_and_the_others_are_kept(memory, files, skill, reason):
    good = json.dumps({"code": CODE, "description": SAID})
    path = files.raw("skills.json", f'{{"one": {good}, "bad": {skill}}}')
    report, _ = run(memory, path, format="voyager")
    assert (report.added, report.rejected) == (1, 1)
    assert report.rejections[0].row == 2
    assert reason in report.rejections[0].reason


def test_a_nameless_skill_is_refused(memory, files):
    report, _ = run(memory, files.json("skills.json", {" ": {"code": CODE, "description": SAID}}))
    assert "expected a string that is not blank for a concept's name" in report.rejections[0].reason


def test_of_a_file_that_is_cut_off_what_came_before_is_kept(memory, files):
    whole = json.dumps({"one": {"code": CODE, "description": SAID}, "two": {"code": "y", "description": SAID}})
    report, _ = run(memory, files.raw("skills.json", whole[:-30]))
    assert report.added == 1
    assert "truncated" in report.rejections[0].reason


def test_other_formats_are_not_taken_for_it(files):
    mixed = {"one": {"code": CODE, "description": SAID, "task_id": 1}}
    assert not all_formats()["voyager"].matches(files.json("a.json", mixed), json.dumps(mixed).encode())
