"""The LangGraph store answers as LangGraph's own store in memory does, and its items are entries of the journal.

LangGraph is installed for development, so its real interface is tested here.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import atlas
from atlas.integrations.langchain import AtlasRetriever
from atlas.integrations.langgraph import AtlasStore
from atlas.testing import HashEmbedder

ANN, BOB = ("users", "ann"), ("users", "bob")
PUTS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (ANN, "tea", {"text": "likes green tea", "rank": 1, "tags": ["drink"], "about": {"kind": "taste"}}),
    (ANN, "work", {"text": "writes Rust at night", "rank": 3}),
    (BOB, "tea", {"text": "likes black tea", "rank": 2, "about": {"kind": "taste"}}),
    (("users", "ann", "notes"), "1", {"text": "call the dentist"}),
    (("teams",), "one", {"text": "meets on Monday", "rank": None}),
]


@pytest.fixture
def ours(memory) -> AtlasStore:
    return filled(AtlasStore(memory, fields=["text"]))


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Iterator[tuple[BaseStore, BaseStore]]:
    """A store of ours and one of LangGraph, with the same items, for tests that only read."""
    with atlas.open_memory(tmp_path_factory.mktemp("both") / "store", embedder=HashEmbedder()) as memory:
        yield filled(AtlasStore(memory)), filled(InMemoryStore())


def filled(store: Any, puts: Sequence[tuple[tuple[str, ...], str, dict[str, Any]]] = PUTS) -> Any:
    for namespace, key, value in puts:
        store.put(namespace, key, value)
    return store


def plain(items: Any) -> list[Any]:
    return [(item.namespace, item.key, item.value) for item in items if item is not None]


@pytest.mark.parametrize("namespace", [ANN, BOB, ("users",), ("nobody",)])
@pytest.mark.parametrize("key", ["tea", "work", "1", "none"])
def test_an_item_is_found_by_its_namespace_and_key(both, namespace, key):
    ours, theirs = both
    assert plain([ours.get(namespace, key)]) == plain([theirs.get(namespace, key)])


@pytest.mark.parametrize("prefix", [(), ("users",), ANN, ("user",), ("users", "an"), ("nobody",)])
@pytest.mark.parametrize(
    "wanted",
    [
        None,
        {"rank": 2},
        {"rank": 2, "text": "likes green tea"},
        {"rank": {"$eq": 3}},
        {"rank": {"$ne": 3}},
        {"about": {"kind": "taste"}},
        {"tags": ["drink"]},
        {"absent": 1},
    ],
)
def test_a_search_without_a_query_filters(both, prefix, wanted):
    ours, theirs = both
    assert plain(ours.search(prefix, filter=wanted)) == plain(theirs.search(prefix, filter=wanted))


@pytest.mark.parametrize("comparison", [{"$gt": 1}, {"$gte": 2}, {"$lt": 2}, {"$lte": 2}, {"$gt": 1, "$lt": 3}])
def test_numbers_are_compared(both, comparison):
    ours, theirs = both
    for prefix in (BOB, ANN[:1]):
        without = [item for item in plain(theirs.search(prefix)) if "rank" in item[2]]  # on others it raises
        expected = filled(InMemoryStore(), without).search(prefix, filter={"rank": comparison})
        assert plain(ours.search(prefix, filter={"rank": comparison})) == plain(expected)


def test_a_page_of_a_search_has_a_limit_and_an_offset(both):
    ours, theirs = both
    assert plain(ours.search((), limit=2, offset=1)) == plain(theirs.search((), limit=2, offset=1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("notes",)},
        {"prefix": ("*", "ann")},
        {"suffix": ("users", "*")},
        {"max_depth": 1},
        {"prefix": ("users",), "max_depth": 2, "limit": 1, "offset": 1},
    ],
)
def test_namespaces_are_listed(both, options):
    ours, theirs = both[0], filled(InMemoryStore())  # a read of a namespace adds it there
    assert ours.list_namespaces(**options) == theirs.list_namespaces(**options)


def test_a_second_put_replaces_the_value_in_the_same_entry(ours, memory):
    [before] = memory.journal.ids({"scope.level_2": "bob"})
    created = ours.get(BOB, "tea").created_at
    ours.put(BOB, "tea", {"text": "likes no tea"})
    item = ours.get(BOB, "tea")
    assert item.value == {"text": "likes no tea"}
    assert item.created_at == created < item.updated_at
    assert memory.journal.ids({"scope.level_2": "bob"}) == [before]
    memory.undo(memory.history(1)[0].id)
    assert ours.get(BOB, "tea").value == PUTS[2][2]


def test_a_deleted_item_is_gone_and_can_be_put_again(ours, memory):
    ours.delete(BOB, "tea")
    ours.delete(BOB, "tea")
    assert ours.get(BOB, "tea") is None
    assert BOB not in ours.list_namespaces()
    ours.put(BOB, "tea", {"text": "likes mate"})
    assert ours.get(BOB, "tea").value == {"text": "likes mate"}


def test_a_query_ranks_within_a_namespace_and_a_filter(ours):
    best = ours.search(("users",), query="green tea", limit=2)
    assert plain(best) == [PUTS[0], PUTS[2]]
    assert best[0].score > best[1].score > 0
    assert plain(ours.search(BOB, query="green tea")) == [PUTS[2]]
    assert plain(ours.search(("users",), query="green tea", filter={"rank": {"$gt": 1}}))[0] == PUTS[2]
    assert ours.search(("users",), query="green tea", filter={"rank": 9}) == []
    assert plain(ours.search((), query="green tea", limit=1, offset=1)) == [PUTS[2]]


def test_an_item_that_is_not_indexed_is_read_but_not_ranked(ours):
    ours.put(ANN, "secret", {"text": "green tea at noon"}, index=False)
    ours.put(ANN, "shop", {"text": "a shop", "name": "white coffee"}, index=["name"])
    assert ours.get(ANN, "secret").value == {"text": "green tea at noon"}
    assert "secret" not in [item.key for item in ours.search(ANN, query="green tea at noon")]
    assert ours.search(ANN, query="white coffee")[0].key == "shop"


@pytest.mark.parametrize("key", ["x" * 201, "x" * 5_000, "", "  ", "https://shop.example/?q=" + "tea+" * 99])
def test_a_key_is_any_string(memory, key):
    stores = filled(AtlasStore(memory)), filled(InMemoryStore())
    for store in stores:
        store.put(BOB, key, {"text": "likes mate"})
        store.put(BOB, key, {"rank": 7})
        store.put(BOB, key + "x", {"rank": 8})
    ours, theirs = stores
    assert plain([ours.get(BOB, key)]) == plain([theirs.get(BOB, key)]) == [(BOB, key, {"rank": 7})]
    assert plain(ours.search(BOB)) == plain(theirs.search(BOB))
    ours.delete(BOB, key)
    assert ours.get(BOB, key) is None
    assert ours.get(BOB, key + "x").value == {"rank": 8}


def test_a_batch_reads_before_it_writes_and_the_last_write_wins(ours):
    ops = [
        PutOp(ANN, "new", {"text": "first"}),
        GetOp(ANN, "new"),
        PutOp(ANN, "new", {"text": "second"}),
        SearchOp(BOB),
        PutOp(ANN, "tea", None),
    ]
    put, got, _, found, _ = asyncio.run(ours.abatch(ops))
    assert (put, got, plain(found)) == (None, None, [PUTS[2]])
    assert ours.get(ANN, "new").value == {"text": "second"}
    assert ours.get(ANN, "tea") is None


def test_named_levels_of_a_namespace_are_the_scope_of_the_items(memory):
    store = AtlasStore(memory, levels=["kind", "user"])
    store.put(("facts", "ann", "2026"), "1", {"text": "likes green tea"})
    [entry] = memory.journal.search("green tea", where={"scope.user": "ann"})
    assert {name: entry.metadata[f"scope.{name}"] for name in ("kind", "user", "level_3")} == {
        "kind": "facts",
        "user": "ann",
        "level_3": "2026",
    }
    assert "likes green tea" in memory.build_context(atlas.Task("", "", "green tea"), where={"scope.user": "ann"}).text
    assert memory.build_context(atlas.Task("", "", "green tea"), where={"scope.user": "bob"}).text == ""


@pytest.mark.parametrize("levels", [["item"], ["user", "user"]])
def test_levels_that_cannot_be_told_apart_are_refused(memory, levels):
    with pytest.raises(atlas.InvalidInput, match="expected distinct names other than 'item' for levels"):
        AtlasStore(memory, levels=levels)


def test_what_the_store_cannot_do_is_refused(ours):
    with pytest.raises(NotImplementedError, match="TTL"):
        ours.put(ANN, "tea", {"text": "likes tea"}, ttl=5)
    with pytest.raises(atlas.InvalidInput, match=r"one of \$eq, .* for a comparison, got '\$regex'"):
        ours.search(ANN, filter={"text": {"$regex": "tea"}})
    with pytest.raises(atlas.InvalidInput, match="level_2"):
        ours.put(("users", "x" * 300), "tea", {"text": "likes tea"})


def test_the_retriever_finds_records_of_all_memories(ours, memory):
    task = atlas.Task("brew", "kitchen", "brew green tea for guests")
    memory.store(atlas.Trajectory(task, (atlas.Step(action="boil"),), atlas.Outcome(True)))
    retriever = AtlasRetriever(memory=memory, k=5, threshold=0.0)
    documents = retriever.invoke("green tea")
    assert {document.metadata["memory"] for document in documents} >= {"experience", "journal"}
    assert all(
        document.id in memory.journal.ids() + memory.experience.ids() + memory.strategies.ids()
        for document in documents
    )
    assert "brew green tea for guests" in "".join(document.page_content for document in documents)
    relevances = [document.metadata["relevance"] for document in documents]
    assert relevances == sorted(relevances, reverse=True)
    only = AtlasRetriever(memory=memory, memories=("experience",), where={"domain": "kitchen"})
    [document] = asyncio.run(only.ainvoke("brew green tea"))
    assert memory.experience.get(document.id).task == task


def test_a_key_that_looks_like_a_digest_is_not_the_item_of_a_long_key(memory):
    store, long = AtlasStore(memory), "k" * 300
    store.put(ANN, long, {"text": "long"})
    digest = f"sha256:{hashlib.sha256(long.encode()).hexdigest()}"
    assert store.get(ANN, digest) is None
    store.put(ANN, digest, {"text": "short"})
    assert [store.get(ANN, key).value["text"] for key in (long, digest)] == ["long", "short"]
    assert {item.key for item in store.search(ANN)} == {long, digest}


def test_an_item_in_quarantine_does_not_exist_until_it_is_released(ours, memory):
    [entry] = memory.journal.ids({"scope.item": "work"})
    memory.quarantine([entry], reason="planted by a web page")
    assert ours.get(ANN, "work") is None
    assert [item.key for item in ours.search(ANN)] == ["tea", "1"]
    memory.unquarantine([entry])
    assert ours.get(ANN, "work").value["rank"] == 3
