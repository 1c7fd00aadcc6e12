"""What a filter means: the same over every store, and in SQL what `atlas.core.filters.matches` says it is."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas.core.errors import InvalidInput
from atlas.core.filters import matches, parse_where
from atlas.storage.store import EmbeddingModel, Store
from tests.support.storage.vector_stores import STORES, axis, make_store

RECORDS = {
    "a": {"n": 1, "s": "x", "ok": True, "tags": ["red", "blue"], "share": 0.5},
    "b": {"n": 2, "s": "y", "ok": False, "tags": ["blue"], "share": 1.0},
    "c": {"n": 3, "s": "x", "tags": []},
    "d": {"n": "2", "s": "10", "mixed": [1, "x", None], "nothing": None, "deep": {"n": 1}},
    "e": {},
}


def nested(depth):
    where = {"n": 1}
    for _ in range(depth):
        where = {"$and" if depth % 2 else "$or": [{"n": 1}, where]}
    return where


@pytest.fixture(scope="module", params=STORES)
def filled(request, tmp_path_factory):
    """Every store with the records above; nothing here changes them."""
    directory = tmp_path_factory.mktemp("filters")
    is_server = request.param.endswith("PostgreSQL")
    address = request.getfixturevalue("postgres_server").new_address() if is_server else ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_LOCAL", str(directory))
        with make_store(request.param, directory, address) as store:
            store.put(**RECORDS)
            store.follow()
            yield store


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, "abcde"),
        ({}, "abcde"),
        ({"n": 2}, "b"),
        ({"n": 2.0}, "b"),
        ({"n": "2"}, "d"),
        ({"s": "x"}, "ac"),
        ({"s": "X"}, ""),
        ({"ok": True}, "a"),
        ({"ok": False}, "b"),
        ({"ok": 1}, "a"),
        ({"share": 1}, "b"),
        ({"missing": 1}, ""),
        ({"nothing": 0}, ""),
        ({"deep": 1}, ""),
        ({"deep": {"$gt": 0}}, ""),
        ({"n": {"$eq": 2}}, "b"),
        ({"n": {"$gt": 1}}, "bc"),
        ({"n": {"$gte": 2}}, "bc"),
        ({"n": {"$lt": 2}}, "a"),
        ({"n": {"$lte": 2}}, "ab"),
        ({"n": {"$gt": 1, "$lt": 3}}, "b"),
        ({"n": {"$gt": "1"}}, "d"),
        ({"s": {"$gt": "x"}}, "b"),
        ({"s": {"$gte": ""}}, "abcd"),
        ({"s": {"$lt": 100}}, ""),
        ({"n": {}}, "abcde"),
        ({"n": {"$in": [1, 3, 99]}}, "ac"),
        ({"n": {"$in": ["2", 1]}}, "ad"),
        ({"n": {"$in": []}}, ""),
        ({"s": {"$in": ("x", "y")}}, "abc"),
        ({"s": {"$in": {"y"}}}, "b"),
        ({"share": {"$in": [0.5, True]}}, "ab"),
        ({"tags": "blue"}, "ab"),
        ({"tags": {"$in": ["red", "green"]}}, "a"),
        ({"tags": {"$gt": "n"}}, "a"),
        ({"mixed": 1}, "d"),
        ({"mixed": "x"}, "d"),
        ({"mixed": {"$gt": 0}}, "d"),
        ({"n": 1, "s": "x"}, "a"),
        ({"n": 1, "s": "y"}, ""),
        ({"$and": [{"s": "x"}, {"n": {"$gt": 1}}]}, "c"),
        ({"$or": [{"n": 1}, {"tags": "blue"}, {"s": "10"}]}, "abd"),
        ({"$or": [{"$and": [{"s": "x"}, {"n": 3}]}, {"$and": [{"ok": False}, {"$or": [{"n": 9}, {"n": 2}]}]}]}, "bc"),
        ({"$and": [{"$or": [{"n": 1}, {"n": 2}]}, {"$or": [{"n": 2}, {"n": 3}]}]}, "b"),
        ({"s": "x", "$or": [{"n": 3}, {"n": 2}]}, "c"),
        ({"$and": []}, "abcde"),
        ({"$or": []}, ""),
        ({"$or": [{}]}, "abcde"),
        ({"id": "a"}, "a"),
        ({"id": {"$in": ["a", "e", "zzz"]}}, "ae"),
        ({"id": {"$gt": "c"}}, "de"),
        ({"id": 5}, ""),
        ({"id": {"$gt": 5}}, ""),
        ({"odd key'; --": 1}, ""),
    ],
)
def test_a_filter_passes(filled, where, expected):
    store = filled
    assert "".join(store.ids(where)) == expected
    assert store.count(where) == len(expected)
    assert "".join(sorted(store.query(axis(0), 10, where).ids)) == expected
    assert "".join(sorted(store.search_text("document", 10, where).ids)) == expected


def test_a_number_does_not_find_an_id_that_reads_like_it(store):
    store.put(**{"1": {}})
    assert store.ids({"id": "1"}) == ["1"]
    assert store.ids({"id": 1}) == []
    assert store.ids({"id": {"$in": [1]}}) == []


def test_a_record_with_several_values_that_pass_is_found_once(store):
    store.put(a={"tags": ["red", "blue"]}, b={"tags": ["red"]}, c={"tags": ["green"]})
    where = {"tags": {"$in": ["red", "blue"]}}
    assert store.ids(where) == ["a", "b"]
    assert sorted(store.query(axis(0), 10, where).ids) == ["a", "b"]


def test_a_filter_may_nest_and_list_much(store):
    store.put(a={"n": 1, "share": 0.1 + 0.2}, b={"n": 2, "share": 5e-324}, c={"n": 3, "share": 0.3})
    assert store.ids(nested(20)) == ["a"]
    assert store.ids({"share": {"$in": [index + 0.25 for index in range(300_000)] + [0.1 + 0.2, 5e-324]}}) == ["a", "b"]


def test_more_may_be_asked_for_than_there_could_be(store):
    store.put(a={"n": 1}, b={"n": 2}, c={"n": 3})
    assert sorted(store.query(axis(0), 10**20).ids) == ["a", "b", "c"]
    assert sorted(store.search_text("document", 10**20).ids) == ["a", "b", "c"]


def test_numbers_of_more_than_64_bits_can_be_held_and_compared(store):
    store.put(a={"n": 10**30}, b={"n": -(10**400)}, c={"n": 1})
    assert store.get(["b"])[0]["metadata"]["n"] == -(10**400)
    assert store.ids({"n": {"$gt": 2**70}}) == ["a"]
    assert store.ids({"n": {"$lt": -(2**70)}}) == ["b"]
    assert store.ids({"n": {"$in": [10**30, 1]}}) == ["a", "c"]
    assert store.ids({"n": {"$lt": 10**400}}) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"n": {"$ne": 1}}, r"unknown filter operator '\$ne' for 'n'; known: \$eq, \$in"),
        ({"n": {"x": 1}}, "unknown filter operator 'x' for 'n'"),
        ({"$not": [{"n": 1}]}, r"unknown filter operator '\$not'"),
        ({"$and": {"n": 1}}, r"expected a list of filters for \$and"),
        ({"$or": "n"}, r"expected a list of filters for \$or"),
        ({"$or": [5]}, "expected a filter such as"),
        ({"n": None}, "expected a string, number or boolean for the filter on .n., got None"),
        ({"n": [1, 2]}, "expected a string, number or boolean for the filter on"),
        ({"n": float("nan")}, "expected a string, number or boolean for the filter on .n., got nan"),
        ({"n": {"$in": 5}}, r"expected a list for \$in of 'n'"),
        ({"n": {"$in": "abc"}}, r"expected a list for \$in of 'n'"),
        ({"n": {"$in": [None]}}, "expected a string, number or boolean for the filter on"),
        ("n = 1", "expected a filter such as"),
        ({"s": "\udcff"}, "the filter on 's' contains a lone surrogate"),
        ({"s": {"$in": ["x", "\udcff"]}}, "the filter on 's' contains a lone surrogate"),
        ({"\udcff": 1}, "a filter's key contains a lone surrogate"),
        (nested(900), "should nest at most 20 levels deep"),
    ],
)
def test_a_malformed_filter_is_refused(filled, where, message):
    for method in (filled.count, filled.scan, lambda where: filled.query(axis(0), 1, where)):
        with pytest.raises(InvalidInput, match=message):
            method(where)


NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.sampled_from([0.0, -0.0, 0.1, 1.0, 1.5, 2**53 + 1, 2.0**53, 1e300, 5e-324, 0.1 + 0.2]),
    st.floats(allow_nan=False, allow_infinity=False),
)
TEXTS = st.one_of(
    st.sampled_from(["", "1", "2.0", "a", "A", "b", "é", "ﬀ", "\U0001f600", "%", "'"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=4),
)
SCALARS = NUMBERS | TEXTS
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS | st.none() | st.lists(SCALARS, max_size=2), max_size=3),
    st.none(),
    st.dictionaries(TEXTS, SCALARS, max_size=1),
)
KEYS = st.sampled_from(["a", "b", "c d"])
METADATA = st.dictionaries(KEYS, VALUES, max_size=3)
IDS = ["r0", "5", "x'y", "é"]
COMPARED = SCALARS | st.sampled_from([math.inf, -math.inf]) | st.sampled_from(IDS)
OPERANDS = st.one_of(
    COMPARED,
    st.fixed_dictionaries({}, optional={f"${name}": COMPARED for name in ("eq", "gt", "gte", "lt", "lte")}),
    st.fixed_dictionaries({"$in": st.lists(COMPARED, max_size=4)}),
)
SIMPLE = st.dictionaries(KEYS | st.just("id"), OPERANDS, max_size=2)
FILTERS = st.recursive(
    SIMPLE,
    lambda parts: st.dictionaries(st.sampled_from(["$and", "$or"]), st.lists(parts, max_size=3), min_size=1),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def ledger_store(tmp_path_factory):
    opened = Store.open(tmp_path_factory.mktemp("filters") / "store")
    opened.bind(EmbeddingModel("test", 8))
    yield opened
    opened.ledger.close()


numbered = itertools.count()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    metadatas=st.lists(METADATA, min_size=len(IDS), max_size=len(IDS)), wheres=st.lists(FILTERS, min_size=1, max_size=6)
)
def test_sql_passes_exactly_what_the_filter_means(ledger_store, metadatas, wheres):
    vector_store = ledger_store.collection(f"c{next(numbered)}")
    vector_store.add(IDS, [axis(i) for i in range(len(IDS))], metadatas, [""] * len(IDS))
    held = {row["id"]: row["metadata"] for row in vector_store.get(IDS)}
    assert list(held.values()) == metadatas
    for where in wheres:
        tree = parse_where(where)
        by_hand = [record_id for record_id in IDS if matches(tree, {**held[record_id], "id": record_id})]
        assert [row["id"] for row in vector_store.scan(where)] == by_hand, where
        assert sorted(vector_store.query(axis(0), 9, where).ids) == sorted(by_hand)
