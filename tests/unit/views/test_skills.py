"""Strategies and concepts as Agent Skills: what stands in the files, and that they come back as they were."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import yaml

import atlas
from atlas.cli import main
from atlas.cli.exchange import export_skills
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.importers import import_paths
from atlas.importers.sink import MemorySink
from atlas.testing import HashEmbedder
from atlas.views.settings.skills import MAX_DESCRIPTION

STRATEGY = atlas.Strategy(
    id="5" * 32,
    title="Wait: as long as the other side asks",
    situation="A service refuses requests with {status}.",
    suggestion="Read `Retry-After` and wait.\n\nThen ask again.",
    parameters=({"name": "status", "type": "integer", "example": "429"},),
    rationale="Faster requests are refused too.",
)
CONCEPT = atlas.CodeConcept(
    id="c" * 32,
    name="double",
    description="Double a number.",
    code="def double(n):\n    return 2 * n",
    signature="double(n: int) -> int",
    examples=(("double(2)", "4"),),
    guidance="For twice as much.",
)
HOSTILE = 'Ends\n---\nname: other\n---\n```\n# ```` Über 漢字 "quoted" \\ {x}'


@pytest.fixture
def memory(tmp_path_factory):
    with atlas.open_memory(tmp_path_factory.mktemp("store"), embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def filled(memory):
    memory.strategies.add(STRATEGY)
    memory.concepts.add(CONCEPT)
    return memory


def front(text):
    """Return the frontmatter as a YAML library reads it."""
    _, written, _ = text.split("---\n", 2)
    return yaml.safe_load(written)


def contents(directory):
    return {str(path.relative_to(directory)): path.read_text() for path in directory.rglob("*") if path.is_file()}


def test_a_strategy_is_a_skill_with_its_advice_and_evidence(filled, tmp_path):
    export_skills(filled, tmp_path)
    text = (tmp_path / "wait-as-long-as-the-other-side-asks-55555555" / "SKILL.md").read_text()
    assert front(text) == {
        "name": "wait-as-long-as-the-other-side-asks-55555555",
        "description": f"{STRATEGY.title}. Use when: {STRATEGY.situation}",
        "metadata": {"kind": "strategy", "id": STRATEGY.id},
    }
    assert f"## What to do\n\n{STRATEGY.suggestion}\n" in text
    assert "- `status` (integer): 429" in text
    assert "## Evidence\n\nNot used yet." in text


def test_a_concept_is_a_skill_with_its_code_as_a_script(filled, tmp_path):
    exported = export_skills(filled, tmp_path)
    assert exported.sentence == "Exported 1 strategy and 1 concept as skills."
    skill = tmp_path / "double-cccccccc"
    assert (skill / "scripts" / "double.py").read_text() == CONCEPT.code + "\n"
    assert "`double(n: int) -> int`, in [scripts/double.py](scripts/double.py)" in (skill / "SKILL.md").read_text()
    assert "[double-cccccccc](double-cccccccc/SKILL.md)" in (tmp_path / "AGENTS.md").read_text()


def test_exporting_again_and_from_another_store_writes_the_same(filled, tmp_path):
    export_skills(filled, tmp_path / "a")
    before = contents(tmp_path / "a")
    export_skills(filled, tmp_path / "a")
    assert contents(tmp_path / "a") == before
    with atlas.open_memory(tmp_path / "other", embedder=HashEmbedder()) as other:
        report = import_paths(MemorySink(other, "skills"), [tmp_path / "a"], settings=Settings())
        assert (report.added, report.rejected) == (2, 0)
        export_skills(other, tmp_path / "b")
    assert contents(tmp_path / "b") == before


def test_an_edited_skill_is_not_overwritten(filled, tmp_path):
    export_skills(filled, tmp_path)
    edited = tmp_path / "double-cccccccc" / "SKILL.md"
    edited.write_text(edited.read_text() + "My note.\n")
    before = contents(tmp_path)
    with pytest.raises(InvalidInput, match=r"edited since the last export: double-cccccccc/SKILL\.md"):
        export_skills(filled, tmp_path)
    assert contents(tmp_path) == before


def test_a_text_of_a_person_in_the_overview_is_not_overwritten(filled, tmp_path):
    export_skills(filled, tmp_path)
    overview = tmp_path / "AGENTS.md"
    overview.write_text(overview.read_text() + "\n## House rules\n\nNever deploy on Friday.\n")
    before = contents(tmp_path)
    with pytest.raises(InvalidInput, match=r"edited since the last export: AGENTS\.md"):
        export_skills(filled, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["double-cccccccc/SKILL.md", "AGENTS.md"])
def test_a_file_of_another_program_is_not_overwritten(filled, tmp_path, name):
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_bytes("Für mich\n".encode("latin-1"))
    with pytest.raises(InvalidInput, match=re.escape(name)):
        export_skills(filled, tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [own]


def test_an_edited_skill_in_another_encoding_is_reported(filled, tmp_path):
    export_skills(filled, tmp_path)
    for name in ("SKILL.md", "atlas.jsonl"):
        (tmp_path / "double-cccccccc" / name).write_bytes("Für mich\n".encode("latin-1"))
        with pytest.raises(InvalidInput, match="double-cccccccc"):
            export_skills(filled, tmp_path)


def test_skills_whose_titles_and_beginnings_of_ids_are_equal_have_names_of_their_own(memory, tmp_path):
    for number in range(2):
        memory.strategies.add(replace(STRATEGY, id=f"strategy-{number}", suggestion=f"Wait {number}."))
    export_skills(memory, tmp_path)
    texts = [path.read_text() for path in tmp_path.glob("*/SKILL.md")]
    assert sorted(front(text)["metadata"]["id"] for text in texts) == ["strategy-0", "strategy-1"]


def test_options_of_a_file_are_refused_with_skills(tmp_path, capsys):
    assert main(["export", "--skills", str(tmp_path / "skills"), "--vectors"]) == 1
    assert "leave them out with --skills" in capsys.readouterr().err
    assert not (tmp_path / "skills").exists()


def test_retired_strategies_are_left_out_and_their_old_files_named(filled, tmp_path):
    export_skills(filled, tmp_path)
    filled.strategies.retire([STRATEGY.id])
    exported = export_skills(filled, tmp_path)
    assert exported.obsolete == ("wait-as-long-as-the-other-side-asks-55555555",)
    assert (exported.n_strategies, exported.n_concepts) == (0, 1)


def test_hostile_texts_stay_inside_their_fields(memory, tmp_path):
    memory.strategies.add(atlas.Strategy(id="a" * 32, title=HOSTILE, situation=HOSTILE * 100, suggestion=HOSTILE))
    memory.concepts.add(
        atlas.CodeConcept(id="b" * 32, name="x", description=HOSTILE, code="x = 1", examples=(("f('```')", "1"),))
    )
    export_skills(memory, tmp_path)
    texts = [path.read_text() for path in tmp_path.glob("*/SKILL.md")]
    assert len(texts) == 2
    for text in texts:
        read = front(text)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", read["name"])
        assert len(read["name"]) <= 64
        assert len(read["description"]) <= MAX_DESCRIPTION
        assert read["metadata"]["id"] in ("a" * 32, "b" * 32)
