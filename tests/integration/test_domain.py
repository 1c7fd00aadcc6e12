"""The domain of a task at every door that retrieves: alone it prefers, as a filter it restricts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from mcp import Client

import atlas
from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.memory.base.ranking import explain
from atlas.server.mcp.server import make_server
from atlas.server.served import ServedMemory
from atlas.testing import HashEmbedder
from tests.support.mcp_clients import said
from tests.support.serving import serving

QUERY = "cancel an order that was paid by card"
DOMAINS = ("retail", "airline", "telecom")
ORDERS = 12
"""Attempts of each domain, more than a block chooses from."""

Door = Callable[[str, bool], list[str]]
"""Returns the domains of the found attempts, best first, for a domain and whether words alone are used."""


def attempt(domain: str, number: int) -> Trajectory:
    task = Task("", domain, f"{QUERY}, number {number} of the {domain} desk")
    step = Step(action=f"look up the order {number} in the {domain} system")
    return Trajectory(task=task, steps=(step,), outcome=Outcome(success=True))


@pytest.fixture(scope="module")
def memory(tmp_path_factory) -> Iterator[atlas.MemorySystem]:
    """A memory with attempts that differ in little but their domain."""
    with atlas.open_memory(tmp_path_factory.mktemp("domains") / "store", embedder=HashEmbedder()) as opened:
        opened.experience.store_many([attempt(domain, n) for n in range(ORDERS) for domain in DOMAINS])
        opened.journal.add("observation", QUERY, generation=0)
        yield opened


@pytest.fixture(params=["retrieve", "build_context", "POST /search", "POST /context", "recall"])
def door(request, memory) -> Iterator[Door]:
    def of_text(text: str) -> list[str]:
        return re.findall(r"of the (\w+) desk", text)

    def of_blocks(domain: str, by_words: bool) -> list[str]:
        return of_text(memory.build_context(Task("", domain, QUERY), 4_000, by_words=by_words).text)

    def of_retrieval(domain: str, by_words: bool) -> list[str]:
        retrieve = memory.experience.retrieve_words if by_words else memory.experience.retrieve
        return [hit.item.task.domain for hit in retrieve(QUERY, 8, domain=domain, threshold=0.0).hits]

    def of_search(domain: str, by_words: bool) -> list[str]:
        body = {"query": QUERY, "domain": domain, "by_words": by_words, "threshold": 0.0}
        with serving(memory) as address:
            found = httpx.post(f"{address}/api/v1/experience/search", json=body).json()
        return [hit["item"]["task"]["domain"] for hit in found["hits"]]

    def of_context(domain: str, by_words: bool) -> list[str]:
        body = {"task": {"description": QUERY, "domain": domain}, "budget_tokens": 4_000}
        with serving(memory, is_model_ready=not by_words) as address:
            return of_text(httpx.post(f"{address}/api/v1/context", json=body).json()["text"])

    def of_recall(domain: str, by_words: bool) -> list[str]:
        async def ask() -> str:
            async with Client(make_server(lambda: ServedMemory(memory, not by_words))) as client:
                return await said(client, "recall", task=QUERY, domain=domain, budget_tokens=4_000)

        return of_text(asyncio.run(ask()))

    doors = {
        "retrieve": of_retrieval,
        "build_context": of_blocks,
        "POST /search": of_search,
        "POST /context": of_context,
        "recall": of_recall,
    }
    return doors[request.param]


@pytest.mark.parametrize("by_words", [False, True])
@pytest.mark.parametrize("domain", DOMAINS)
def test_attempts_of_the_domain_come_first_at_every_door(door, domain, by_words):
    found = door(domain, by_words)
    assert len(found) >= 4
    assert set(found) == {domain}, "there are more of the domain than a search returns, all as relevant as the others"


def test_a_domain_that_no_attempt_has_leaves_none_out(door):
    assert door("banking", False) == door("", False)


def test_another_domain_is_preferred_where_it_is_clearly_more_relevant(memory):
    query = "number 7 of the airline desk"
    best = memory.experience.retrieve(query, 3, domain="retail").hits[0]
    assert best.item.task.domain == "airline"


def test_a_preferred_attempt_with_too_few_of_the_words_takes_the_place_of_no_other(tmp_path):
    words = ["oven", "flour", "yeast", "butter", "sugar", "salt", "almond", "cherry", "lemon", "ginger", "vanilla"]
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory:
        for domain, own in (("airline", words[:6]), ("retail", words[6:])):
            memory.store(Trajectory(Task("", domain, " ".join(own)), (), Outcome(success=True)))
        query = " ".join(words)
        every = memory.experience.retrieve(query, 2, threshold=0.0).hits
        least = max(hit.words for hit in every)
        for threshold, domain in ((0.0, "retail"), (least, "airline")):
            [hit] = memory.experience.retrieve_words(query, 1, domain="retail", threshold=threshold).hits
            assert hit.item.task.domain == domain


def test_the_preference_is_part_of_the_rank_value_and_of_its_explanation(memory):
    [hit] = memory.experience.retrieve(QUERY, 1, domain="retail").hits
    assert hit.signals["domain"] > 0
    assert "Its domain is the requested one" in explain(hit)
    [without] = memory.experience.retrieve(QUERY, 1).hits
    assert "domain" not in without.signals


def test_a_filter_restricts_every_memory_to_the_domain(memory):
    task, where = Task("", "retail", QUERY), {"domain": "airline"}
    block = memory.build_context(task, 4_000, where=where)
    assert set(re.findall(r"of the (\w+) desk", block.text)) == {"airline"}
    assert block.shown["journal"] == ()
    with serving(memory) as address:
        body = {"task": {"description": QUERY, "domain": "retail"}, "where": where, "budget_tokens": 4_000}
        text = httpx.post(f"{address}/api/v1/context", json=body).json()["text"]
    assert set(re.findall(r"of the (\w+) desk", text)) == {"airline"}

    async def search() -> str:
        async with Client(make_server(lambda: ServedMemory(memory))) as client:
            return await said(client, "search", query=QUERY, where=where, k=20)

    assert set(re.findall(r"of the (\w+) desk", asyncio.run(search()))) == {"airline"}
