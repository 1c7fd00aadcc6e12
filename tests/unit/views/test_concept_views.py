"""What the pages say of concepts: lineage, examples as text, plans, and the history."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

import atlas
from atlas.core.errors import InvalidInput, NotFound, PlanOutdated
from atlas.core.exchange import decode_line
from atlas.core.types import CodeConcept
from atlas.learning.naming.documenter import DERIVATION_NOTE
from atlas.testing import HashEmbedder
from atlas.views.concepts.concept import concept_detail, examples_in, examples_text
from atlas.views.concepts.kind import CONCEPTS
from atlas.views.concepts.lineage import quoted
from atlas.views.concepts.parameters import parameters_of
from atlas.views.concepts.primitives import load_primitives, loader_names, n_missing, n_updates, update_primitives
from atlas.views.history.operations import operation_page
from atlas.views.kinds.concept import CONCEPT, MOST_USED_FIRST
from atlas.views.lists.cells import table_as_json
from atlas.views.lists.listing import found_page, listed_page, similar_rows
from atlas.views.lists.queries import Query, search
from atlas.views.lists.tables import exported_lines
from tests.support.records import attempt

CROP = "def crop(grid, box):\n    return [row[box[1]:box[3]] for row in grid[box[0]:box[2]]]\n"


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as opened:
        yield opened


def concept(name="crop", code=CROP, description="cut a box out of a grid", **fields):
    return CodeConcept(name=name, description=description, code=code, **fields)


def calling(name, called):
    return concept(name, f"def {name}(g):\n    return {called}(g, {name!r})\n", f"{name} it")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("crop", '"crop"'),
        ('a"]; b [URL="javascript:alert(1)"', '"a\\"]; b [URL=\\"javascript:alert(1)\\""'),
        ("back\\N\\", '"back\\\\N\\\\"'),
        ("a\nb\x00c\u202ed", '"a b c d"'),
        ("&lt;b&gt;", '"&amp;lt;b&amp;gt;"'),
        ("<b>x</b>", '"<b>x</b>"'),
        ("x" * 100, f'"{"x" * 35}…"'),
    ],
)
def test_a_name_in_the_picture_is_one_line_in_which_nothing_is_an_instruction(name, label):
    assert quoted(name) == label


def test_examples_as_text_come_back_as_they_were():
    examples = (("crop([[1]], 0)", "[[1]]"), ("crop(\n    [[2]], 0)", "[[2]]\n[[3]]"))
    assert examples_in(examples_text(examples)) == examples
    assert examples_in("") == ()
    with pytest.raises(InvalidInput, match="result"):
        examples_in(">>> crop(1)")
    with pytest.raises(InvalidInput, match="write >>> and a space"):
        examples_in(">>>crop(1)")


def test_what_is_around_a_concept_is_named_and_what_is_gone_is_counted(memory):
    crop = memory.concepts.add(concept())
    twice = memory.concepts.add(calling("crop_twice", "crop"))
    four = memory.concepts.add(calling("crop_four", "crop_twice"))
    lineage = concept_detail(memory, twice).lineage
    assert [(one.id, one.how) for one in lineage.relations] == [(crop, "it calls"), (four, "calls it")]
    assert "n0 -> n1" in lineage.dot
    assert "n2 -> n0" in lineage.dot
    memory.concepts.delete([crop])
    assert concept_detail(memory, twice).lineage.n_missing == 1
    both = memory.concepts.add(concept("both", "def both(g):\n    return g\n", calls=("x",), composed_of=("x", four)))
    assert concept_detail(memory, both).lineage.n_missing == 1


def test_what_calls_what_is_denied_of_python_alone(memory):
    ours = memory.concepts.add(concept())
    other = memory.concepts.add(concept("mine", "function mine(bot) { dig(bot) }", "mine ore", language="javascript"))
    assert concept_detail(memory, ours).lineage.caption == "It calls no other concept, and none calls it."
    assert "read from Python code only" in concept_detail(memory, other).lineage.caption


def test_a_learned_one_is_described_in_a_sentence_and_its_source_without_json(memory):
    said = f"Tells whether `n` is prime. Found in 3 programs. {DERIVATION_NOTE}"
    metadata = {"documented_by": "heuristic", "original_name": "fn_0", "n_tasks": 3, "saving": 12, "is_sample": True}
    detail = concept_detail(memory, memory.concepts.add(concept(description=said, metadata=metadata)))
    assert (detail.purpose.whole, detail.description.whole) == ("Tells whether `n` is prime.", "Found in 3 programs.")
    assert detail.background == ()
    assert detail.verdict == "It has not been used yet."
    facts = {fact.name: fact.value for fact in detail.facts}
    assert facts["Named by"] == "rules, from its code and uses"


@pytest.mark.parametrize(
    ("found_in", "metadata", "origin"),
    [
        ((), {"n_tasks": 2}, None),
        (("a",), {}, "1 attempt"),
        (("a", "b"), {"n_tasks": 2, "saving": 340}, "2 attempts at 2 tasks, whose code is 340 tokens shorter with it"),
        (("a",), {"n_tasks": "many", "saving": -1}, "1 attempt"),
    ],
)
def test_a_concept_names_the_attempts_that_it_was_found_in(memory, found_in, metadata, origin):
    crop = memory.concepts.add(concept(found_in=found_in, metadata=metadata))
    assert facts(memory, crop).get("Found in") == origin


@pytest.mark.parametrize(
    ("outcomes", "verdict", "counts"),
    [
        ((), "It has not been used yet.", None),
        ((True, True, False), "Not clear yet whether it mostly works.", "2 of 3 uses"),
        ((True,) * 6, "It mostly works.", "6 of 6 uses"),
        ((False,) * 6, "It mostly fails.", "0 of 6 uses"),
        ((True, False) * 5, "It works at times.", "5 of 10 uses"),
    ],
)
def test_a_concept_has_a_verdict_on_its_uses(memory, outcomes, verdict, counts):
    crop = memory.concepts.add(concept())
    for success in outcomes:
        memory.concepts.update_stats(crop, success=success)
    detail = concept_detail(memory, crop)
    assert (detail.verdict, detail.used and detail.used.counts) == (verdict, counts)


@pytest.mark.parametrize(
    ("code", "replaced"),
    [
        ("def f(a):\n    return a\n", "2 lines of code at each call"),
        (
            'import re\n\n\ndef f(a):\n    """Two\n    lines."""\n    # why\n    return a\n',
            "3 lines of code at each call",
        ),
    ],
)
def test_a_call_of_a_concept_replaces_its_lines_without_comments(memory, code, replaced):
    assert facts(memory, memory.concepts.add(concept("f", code)))["Replaces"] == replaced


def facts(memory, concept_id):
    return {fact.name: fact.value for fact in concept_detail(memory, concept_id).facts}


def test_a_saving_is_a_share_of_the_programs_that_are_all_stored(memory):
    programs = [
        memory.store(attempt(f"Set {name}", context={"language": "python"}, solution=f"{name} = f(1)\n"))["experience"]
        for name in ("x", "y")
    ]
    crop = memory.concepts.add(concept(found_in=tuple(programs), metadata={"saving": 3}))
    assert facts(memory, crop)["Found in"] == "2 attempts, whose code is 25% shorter with it"
    assert listed_page(memory, CONCEPTS, Query()).rows[0].origin.endswith(", found in 2 attempts, 25% shorter with it")
    memory.experience.delete(programs[:1])
    assert facts(memory, crop)["Found in"] == "2 attempts, whose code is 3 tokens shorter with it"


def test_steps_of_a_workflow_are_those_of_its_code_by_now(memory):
    code = "def refund_late(order):\n    result = get_order(order)\n    return refund(result)"
    workflow = memory.concepts.add(concept("refund_late", code, "refund an order", metadata={"workflow": True}))
    assert concept_detail(memory, workflow).steps.whole == "1. result = get_order(order)\n2. refund(result)"
    memory.concepts.edit(workflow, code="refund_late = refund")
    assert concept_detail(memory, workflow).steps is None
    assert concept_detail(memory, memory.concepts.add(concept())).steps is None


def test_examples_that_were_run_say_so_until_the_concept_is_edited(memory):
    example = {"examples": (("crop(1)", "1"),)}
    composed = memory.concepts.add(concept(**example, metadata={"composed_by": "types"}))
    assert concept_detail(memory, composed).proof
    assert not concept_detail(memory, memory.concepts.add(replace(calling("other", "crop"), **example))).proof
    memory.concepts.edit(composed, description="another")
    assert not concept_detail(memory, composed).proof


def test_an_earlier_version_is_restored_whole(memory):
    crop = memory.concepts.add(concept(examples=(("crop(1)", "1"),)))
    before = memory.concepts.get(crop)
    memory.concepts.edit(crop, description="another", examples=(), guidance="always")
    (first,) = memory.concepts.versions(crop)
    changes = CONCEPTS.changes_to(memory, crop, first.number)
    assert set(changes) == {"description", "examples", "guidance"}
    assert memory.concepts.edit(crop, **changes) == before
    assert CONCEPTS.changes_to(memory, crop, first.number) == {}
    with pytest.raises(NotFound):
        CONCEPTS.changes_to(memory, crop, 0)


def test_a_list_by_use_begins_with_the_most_used(memory):
    ids = memory.concepts.add_many([calling(f"use_{number}", "crop") for number in range(3)])
    memory.concepts.update_stats(ids[1], success=True)
    rows = listed_page(memory, CONCEPTS, Query(order=MOST_USED_FIRST)).rows
    assert [row.id for row in rows] == [ids[1], ids[0], ids[2]]
    assert (rows[0].record.tries, rows[1].record.tries) == ("1 of 1 use", "not used yet")


@pytest.mark.parametrize(
    ("signature", "code", "parameters"),
    [
        ("crop(grid: Grid, box: Box = ALL) -> Grid", "", "(grid, box)"),
        ("crop(grid, *, box) -> the part in the box", "", "(grid, *, box)"),
        ("", "import re\n\ndef crop(grid, *boxes, **options): ...", "(grid, *boxes, **options)"),
        ("crop(grid: T[], box?)", "function crop(grid, box) {}", ""),
        ("other(grid)", "crop = len", ""),
    ],
)
def test_a_row_shows_the_parameters_of_a_function(signature, code, parameters):
    assert parameters_of(concept(signature=signature, code=code)) == parameters


def test_a_search_says_why_and_that_nothing_was_found(memory):
    memory.concepts.add(concept())
    query = Query(text="cut a box out of a grid")
    listing = found_page(memory, CONCEPTS, query, search(memory, CONCEPT, query))
    assert listing.rows[0].why.startswith("Relevance")
    assert listing.caption == "1 of 1 concept is relevant, best first"
    nothing = Query(text="qqzz xxyy")
    listing = found_page(memory, CONCEPTS, nothing, search(memory, CONCEPT, nothing))
    assert listing.caption == "Nothing relevant among 1 concept, 1 not shown"


def test_a_similar_concept_has_its_description_below_its_name(memory):
    crop, twice = memory.concepts.add_many([concept(), calling("crop_twice", "crop")])
    shown = table_as_json(CONCEPT, CONCEPT.tables.similar, similar_rows(memory, CONCEPTS, crop))
    assert [column["title"] for column in shown["columns"]] == ["Concept", "Relevance"]
    assert shown["rows"][0]["titled"] == {"title": "crop_twice", "rest": memory.concepts.get(twice).description}


def test_a_merge_names_callers_by_another_name(memory):
    crop = memory.concepts.add(concept())
    cut = memory.concepts.add(concept("cut", "def cut(g, b):\n    return g[b]\n", examples=(("cut([1], 0)", "1"),)))
    memory.concepts.add(calling("cut_twice", "cut"))
    memory.concepts.update_stats(crop, success=True)
    view = CONCEPTS.act("merge").request((crop, cut, "gone")).propose(memory).view
    assert view.headline == "2 concepts would become 1: 1 of 3 would be deleted (33%)."
    assert [(row.title, row.goes) for row in view.rows] == [("crop", False), ("cut", True), ("cut_twice", False)]
    assert view.rows[2].why == "its code calls cut; change it"
    assert view.notes[0] == "1 of those chosen is not there any more."
    assert "it would not run until somebody changes it" in view.notes[1]
    assert "1 example would be left out" in view.notes[2]


def test_a_deletion_is_what_was_previewed_or_nothing(memory):
    crop = memory.concepts.add(concept())
    proposal = CONCEPTS.act("delete").request((crop,)).propose(memory)
    memory.concepts.add(calling("crop_twice", "crop"))
    with pytest.raises(PlanOutdated):
        proposal.apply(memory)
    again = CONCEPTS.act("delete").request((crop,)).propose(memory)
    assert [row.why for row in again.view.rows] == ["never used", "its code calls crop"]
    operation_id = again.apply(memory)
    assert (again.done_sentence, len(memory.concepts)) == ("Deleted 1 concept", 1)
    memory.undo(operation_id)
    assert len(memory.concepts) == 2


def test_the_history_speaks_of_concepts_only_where_all_are(memory):
    memory.concepts.add(concept())
    both = memory.concepts.as_operation("import", "all")
    both.add_many([calling("a", "b"), calling("b", "c")])
    memory.experience.as_operation("import", "all", operation_id=both.operation_id).store(attempt())
    memory.experience.store(attempt())
    assert [row.counts for row in operation_page(memory).rows] == ["1 added", "3 added", "concept crop added"]
    assert [row.sentence for row in operation_page(memory).rows] == [
        "Stored experience “Sort a list of numbers”",
        "Imported concept “a”, 1 concept and 1 experience",
        "Stored concept “crop”",
    ]


LOADER = """
from atlas.core.types import CodeConcept

class Loader:
    def load(self):
        code = "def crop(grid):\\n    return grid[1:]\\n"
        return {"crop": CodeConcept(id="test_crop", name="crop", description="cut", code=code, source="primitive")}
"""


def newer():
    code = "def {name}(grid):\n    return grid[{n}:]\n"
    return {
        name: concept(name, code.format(name=name, n=n), id=f"test_{name}", source="primitive")
        for n, name in enumerate(("crop", "trim"), start=2)
    }


def test_the_primitives_of_an_installed_package_are_loaded_once(memory, tmp_path, monkeypatch):
    installed = tmp_path / "site" / "some_primitives-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Name: some-primitives\nVersion: 1\n")
    (installed / "entry_points.txt").write_text("[atlas.primitives]\nsome = some_primitives:Loader\n")
    (tmp_path / "site" / "some_primitives.py").write_text(LOADER)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert "some" in loader_names()
    assert n_missing(memory, "some") == 1
    assert load_primitives(memory, "some").sentence == "Added 1 ready-made function"
    assert n_missing(memory, "some") == 0
    assert memory.concepts.ids() == ["test_crop"]
    assert load_primitives(memory, "some") is None
    assert n_updates(memory, "some") == 0
    monkeypatch.setattr(sys.modules["some_primitives"].Loader, "load", lambda self: newer())
    assert n_updates(memory, "some") == 1
    assert update_primitives(memory, "some").sentence == "Updated 1 ready-made function"
    assert update_primitives(memory, "some") is None
    assert memory.concepts.ids() == ["test_crop"]
    assert "grid[2:]" in memory.concepts.get("test_crop").code
    with pytest.raises(NotFound, match="'other'"):
        load_primitives(memory, "other")


def test_selected_concepts_are_taken_away_as_lines_that_an_import_reads(memory):
    ids = memory.concepts.add_many([concept(), concept("cut", "def cut(g):\n    return g[1:]\n", "cut a row off")])
    memory.concepts.change_marks(ids[:1], add_tags=["grids"])
    [line] = exported_lines(memory, CONCEPT, ids[:1]).decode().splitlines()
    exported = decode_line(json.loads(line))
    assert (exported.concept.id, exported.marks.tags) == (ids[0], ("grids",))


@pytest.mark.parametrize(
    ("examples", "shown"),
    [
        ((), ""),
        ((("halve(4)", "2.0"),), "`halve(4)` → `2.0`"),
        ((("is_even(3)", "False"), ("is_even(2)", "True")), "`is_even(2)` → `True`"),
        ((("halve('" + "x" * 140 + "')", "2.0"),), ""),
        ((("halve('" + "x" * 80 + "')", "2.0"), ("halve(6)", "3.0")), "`halve(6)` → `3.0`"),
        ((("halve(\n4)", "2.0"),), ""),
        ((("halve('`')", "2.0"),), ""),
        ((("day(__import__('datetime').date(2026, 1, 2))", "2"),), "`day(datetime.date(2026, 1, 2))` → `2`"),
    ],
)
def test_a_row_shows_the_first_short_example_that_tells_something(memory, examples, shown):
    memory.concepts.add(concept(examples=examples))
    (row,) = listed_page(memory, CONCEPTS, Query()).rows
    assert row.heading.advice == shown


def test_a_row_names_what_a_concept_was_made_of(memory):
    learned = memory.concepts.add(concept(name="cut", source="learned", found_in=("one",), metadata={"saving": 3}))
    memory.concepts.add(concept(name="cut_all", source="composed", code="cut_all = None", composed_of=(learned,)))
    origins = {row.name: row.origin for row in listed_page(memory, CONCEPTS, Query()).rows}
    assert origins == {"cut": "2 lines, learned from 1 attempt", "cut_all": "1 line, built from cut"}
