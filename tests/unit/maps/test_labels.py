"""Names that people have given to domains."""

from __future__ import annotations

import json

import pytest

from atlas.core.errors import InvalidInput, StoreUnavailable
from atlas.maps.labels import DomainNames
from atlas.maps.map import make_map
from tests.support.vectors import topical


def given(names, topics_map):
    return {d.number: d.name for d in names.apply(topics_map).domains if d.is_named_by_person}


def test_a_name_stays_with_its_records_when_the_map_is_made_anew(names, topics_map):
    number = topics_map.domains[2].number
    names.rename(topics_map, number, "  Airline desk ")
    again = make_map(topical(300), seed=7)
    renamed = next(domain for domain in names.apply(again).domains if domain.is_named_by_person)
    assert renamed.name == "Airline desk"
    assert set(again.members(renamed.number)) & set(topics_map.members(number))
    assert given(names, topics_map) == {number: "Airline desk"}


def test_the_last_name_counts_and_an_empty_one_takes_it_back(names, topics_map):
    number = topics_map.domains[0].number
    names.rename(topics_map, number, "First")
    names.rename(topics_map, number, "Second")
    assert given(names, topics_map) == {number: "Second"}
    assert len(names.load()) == 1
    names.rename(topics_map, number, "")
    assert given(names, topics_map) == {}


def test_each_collection_has_its_own(tmp_path, names, topics_map):
    names.rename(topics_map, topics_map.domains[0].number, "Ours")
    others = DomainNames(tmp_path, "atlas_concepts")
    others.rename(topics_map, topics_map.domains[1].number, "Theirs")
    assert [named.name for named in names.load()] == ["Ours"]
    assert [named.name for named in others.load()] == ["Theirs"]


def test_a_name_whose_records_are_gone_names_nothing(names, topics_map):
    names.rename(topics_map, topics_map.domains[0].number, "Gone")
    assert given(names, make_map(topical(100, first=1_000))) == {}


@pytest.mark.parametrize(
    ("name", "message"),
    [("x" * 81, "at most 80 characters"), ("two\nlines", "one line of visible"), ("bell\a", "one line of visible")],
)
def test_a_name_is_one_short_line(names, topics_map, name, message):
    with pytest.raises(InvalidInput, match=message):
        names.rename(topics_map, topics_map.domains[0].number, name)


def test_only_domains_of_the_map_can_be_named(names, topics_map):
    with pytest.raises(InvalidInput, match="no domain 99"):
        names.rename(topics_map, 99, "x")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"atlas_experiences": [{"name": 1}]}', '{"atlas_experiences": 3}'])
def test_a_damaged_file_names_nothing_and_is_put_aside(names, topics_map, content):
    names.path.write_text(content)
    assert names.load() == ()
    names.rename(topics_map, topics_map.domains[0].number, "New")
    assert [named.name for named in names.load()] == ["New"]
    held = json.loads(names.path.read_text())["atlas_experiences"]
    assert held[0]["name"] == "New"
    aside = names.path.with_name("domain_names.json.damaged")
    assert held[1:] == [{"name": 1}] or aside.read_text() == content


def test_an_entry_that_cannot_be_read_costs_no_other_name_and_is_kept(names, topics_map):
    first, second, third = (domain.number for domain in topics_map.domains[:3])
    names.rename(topics_map, first, "First")
    names.rename(topics_map, second, "Second")
    held = json.loads(names.path.read_text())
    odd = [{"name": "of a later version", "shape": [1]}, 7, {"name": "huge", "members": [], "n": float("inf")}]
    held["atlas_experiences"] = [odd[0], *held["atlas_experiences"], *odd[1:]]
    names.path.write_text(json.dumps(held))
    assert given(names, topics_map) == {first: "First", second: "Second"}
    names.rename(topics_map, third, "Third")
    assert given(names, topics_map) == {first: "First", second: "Second", third: "Third"}
    assert [entry for entry in json.loads(names.path.read_text())["atlas_experiences"] if entry in odd] == odd


def test_a_file_that_cannot_be_written_is_told(tmp_path, topics_map):
    (tmp_path / "missing").write_text("no directory")
    with pytest.raises(StoreUnavailable, match="has been removed or moved"):
        DomainNames(tmp_path / "missing", "atlas_experiences").rename(topics_map, topics_map.domains[0].number, "x")
