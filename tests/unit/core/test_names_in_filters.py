"""Names in filters: right ones, misspelt ones, and those that no record has yet."""

from __future__ import annotations

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.filters import filter_notes, nearest_name

OWN = frozenset(["outcome", "domain", "task_id", "entry_type"])


def never_read():
    raise AssertionError("the keys of the records are read only for unknown names")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("outcom", "outcome"),
        ("Outcome", "outcome"),
        ("otucome", "outcome"),
        ("entry-type", "entry_type"),
        ("entrytype", "entry_type"),
        ("meta.outcome", "outcome"),
        ("colour", "meta.colour"),
        ("meta.color", "meta.colour"),
        ("created", "created_at"),
        ("marks.pined", "marks.pinned"),
        ("usage.n_use", "usage.n_uses"),
        ("meta.größse", "meta.größe"),
    ],
)
def test_a_name_that_is_nearly_there_is_an_error_that_gives_the_right_one(name, meant):
    with pytest.raises(InvalidInput) as raised:
        filter_notes({name: "x"}, OWN, lambda: ["meta.colour", "meta.größe", "meta.step1"])
    assert str(raised.value) == f"a filter uses the unknown field {name!r}; did you mean {meant!r}?"


@pytest.mark.parametrize("name", ["meta.region", "main", "meta.step2", "language", "a", "题目"])
def test_a_name_that_no_record_has_yet_is_a_note(name):
    notes = filter_notes({name: 1}, OWN, lambda: ["meta.step1", "meta.lang", "b"])
    assert notes == (f"No record has {name!r} yet, so nothing passes the filter on it.",)


def test_fields_and_keys_that_exist_are_neither():
    assert filter_notes({"outcome": "failed", "marks.tags": "a", "usage.n_uses": 1, "id": "x"}, OWN, never_read) == ()
    assert filter_notes({"meta.region": "x"}, OWN, lambda: ["meta.region"]) == ()
    assert filter_notes(None, OWN, never_read) == ()


def test_names_inside_other_filters_are_looked_at_once_each():
    where = {"$or": [{"meta.a": 1}, {"$and": [{"meta.a": 2}, {"outcome": "failed"}]}, {"meta.b": {"$gt": 3}}]}
    assert len(filter_notes(where, OWN, lambda: [])) == 2
    with pytest.raises(InvalidInput, match="did you mean 'domain'"):
        filter_notes({"$or": [{"outcome": "x"}, {"domian": "y"}]}, OWN, lambda: [])


def test_a_misspelling_of_two_names_gives_the_nearer_one():
    assert nearest_name("meta.tickts", ["meta.tickets", "meta.thickets"]) == "meta.tickets"
