"""Merging concepts: which one stays, what it takes over, who is told, and the way back."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.errors import InvalidInput, PlanOutdated
from atlas.core.operations import Marks
from atlas.core.types import CodeConcept
from atlas.testing import FixedClock, HashEmbedder

CROP = "def crop(grid, box):\n    return [row[box[1]:box[3]] for row in grid[box[0]:box[2]]]\n"
OTHER_CROP = "def crop(g, b):\n    rows = g[b[0]:b[2]]\n    return [row[b[1]:b[3]] for row in rows]\n"
CUT = "def cut(g, b):\n    out = [row[b[1]:b[3]] for row in g[b[0]:b[2]]]\n    return out\n"


@pytest.fixture
def memory(tmp_path):
    settings = atlas.Settings()
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=settings, clock=FixedClock()) as opened:
        yield opened


@pytest.fixture
def library(memory):
    return memory.concepts


def concept(name="crop", code=CROP, description="cut a box out of a grid", **fields):
    return CodeConcept(name=name, description=description, code=code, **fields)


def caller(name, called):
    return concept(name, f"def {name}(g):\n    return {called}(g, g)\n", f"{name} it")


def imported(library, one):
    """Its id; what is imported may share a name with others."""
    return library.add_many([one])[0]


def test_the_most_used_stays_and_takes_over_what_is_known_of_the_others(memory, library):
    first = imported(library, concept(found_in=("e1",), examples=(("crop([[1]], 0)", "[[1]]"),)))
    second = imported(library, concept(code=OTHER_CROP, found_in=("e2",), examples=(("crop([[2]], 0)", "[[2]]"),)))
    library.update_stats(first, success=False)
    for success in (True, False):
        library.update_stats(second, success=success)
    library.mark({first: Marks(tags=("grids",), pinned=True)})
    merged = library.merge([first, second])
    assert merged.id == second
    kept = library.get(second)
    assert (kept.code, kept.found_in) == (OTHER_CROP, ("e2", "e1"))
    assert kept.examples == (("crop([[2]], 0)", "[[2]]"), ("crop([[1]], 0)", "[[1]]"))
    assert (library.uses(second).n_uses, library.uses(second).n_successes) == (3, 1)
    assert library.marks([second])[second] == Marks(tags=("grids",), pinned=True)
    assert library.ids() == [second]


def test_of_those_that_nobody_used_the_oldest_stays(library):
    ids = [imported(library, concept()), imported(library, concept(code=OTHER_CROP))]
    plan = library.plan_merge([ids[::-1]])
    assert [(group.kept_id, group.why_kept) for group in plan.groups] == [(ids[1], "it is the oldest")]
    old = imported(library, concept("cut", CUT, created_at=FixedClock().now().replace(year=2001)))
    assert library.plan_merge([[*ids, old]]).groups[0].kept_id == old


def test_callers_by_the_same_name_are_told_of_the_one_that_stays(library):
    first, second = imported(library, concept()), imported(library, concept(code=OTHER_CROP))
    library.update_stats(first, success=True)
    calling = library.add(caller("crop_twice", "crop"))
    assert library.get(calling).calls == (second,)
    plan = library.plan_merge([[first, second]])
    assert plan.broken_callers == ()
    library.apply_merge(plan)
    assert library.get(calling).calls == (first,)
    assert library.uses(first).called_by == (calling,)


def test_callers_by_another_name_are_named_in_the_plan_and_left_as_they_are(library):
    kept = imported(library, concept())
    gone = imported(library, concept("cut", CUT, examples=(("cut([[1]], 0)", "[[1]]"),)))
    library.update_stats(kept, success=True)
    calling = library.add(caller("cut_twice", "cut"))
    plan = library.plan_merge([[kept, gone]])
    assert [(one.id, one.lacks) for one in plan.broken_callers] == [(calling, ("cut",))]
    assert plan.groups[0].n_dropped_examples == 1
    library.apply_merge(plan)
    assert library.get(calling).calls == (gone,)
    assert library.get(kept).examples == ()


def test_what_was_composed_of_one_that_goes_is_composed_of_the_one_that_stays(library):
    first, second = imported(library, concept()), imported(library, concept("cut", CUT))
    made = imported(library, concept("both", "def both(g):\n    return g\n", composed_of=(second, first)))
    library.update_stats(first, success=True)
    library.merge([first, second])
    assert library.get(made).composed_of == (first,)


def test_one_that_calls_its_twin_does_not_call_itself_afterwards(library):
    twin = imported(library, concept())
    code = "def crop_all(g):\n    return crop(g, g)\n\ndef crop(g, b):\n    return g\n"
    calling = imported(library, concept("crop_all", code, calls=(twin,)))
    library.update_stats(calling, success=True)
    library.merge([twin, calling])
    assert library.get(calling).calls == ()


def test_undo_parts_them_again_exactly(memory, library):
    first, second = imported(library, concept()), imported(library, concept(code=OTHER_CROP))
    calling = library.add(caller("crop_twice", "crop"))
    library.mark({second: Marks(note="mine")})
    before = library.get_many([first, second, calling]), library.marks([first, second])
    library.merge([first, second])
    assert len(library) == 2
    memory.undo(memory.history(1)[0].id)
    assert (library.get_many([first, second, calling]), library.marks([first, second])) == before


def test_what_was_merged_away_is_not_added_again(library):
    first, second = imported(library, concept()), imported(library, concept(code=OTHER_CROP))
    library.merge([first, second])
    assert library.add_many([concept(code=OTHER_CROP), concept()]) == []


def test_a_plan_is_refused_once_a_concept_or_a_caller_has_changed(library):
    first, second = imported(library, concept()), imported(library, concept(code=OTHER_CROP))
    calling = library.add(caller("crop_twice", "crop"))
    library.update_stats(first, success=True)
    plan = library.plan_merge([[first, second]])
    library.edit(calling, description="crop it again")
    with pytest.raises(PlanOutdated):
        library.apply_merge(plan)
    assert len(library) == 3


def test_what_cannot_be_merged_is_refused(library):
    there = imported(library, concept())
    with pytest.raises(InvalidInput, match="at least two"):
        library.plan_merge([[there]])
    with pytest.raises(InvalidInput, match="no concept 'gone'"):
        library.plan_merge([[there, "gone"]])


def test_it_is_said_who_would_lack_what_is_deleted(library):
    called = imported(library, concept())
    calling = library.add(caller("crop_twice", "crop"))
    made = imported(library, concept("both", "def both(g):\n    return g\n", composed_of=(called,)))
    assert [one.id for one in library.dependents([called])] == [calling, made]
    assert [one.id for one in library.dependents([called, calling])] == [made]
    assert library.dependents([]) == []
