"""What the list of experiences and the detail of one make of a memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

import atlas
from atlas.maps.map import UNCLUSTERED, Domain, MapRecipe, MemoryMap
from atlas.testing import HashEmbedder
from atlas.views.experience.experience import Editable, experience_detail
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.experience.list import place_and_mark
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import known_tags, options_of
from atlas.views.lists.listing import listed_page, similar_rows
from atlas.views.lists.queries import Listing, Query, n_pages
from atlas.views.shared.live import changes_since, page_state
from atlas.views.shared.scope import (
    WORDS,
    Scope,
    domain_titles,
    left_out_sentence,
    scope_with,
)
from atlas.views.shared.scope_address import address_of, read_address
from atlas.views.shared.state import store_state
from atlas.views.shared.wording import OUTCOMES
from tests.support.records import START, attempt, attempts

OPTIONS: dict[str, dict[object, int]] = {each.name: {} for each in EXPERIENCE.filters}
"""Those of an empty store."""


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=atlas.Settings(actor="ann")) as memory:
        yield memory


def test_the_last_page_holds_what_is_left(memory):
    memory.experience.store_many(attempts(51))
    assert n_pages(memory.experience.count()) == 3
    assert [row.task.split(":")[0] for row in listed_page(memory, EXPERIENCES, Query(), page=3).rows] == ["Task 0"]


def test_an_empty_memory_has_one_empty_page(memory):
    assert n_pages(0) == 1
    assert listed_page(memory, EXPERIENCES, Query()) == Listing(
        rows=(), n=0, n_records=0, caption="0 experiences · newest first"
    )


@pytest.mark.parametrize(("page", "first"), [(0, "Task 29"), (-5, "Task 29"), (99, "Task 4")])
def test_a_page_that_is_not_there_is_the_nearest_that_is(memory, page, first):
    memory.experience.store_many(attempts(30))
    assert listed_page(memory, EXPERIENCES, Query(), page=page).rows[0].task.startswith(first)


def test_an_outcome_nobody_knows_is_left_out_of_the_rate(memory):
    memory.experience.store_many(attempts(6))
    assert listed_page(memory, EXPERIENCES, query(outcomes=("unknown",))).caption == "2 of 6 experiences · newest first"


def test_sources_of_any_kind_can_be_filtered_by(memory):
    memory.experience.store_many([attempt("one", source=3), attempt("two", source="three")])
    assert {*options_of(EXPERIENCE.filters, memory.experience)["sources"]} == {3, "three"}
    assert [row.task for row in listed_page(memory, EXPERIENCES, query(sources=(3,))).rows] == ["one"]


def test_the_days_of_a_scope_are_whole(memory):
    memory.experience.store_many([attempt(f"day {n}", at=START.replace(hour=23) + timedelta(days=n)) for n in range(3)])
    one_day = query(since=date(2026, 3, 2), until=date(2026, 3, 2))
    assert [row.task for row in listed_page(memory, EXPERIENCES, one_day).rows] == ["day 1"]
    assert len(listed_page(memory, EXPERIENCES, query(until=date.max)).rows) == 3


def test_a_domain_is_its_members_and_nothing_without_a_map(memory):
    ids = memory.experience.store_many(attempts(3))
    drawn = a_map(ids, [0, UNCLUSTERED, 0])
    assert Scope(domains=(0,)).where(drawn) == {"id": {"$in": [ids[0], ids[2]]}}
    assert Scope(domains=(UNCLUSTERED,)).where(drawn) == {"id": {"$in": [ids[1]]}}
    assert Scope(domains=(0,)).where(None) == {"id": {"$in": []}}
    assert domain_titles(drawn, [0, 7]) == {0: "eggs", UNCLUSTERED: "In no domain", 7: "Domain 7, gone since"}


def test_a_sketch_of_a_map_tells_no_domain(memory):
    sketch = replace(a_map(memory.experience.store_many(attempts(3)), [UNCLUSTERED] * 3), domains=())
    for memory_map in (sketch, None):
        assert Scope(domains=(UNCLUSTERED,)).awaits(memory_map)
        assert Scope(domains=(UNCLUSTERED,)).where(memory_map) == {"id": {"$in": []}}
        assert domain_titles(memory_map, [UNCLUSTERED, 1]) == {
            UNCLUSTERED: "In no domain, when the map is made",
            1: "Domain 1, when the map is made",
        }
    assert not Scope().awaits(None)


def test_domains_of_one_name_are_told_apart(memory):
    drawn = a_map(memory.experience.store_many(attempts(2)), [0, 1])
    twice = replace(drawn, domains=(*drawn.domains, replace(drawn.domains[0], number=1)))
    assert domain_titles(twice) == {0: "eggs (domain 0)", 1: "eggs (domain 1)"}


@pytest.mark.parametrize(
    "scope",
    [
        Scope(),
        scope_with(text=" an egg & <b>", by=WORDS, outcomes=("failed", "unknown"), domains=(2, UNCLUSTERED)),
        scope_with(tags=("a", "b+c"), sources=(3, "three"), agents=("ann",), pinned=True),
        scope_with(since=date(2026, 3, 1), until=date(2026, 3, 2)),
    ],
)
def test_an_address_says_all_of_a_scope(scope):
    outcomes = dict.fromkeys(OUTCOMES, 1)
    options = OPTIONS | {
        "outcomes": outcomes,
        "tags": {"a": 1, "b+c": 1},
        "sources": {3: 2, "three": 1},
        "agents": {"ann": 1},
    }
    read = read_address(address_of(scope), options, None)
    assert {*read.scope.domains} == {*scope.domains}
    assert replace(read.scope, domains=()) == replace(scope, domains=())
    assert not any(read.n_left_out.values())


def test_of_an_address_the_store_is_narrowed_to_what_it_holds():
    numbers = ["1", "1", "01", " 2", "-2", "1e3", "²", "9" * 400, *map(str, range(99_990, 110_000))]
    asked = {"scope_domains": numbers, "scope_tags": ["\udcff", "x" * 10**6], "scope_since": ["20260302", "2026-W10-1"]}
    read = read_address(asked, OPTIONS, None)
    assert read.scope == Scope(domains=(1, *range(99_990, 100_000)))
    assert {noun: n for noun, n in read.n_left_out.items() if n} == {"domain": 10_006, "tag": 2, "date": 2}


@pytest.mark.parametrize(
    ("text", "steps", "n_left_out"), [("007", 7, 0), ("7", 7, 0), ("-1", None, 1), ("7.0", None, 1)]
)
def test_a_number_of_an_address_may_have_leading_zeros(text, steps, n_left_out):
    read = read_address({"scope_steps": [text]}, OPTIONS, None)
    assert (read.scope.values.get("steps"), read.n_left_out["step count"]) == (steps, n_left_out)


def test_rows_say_their_domain_and_what_was_said_of_them(memory):
    ids = memory.experience.store_many(attempts(2))
    memory.experience.change_marks([ids[1]], add_tags=["red"], pinned=True, buried=True)
    rows = place_and_mark(memory, listed_page(memory, EXPERIENCES, Query()).rows, a_map(ids, [0, UNCLUSTERED]))
    assert [(row.domain, row.marks) for row in rows] == [("", "pinned, retired, red"), ("eggs", "")]


def test_a_task_whose_attempts_are_in_several_domains_is_in_a_mixed_one(memory):
    ids = memory.experience.store_many(attempt("Boil an egg", task_id="egg", agent=name) for name in "abc")
    [row] = listed_page(memory, EXPERIENCES, Query(distinct=True)).rows

    def domain(*labels: int) -> str:
        return place_and_mark(memory, [row], a_map(ids, labels))[0].domain

    assert (domain(0, 0, 1), domain(0, 0, UNCLUSTERED), domain(*[UNCLUSTERED] * 3)) == ("mixed", "eggs", "")


def test_tags_are_counted_most_frequent_first(memory):
    ids = memory.experience.store_many(attempts(3))
    memory.experience.change_marks(ids, add_tags=["blue"])
    memory.experience.change_marks(ids[:1], add_tags=["a"])
    assert [*known_tags(memory.experience).items()] == [("blue", 3), ("a", 1)]


def test_what_an_address_asked_for_in_vain_is_listed_as_one_would_say_it():
    assert left_out_sentence({"tag": 0}) == ""
    assert "names 2 tags that this store does not have" in left_out_sentence({"tag": 2})
    assert "names 1 tag, 2 sources and 1 date that" in left_out_sentence({"tag": 1, "source": 2, "date": 1})


def test_what_others_did_since_is_counted_by_what_it_was(memory):
    ids = memory.experience.store_many(attempts(3))
    drawn = page_state(memory, store_state(memory))
    assert changes_since(drawn, memory) == ""
    memory.experience.store_many(attempts(2))
    memory.experience.edit(ids[0], feedback="new")
    memory.experience.change_marks(ids[:2], pinned=True)
    memory.experience.delete(ids[2:])
    assert changes_since(drawn, memory) == "2 new · 1 changed · 2 marked · 1 deleted"


def test_an_operation_that_goes_on_counts_from_where_it_was(memory):
    importing = memory.experience.as_operation("import")
    importing.store_many(attempts(2))
    drawn = page_state(memory, store_state(memory))
    importing.store_many(attempts(3))
    assert changes_since(drawn, memory) == "3 new"


def test_an_edit_keeps_what_the_person_did_not_touch(memory):
    experience = memory.experience.get(memory.experience.store(attempt("Sort", feedback="bad", success=False)))
    begun = Editable(task="Sort", outcome="failed", feedback="older")
    typed = Editable(task="Sort", outcome="unknown", feedback="older")
    changes = typed.changes(begun, experience)
    assert [*changes] == ["outcome"]
    assert changes["outcome"].success is None


def test_an_experience_that_others_were_merged_into_says_for_how_many_it_stands(memory):
    first, second = memory.experience.store_many([attempt(), attempt(success=False, agent="b")])
    merged = memory.experience.merge([first, second])
    detail = experience_detail(memory, merged.id)
    assert detail is not None
    assert {fact.name: fact.value for fact in detail.facts}["Stands for"] == "2 attempts: 1 succeeded, 1 failed"


def test_a_detail_says_what_an_attempt_took_and_what_its_outcome_does_not(memory):
    spent = {"seconds": 75, "tokens": {"input": 2110, "output": 658}, "cost_usd": 0.000711}
    experience_id = memory.experience.store(attempt(feedback="All seats were taken", success=False, **spent))
    detail = experience_detail(memory, experience_id)
    assert detail is not None
    facts = {fact.name: fact.value for fact in detail.facts}
    assert (facts["Took"], facts["Tokens"], facts["Cost"]) == ("1 min", "2,110 read, 658 written", "$0.000711")
    assert "Partial score" not in facts
    assert detail.ending == "Feedback: All seats were taken"


def test_a_detail_says_which_of_the_attempts_at_its_task_it_is(memory):
    ids = memory.experience.store_many(attempt("Boil an egg", task_id="egg", agent=name) for name in "abc")
    assert experience_detail(memory, ids[1]).place == "Attempt 2 of 3"


def test_an_attempt_is_compared_with_the_latest_of_the_other_outcome(memory):
    made = [attempt("Boil an egg", success, task_id="egg", agent=str(n), at=datetime(2026, 5, 1 + n, tzinfo=UTC))
            for n, success in enumerate((False, True, True, None))]  # fmt: skip
    ids = memory.experience.store_many(made)
    counterparts = [experience_detail(memory, each).counterpart for each in ids]
    assert [each and each.id for each in counterparts] == [ids[2], ids[0], ids[0], None]


def test_the_line_below_many_steps_says_the_outcome_and_why(memory):
    long, short = memory.experience.store_many(
        attempt(success=False, feedback="It never expires", task_id=str(n), steps=(atlas.Step(action="look"),) * n)
        for n in (9, 2)
    )
    assert experience_detail(memory, long).closing == "Outcome: ✗ failed · Feedback: It never expires"
    assert experience_detail(memory, short).closing == ""


def test_a_partial_score_says_of_how_much_it_is(memory):
    outcome = atlas.Outcome(success=False, partial_score=0.8)
    experience_id = memory.experience.store(replace(attempt(success=False), outcome=outcome))
    facts = {fact.name: fact.value for fact in experience_detail(memory, experience_id).facts}
    assert facts["Partial score"] == "0.80 of 1, as reported"


def test_the_background_repeats_neither_the_source_nor_the_mark_of_the_sample_data(memory):
    first = memory.experience.store(attempt(source="north", is_sample=True, branch="main"))
    second = memory.experience.store(attempt("Another", source="north"))
    [part] = experience_detail(memory, first).background
    assert json.loads(part.text.whole) == {"branch": "main"}
    assert experience_detail(memory, second).background == ()


def test_similar_experiences_leave_out_the_one_itself(memory):
    first, second = memory.experience.store_many([attempt("boil an egg"), attempt("boil two eggs")])
    assert [row.id for row in similar_rows(memory, EXPERIENCES, first)] == [second]


def test_a_detail_says_an_error_once(memory):
    experience_id = memory.experience.store(attempt(success=False, error="it broke"))
    detail = experience_detail(memory, experience_id)
    assert detail is not None
    assert [(part.name, part.text.whole) for part in detail.results][1:] == [("Feedback", "it broke")]


def test_there_is_no_detail_of_what_is_not_there(memory):
    assert experience_detail(memory, "nothing") is None


def query(**values) -> Query:
    """What a scope asks for."""
    return Query(where=scope_with(**values).where())


def a_map(ids: Sequence[str], labels: Sequence[int]) -> MemoryMap:
    """A map with the domains eggs, of the number 0, and milk."""
    eggs, milk = (
        Domain(
            number=number, name=name, is_named_by_person=False, terms=(), n=labels.count(number), centre=(0.0, 0.0),
            typical=(),
        )
        for number, name in enumerate(("eggs", "milk"))
    )  # fmt: skip
    return MemoryMap(
        ids=tuple(ids),
        coordinates=np.zeros((len(ids), 2), np.float32),
        is_placed=np.zeros(len(ids), np.bool_),
        labels=np.array(labels, np.int32),
        strengths=np.ones(len(ids), np.float32),
        domains=(eggs, milk) if milk.n else (eggs,),
        recipe=MapRecipe(model="m", engine="pca", seed=42, n_neighbours=15, min_domain_size=2, versions=""),
        trustworthiness=1.0,
        revision=1,
    )
