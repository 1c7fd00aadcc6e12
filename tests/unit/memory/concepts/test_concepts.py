"""The concept library: adding, finding, editing, lineage, statistics."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from atlas.core.codec import decode_concept, encode_concept
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.exchange import decode_line, encode_line
from atlas.core.types import CodeConcept, Outcome, Task, Trajectory
from atlas.learning.composition import PipelineCompositionStrategy, find_nothing
from atlas.memory.concepts.memory import COLLECTION, ChromaConceptLibrary
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.protocols.memory import ConceptLibrary
from atlas.storage.store import EmbeddingModel, Store
from atlas.testing import FixedClock, HashEmbedder, MemoryVectorStore
from tests.support.memories import DictVectorStore

CROP = "def crop(grid, box):\n    return [row[box[1]:box[3]] for row in grid[box[0]:box[2]]]\n"
CROP_TWICE = "def crop_twice(grid, box):\n    return crop(crop(grid, box), box)\n"


@pytest.fixture
def library(store):
    return ChromaConceptLibrary(HashEmbedder(), store.collection(COLLECTION), clock=FixedClock())


@pytest.fixture
def elsewhere(tmp_path):
    made = Store.open(tmp_path / "elsewhere", clock=FixedClock())
    made.bind(EmbeddingModel(HashEmbedder().model_name, HashEmbedder().dimension))
    yield ChromaConceptLibrary(HashEmbedder(), made.collection(COLLECTION), clock=FixedClock())
    made.ledger.close()


def concept(name="crop", description="cut a box out of a grid", code=CROP, **fields):
    return CodeConcept(name=name, description=description, code=code, **fields)


def test_it_is_a_concept_library(library):
    assert isinstance(library, ConceptLibrary)


def test_a_concept_comes_back_as_it_was_added(library):
    given = concept(
        signature="crop(grid, box)",
        examples=(("crop([[1]], (0, 0, 1, 1))", "[[1]]"),),
        source="learned",
        guidance="when the answer is a part",
        found_in=("e1",),
        metadata={"arity": 2},
    )
    concept_id = library.add(given)
    assert library.get(concept_id) == replace(given, created_at=FixedClock().now())
    assert decode_concept(encode_concept(given)) == given


@pytest.mark.parametrize("kind", [MemoryVectorStore, DictVectorStore])
def test_a_plain_store_keeps_finds_and_counts_concepts(kind):
    library = ChromaConceptLibrary(HashEmbedder(), kind())
    concept_id = library.add(concept())
    library.add(concept("flood", "fill a region with a colour", "def flood(g):\n    return g\n"))
    assert len(library) == 2
    assert library.search("cut a box out of a grid")[0].id == concept_id
    assert library.versions(concept_id) == []


def test_search_finds_by_description_and_by_words_of_the_code(library):
    crop = library.add(concept())
    library.add(concept("parse", "read a table", "def parse(text):\n    return text.splitlines()\n"))
    assert library.search("cut a part out of a grid", k=1)[0].id == crop
    assert [found.name for found in library.search_words("splitlines")] == ["parse"]
    assert library.retrieve("qqzz xxyy").hits == []


def test_the_passage_and_similar_are_there_as_for_every_memory(library):
    crop = library.add(concept())
    other = library.add(concept("crop_row", "cut a box out of a row", "def crop_row(row):\n    return row[1:]\n"))
    assert [hit.item.id for hit in library.similar(crop)] == [other]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"code": "def crop(:\n"}, "expected Python, got .* in line 1"),
        ({"code": "x\0"}, "NUL"),
        ({"description": "  "}, "expected a string that is not blank for a concept's description"),
        ({"name": ""}, "expected a string that is not blank for a concept's name"),
        ({"name": "x" * 201}, "up to 200"),
        ({"source": "stolen"}, "expected one of primitive"),
        ({"usage_count": -1}, "0 or more"),
        ({"success_rate": 2.0}, "from 0 to 1 for success_rate"),
        ({"code": "(" * 5000 + ")" * 5000}, "expected Python"),
        ({"calls": "an_id"}, "expected a list of ids for a concept's calls, got 'an_id'"),
        ({"found_in": (1,)}, "expected a list of ids for a concept's found_in"),
    ],
)
def test_what_cannot_be_a_concept_is_refused_and_nothing_is_added(library, fields, said):
    with pytest.raises(InvalidInput, match=said):
        library.add(concept(**fields))
    assert len(library) == 0


def test_the_same_code_in_another_dress_is_refused_and_the_one_that_is_there_is_named(library):
    there = library.add(concept())
    dressed = 'def cut(grid: list, box: tuple) -> list:\n    """Cut."""\n    # a comment\n' + CROP.split("\n", 1)[1]
    with pytest.raises(InvalidInput, match=there):
        library.add(concept(description="something else", code=dressed))
    with pytest.raises(InvalidInput, match=f"already has a concept with the id '{there}'"):
        library.add(replace(concept(code="def other():\n    return 1\n"), id=there))
    assert len(library) == 1


TRIM = "def trim(grid):\n    return grid[1:-1]\n"
OTHER = "def crop(grid):\n    return grid[1:]\n"


def test_a_name_that_another_concept_has_is_refused_and_that_one_is_named(library):
    there = library.add(concept())
    with pytest.raises(InvalidInput, match=f"concept '{there}' is already named 'crop'"):
        library.add(concept(code=OTHER))
    other = library.add(concept("trim", code=OTHER.replace("crop", "trim")))
    with pytest.raises(InvalidInput, match="is already named 'crop'"):
        library.edit(other, name="crop")
    library.edit(there, name="crop", description="cut a box out")
    (imported,) = library.add_many([concept(code=OTHER.replace("1:", "2:"))])
    assert library.edit(imported, description="what an import brings may share a name").name == "crop"


class Between(HashEmbedder):
    """Does something else once, while it is asked to embed: what another process may do meanwhile."""

    def __init__(self, meanwhile):
        super().__init__()
        self.meanwhile = [meanwhile]

    def encode_batch(self, texts):
        while self.meanwhile:
            self.meanwhile.pop()()
        return super().encode_batch(texts)


def test_of_two_that_add_one_name_at_once_the_second_is_refused(library, store):
    def other():
        library.add(concept(code=OTHER))

    late = ChromaConceptLibrary(Between(other), store.collection(COLLECTION), clock=FixedClock())
    with pytest.raises(InvalidInput, match="is already named 'crop'"):
        late.add(concept())
    assert [one["metadata"]["title"] for one in library.browse()] == ["crop"]
    assert store.count_operations() == 1


@pytest.mark.parametrize("name", ["not an identifier!", "<script>", "crop-2", "2"])
def test_python_is_named_as_code_can_call_it(library, name):
    with pytest.raises(InvalidInput, match="expected a Python identifier as the name, got"):
        library.add(concept(name))
    there = library.add(concept())
    with pytest.raises(InvalidInput, match="use the name of its function"):
        library.edit(there, name=name)
    assert library.get(library.add(concept(name, code="f()", language="javascript"))).name == name


def test_the_name_of_what_was_deleted_is_free_again(library):
    library.delete([library.add(concept())])
    assert library.get(library.add(concept(code=OTHER))).name == "crop"


def test_calls_hold_when_what_is_called_comes_later_goes_and_comes_again(library):
    twice = library.add(concept("crop_twice", "cut twice", CROP_TWICE))
    assert library.get(twice).calls == ()
    first = library.add(concept())
    assert library.get(twice).calls == (first,)
    assert library.uses(first).called_by == (twice,)
    library.delete([first])
    again = library.add(concept(code=OTHER))
    assert library.get(twice).calls == (again,)
    assert library.uses(again).called_by == (twice,)
    assert [one.id for one in library.depends_on(twice)] == [again]
    assert [one.id for one in library.dependents([again])] == [twice]
    assert library.edit(twice, description="cut two times").calls == (again,)
    library.delete([again])
    assert library.get(twice).calls == (again,)
    assert library.depends_on(twice) == []


def test_who_calls_a_concept_by_what_its_code_defines_calls_it(library):
    there = library.add(concept())
    library.edit(there, name="cut_out")
    twice = library.add(concept("crop_twice", "cut twice", CROP_TWICE))
    assert library.get(twice).calls == (there,)
    assert [one.id for one in library.depends_on(twice)] == [there]
    assert [one.id for one in library.dependents([there])] == [twice]
    assert library.uses(there).called_by == (twice,)
    library.delete([twice])
    library.add(concept("helping", "help", "def helping(g):\n    return g\n\n\ndef crop(g):\n    return g[:1]\n"))
    named = library.add(concept(code=OTHER))
    assert library.get(library.add(concept("crop_thrice", "cut", CROP_TWICE.replace("twice", "thrice")))).calls == (
        named,
    ), "who has the name goes before who defines it besides"


def test_one_text_in_place_of_ids_is_refused_here_too(library):
    there = library.add(concept())
    for method in (library.dependents, library.get_many):
        with pytest.raises(InvalidInput, match=f"expected a list of ids, got the string '{there}'"):
            method(there)
    assert len(library) == 1


def test_parameters_imports_and_builtins_are_no_calls_of_concepts(library):
    library.add_many([concept(name, name, f"def {name}(a):\n    return {number}\n")
                      for number, name in enumerate(("function", "sqrt", "len", "helper"))])  # fmt: skip
    code = (
        "from math import sqrt\n\n\ndef apply(function, xs):\n"
        "    helper = abs\n    return [function(sqrt(helper(len(x)))) for x in xs]\n"
    )
    assert library.get(library.add(concept("apply", "apply", code))).calls == ()


@pytest.mark.parametrize("language", ["Python", " PYTHON ", "py", "python3"])
def test_python_is_python_however_it_is_written(library, language):
    assert library.get(library.add(concept(language=language))).language == "python"
    with pytest.raises(InvalidInput, match="expected Python"):
        library.add(concept("bad", code="def (", language=language))


def test_examples_that_are_no_pairs_are_refused_when_added_and_when_edited(library):
    there = library.add(concept())
    for examples in ([1, 2], [("one",)], [("a", 2)], ["ab"]):
        with pytest.raises(InvalidInput, match="expected pairs of strings"):
            library.edit(there, examples=examples)
        with pytest.raises(InvalidInput, match="expected pairs of strings"):
            library.add(concept("trim", code=OTHER, examples=tuple(examples)))


def test_code_of_another_language_is_kept_as_text(library):
    voyager = concept("mineWood", "mine a log", "async function mineWood(bot) {}", language="javascript")
    concept_id = library.add(voyager)
    assert library.get(concept_id).language == "javascript"
    assert library.search("mine wood")[0].id == concept_id


def test_many_are_added_as_one_operation_and_undone_as_one(library, store):
    library.add(concept())
    added = library.add_many([concept(), concept("crop_twice", "cut twice", CROP_TWICE)], "compressed 3 programs")
    assert len(added) == 1
    assert len(library) == 2
    latest = store.history()[0]
    assert (latest.reason, dict(latest.counts)) == ("compressed 3 programs", {"added": 1})
    store.undo(latest.id)
    assert len(library) == 1


def test_one_bad_concept_among_many_adds_none(library):
    with pytest.raises(InvalidInput):
        library.add_many([concept(), concept("bad", "bad", "def (")])
    assert len(library) == 0


def test_calls_are_found_by_name_also_within_one_batch(library):
    library.add_many([concept("crop_twice", "cut twice", CROP_TWICE), concept()])
    twice, crop = library.search("cut twice")[0], library.search("cut a box out of a grid")[0]
    assert twice.calls == (crop.id,)
    assert library.uses(crop.id).called_by == (twice.id,)
    assert library.depends_on(twice.id) == [crop]


def test_depending_is_followed_through_others_and_ends_in_a_circle(library):
    a = concept("a", "the first", "def a():\n    return b()\n", id="a")
    b = concept("b", "the second", "def b():\n    return c()\n", id="b")
    c = concept("c", "the third", "def c():\n    return a()\n", id="c")
    library.add_many([a, b, c])
    assert [found.id for found in library.depends_on("a")] == ["b", "c"]
    library.delete(["b"])
    assert library.depends_on("a") == []


def test_composed_concepts_know_their_parts(library):
    crop = library.add(concept())
    made = library.add(concept("frame", "draw a frame", "def frame(g):\n    return g\n", composed_of=(crop,)))
    assert library.uses(crop).part_of == (made,)
    assert [found.id for found in library.depends_on(made)] == [crop]


def test_statistics_count_uses_and_how_they_went(library):
    concept_id = library.add(concept(usage_count=4, success_rate=0.5))
    library.update_stats(concept_id, True)
    library.record_use(concept_id, False, task_id="t")
    found, uses = library.get(concept_id), library.uses(concept_id)
    assert (found.usage_count, found.success_rate) == (6, 0.5)
    assert (uses.n_uses, uses.n_successes) == (6, 3)
    with pytest.raises(NotFound):
        library.update_stats("nobody", True)


def test_editing_keeps_the_earlier_version_and_finds_the_new_words(library, store):
    concept_id = library.add(concept())
    changed = library.edit(concept_id, name="cut_out", description="take a rectangle from a picture")
    assert library.get(concept_id) == changed
    assert library.search("take a rectangle from a picture")[0].name == "cut_out"
    library.edit(concept_id, code="def cut_out(grid):\n    return crop_it(grid)\n")
    assert [version.item.name for version in library.versions(concept_id)] == ["cut_out", "crop"]
    store.undo(store.history()[0].id)
    assert library.get(concept_id).code == CROP


def test_an_edit_that_was_undone_is_no_version_until_it_is_done_again(library, store):
    concept_id = library.add(concept())
    library.edit(concept_id, description="second")
    library.edit(concept_id, description="third")
    taken_back = store.undo(store.history()[0].id)
    assert [version.item.description for version in library.versions(concept_id)] == ["cut a box out of a grid"]
    store.undo(taken_back.id)
    assert [version.item.description for version in library.versions(concept_id)] == [
        "second",
        "cut a box out of a grid",
    ]


def test_two_edits_of_one_operation_are_two_versions(library):
    scoped = library.as_operation("edit")
    concept_id = library.add(concept())
    scoped.edit(concept_id, description="second")
    scoped.edit(concept_id, description="third")
    versions = library.versions(concept_id)
    assert [version.item.description for version in versions] == ["second", "cut a box out of a grid"]
    assert len({version.number for version in versions}) == 2


def test_what_a_merge_changed_is_no_version(library):
    kept = library.add(concept())
    library.merge([kept, library.add(concept("b", "b", "def b():\n    return 1\n"))])
    assert library.versions(kept) == []


def test_marks_are_no_versions(library):
    concept_id = library.add(concept())
    library.change_marks([concept_id], pinned=True)
    assert library.versions(concept_id) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"source": "learned"}, "cannot be edited"),
        ({"code": 3}, "expected str"),
        ({"code": "def ("}, "expected Python"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(library, changes, said):
    concept_id = library.add(concept())
    with pytest.raises(InvalidInput, match=said):
        library.edit(concept_id, **changes)
    assert library.versions(concept_id) == []


def test_an_edit_cannot_make_two_of_one(library):
    library.add(concept())
    other = library.add(concept("b", "b", "def b():\n    return 1\n"))
    with pytest.raises(InvalidInput, match="already"):
        library.edit(other, code=CROP)
    library.edit(other, code="def b():  # the one\n    return 1\n")


def test_an_edit_of_what_is_not_there_says_so(library):
    with pytest.raises(NotFound, match="no concept 'nobody'"):
        library.edit("nobody", name="x")


class TwoPrimitives:
    def load(self):
        crop, flood = concept(id="arc_crop", source="primitive"), concept("f", "fill", "def f(g):\n    return g\n")
        return {"crop": crop, "f": replace(flood, id="arc_f", source="primitive")}


def test_primitives_are_loaded_once_and_those_that_were_edited_stay(store):
    def opened():
        return ChromaConceptLibrary(HashEmbedder(), store.collection(COLLECTION), TwoPrimitives(), clock=FixedClock())

    opened().edit("arc_f", description="fill everything")
    again = opened()
    assert len(again) == 2
    assert again.get("arc_f").description == "fill everything"
    assert store.count_operations() == 2


class Shipping:
    """Brings one primitive, in a version."""

    def __init__(self, version):
        self.version = version

    def load(self):
        code = f"def crop(grid):\n    return grid[{self.version}:]\n"
        return {"crop": concept(id="arc_crop", code=code, source="primitive", metadata={"arity": 1})}


def test_primitives_that_come_newer_are_offered_brought_in_and_undone(library, store):
    library.load_primitives(Shipping(1))
    library.edit("arc_crop", metadata={**library.get("arc_crop").metadata})
    assert library.primitive_updates(Shipping(1)) == []
    (update,) = library.primitive_updates(Shipping(2))
    assert "grid[2:]" in update.code
    assert library.load_primitives(Shipping(2)) == []
    assert "grid[1:]" in library.get("arc_crop").code
    assert library.update_primitives(Shipping(2)) == ["arc_crop"]
    assert "grid[2:]" in library.get("arc_crop").code
    assert library.primitive_updates(Shipping(2)) == []
    store.undo(store.history()[0].id)
    assert "grid[1:]" in library.get("arc_crop").code
    assert len(library.primitive_updates(Shipping(2))) == 1


def test_primitives_that_a_person_edited_are_not_offered_a_newer_form(library):
    library.load_primitives(Shipping(1))
    library.edit("arc_crop", guidance="for borders")
    assert library.primitive_updates(Shipping(2)) == []
    assert library.update_primitives(Shipping(2)) == []
    assert library.get("arc_crop").guidance == "for borders"


@pytest.mark.parametrize("edited", [False, True])
def test_primitives_of_before_they_were_marked_are_known_by_their_versions(library, edited):
    library.add_many(list(Shipping(1).load().values()))
    assert library.primitive_updates(Shipping(1)) == []
    if edited:
        library.edit("arc_crop", guidance="for borders")
    assert len(library.primitive_updates(Shipping(2))) == (0 if edited else 1)


class Joined:
    async def compose(self, concepts):
        code = "\n".join(one.code for one in concepts)
        return concept("joined", "both", code, source="composed", composed_of=tuple(one.id for one in concepts))

    async def compress(self, trajectories):
        return [concept(f"from_{len(trajectories)}", "found", source="learned")]


def test_strategies_propose_and_the_library_is_as_it_was(store):
    library = ChromaConceptLibrary(
        HashEmbedder(),
        store.collection(COLLECTION),
        None,
        composition_strategy=Joined(),
        compression_strategy=Joined(),
    )
    ids = library.add_many([concept(), concept("f", "fill", "def f(g):\n    return g\n")])
    assert library.compose(ids).composed_of == tuple(ids)
    attempt = Trajectory(Task("t", "", "d"), (), Outcome(True))
    assert [found.name for found in library.compress([attempt])] == ["from_1"]
    assert len(library) == 2


@pytest.fixture
def composing(store):
    """A library of two concepts that composes anything."""
    library = ChromaConceptLibrary(HashEmbedder(), store.collection(COLLECTION), composition_strategy=Joined())
    library.add_many([concept(), concept("f", "fill", "def f(g):\n    return g\n")])
    return library


@pytest.mark.parametrize(
    ("ids", "error", "reason"),
    [
        ([], InvalidInput, "expected at least two concepts to compose, got 0"),
        (["crop"], InvalidInput, "expected at least two concepts to compose, got 1"),
        (["crop", "nobody"], NotFound, "there is no concept 'nobody'"),
    ],
)
def test_what_cannot_be_composed_gives_none_and_the_log_says_why_once(composing, caplog, ids, error, reason):
    by_name = {one.name: one.id for one in composing.get_many(composing.ids())}
    wanted = [by_name.get(one, one) for one in ids]
    assert composing.compose(wanted) is composing.compose(wanted) is None
    assert [(record.levelname, reason in record.message) for record in caplog.records] == [("WARNING", True)]
    with pytest.raises(error, match=reason):
        composing.composable(wanted)


def test_without_a_strategy_nothing_comes_and_the_log_says_once_what_to_give(library, caplog):
    ids = library.add_many([concept(), concept("f", "fill", "def f(g):\n    return g\n")])
    attempt = Trajectory(Task("t", "", "d"), (), Outcome(True))
    for _ in range(2):
        assert library.compose(ids) is None
        assert library.compose(["nobody", ids[0]]) is None
        assert library.compress([attempt]) == library.compress([]) == []
    said = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert [line.split(";")[1].split()[-1] for line in said] == ["composition_strategy", "compression_strategy"]
    with pytest.raises(InvalidInput, match="open it with a composition_strategy"):
        library.composable(ids)


def test_compression_is_given_successful_attempts_alone(library):
    outcomes = (True, False, None, True)
    attempts = [Trajectory(Task("t", "", "d"), (), Outcome(success)) for success in outcomes]
    library.compression_strategy = Joined()
    assert [one.name for one in library.compress(attempts)] == ["from_2"]


def test_writes_within_are_one_operation(library, store):
    scoped = library.as_operation("import", "two files")
    scoped.add(concept())
    scoped.add(concept("f", "fill", "def f(g):\n    return g\n"))
    assert store.count_operations() == 1
    assert len(library) == 2


def test_exported_concepts_are_the_same_elsewhere_and_are_put_back_once(library, elsewhere):
    crop, trim = library.add(concept(examples=(("crop([[1]], b)", "[[1]]"),))), library.add(concept("trim", code=TRIM))
    twice = library.add(concept("crop_twice", "cut twice", CROP_TWICE, composed_of=(crop,), found_in=("e1",)))
    library.update_stats(trim, True)
    library.record_use(crop, False, task_id="t", trajectory_id="r")
    library.merge([crop, trim])
    library.change_marks([twice], add_tags=["grids"], note="often")
    library.edit(twice, guidance="when once is not enough")
    ids = library.ids()
    exported = library.export(ids)
    lines = [decode_line(json.loads(encode_line(item))) for item in exported]
    assert elsewhere.restore_many(lines) == ids
    assert elsewhere.get_many(ids) == library.get_many(ids)
    assert elsewhere.marks(ids) == library.marks(ids)
    assert elsewhere.uses(ids[0]) == library.uses(ids[0])
    assert elsewhere.export(ids) == exported
    assert elsewhere.restore_many(lines) == []
    assert elsewhere.add_many([concept("trim", code=TRIM)]) == []  # what was merged is known there too


def test_an_exported_concept_whose_callee_was_left_out_finds_it_by_its_name(library, elsewhere):
    library.add(concept(source="primitive"))
    twice = library.add(concept("crop_twice", "cut twice", CROP_TWICE, source="learned"))
    own = elsewhere.add(concept())
    assert elsewhere.restore_many(library.export(library.ids({"source": "learned"}))) == [twice]
    assert elsewhere.depends_on(twice) == [elsewhere.get(own)]


def test_where_one_of_several_exported_concepts_cannot_be_kept_none_is_put_back(library, elsewhere):
    good, bad = library.export(
        library.add_many([concept(), concept("trim", code=TRIM)]),
    )
    bad = replace(bad, concept=replace(bad.concept, code="def trim(:"))
    with pytest.raises(InvalidInput, match="'trim': expected Python"):
        elsewhere.restore_many([good, bad])
    assert len(elsewhere) == 0


def test_a_record_of_before_it_said_what_it_needs_is_linked_by_its_code(library, store):
    crop, twice = library.add_many([concept(), concept("crop_twice", "cut twice", CROP_TWICE)])
    drop_needs(store)
    library.delete([crop])
    again = library.add(concept(code=OTHER))
    assert library.get(twice).calls == (again,)
    assert library.uses(again).called_by == (twice,)
    assert [one.id for one in library.dependents([again])] == [twice]


def test_code_that_only_a_newer_python_parses_is_read_all_the_same(library, store):
    crop = library.add(concept())
    drop_needs(store, code="def crop(:")
    assert library.get(crop).calls == ()
    assert library.uses(crop).called_by == ()


def test_what_is_no_concept_no_query_and_no_attempt_is_said(library):
    with pytest.raises(
        InvalidInput, match=r"expected a CodeConcept, got {'name': 'x'}; create one with atlas\.CodeConcept"
    ):
        library.add({"name": "x"})
    with pytest.raises(InvalidInput, match="expected a string for the query, got None"):
        library.search(None)
    with pytest.raises(InvalidInput, match="expected a whole number for k, got '5'"):
        library.search("grid", "5")
    library.compression_strategy = library.composition_strategy = Joined()
    with pytest.raises(InvalidInput, match="expected Trajectory objects, got 'a run'"):
        library.compress(["a run"])
    assert library.compose(library.add(concept())) is None


@pytest.mark.parametrize(
    ("plugged", "said"),
    [
        ({"primitive_loader": "arc"}, "expected an object with `load`, or None, for primitive_loader, got 'arc'"),
        ({"composition_strategy": object()}, "expected an object with `compose`, or None, for composition_strategy"),
        ({"compression_strategy": 7}, "expected an object with `compress`, or None, for compression_strategy, got 7"),
    ],
)
def test_what_cannot_be_plugged_in_is_refused_when_the_library_is_made(plugged, said):
    with pytest.raises(InvalidInput, match=said):
        ChromaConceptLibrary(HashEmbedder(), MemoryVectorStore(), **plugged)


def test_one_is_deleted_by_its_id_alone(library):
    crop, _ = library.add_many([concept(), concept("trim", code=TRIM)])
    assert library.delete(crop) == 1
    assert [one.name for one in library.get_many(library.ids())] == ["trim"]


def test_a_pipeline_asks_the_library_that_it_was_given_to_for_what_its_parts_call():
    given = PipelineCompositionStrategy()
    library = ChromaConceptLibrary(HashEmbedder(), DictVectorStore(), ARCPrimitiveLoader(), given)
    composed = library.compose(["arc_rotate_90", "arc_mirror_horizontal"])
    assert composed.name == "rotate_90_then_mirror_horizontal"
    assert composed.examples
    assert given.find is find_nothing


def drop_needs(store, **changes):
    """Make the records of concepts what an earlier ATLAS wrote, with other contents where given."""
    records = store.collection(COLLECTION)
    rows = records.get(records.ids())
    metadatas = [
        {name: value for name, value in row["metadata"].items() if name != "needs"}
        | {"content": json.dumps(json.loads(row["metadata"]["content"]) | changes)}
        for row in rows
    ]
    embeddings, documents = [row["embedding"] for row in rows], [row["document"] for row in rows]
    records.update([row["id"] for row in rows], embeddings, metadatas, documents)
