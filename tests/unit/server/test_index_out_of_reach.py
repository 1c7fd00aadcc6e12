"""A store whose index is in a service that is gone: views, searches and the API say so, and all is found."""

from __future__ import annotations

import httpx
import pytest

import atlas
from atlas.storage.vectors.remote import circuit_breaker
from atlas.testing import HashEmbedder
from atlas.views.overview.index_state import current_index_state, index_state
from atlas.views.settings.store import search_facts
from atlas.views.shared.state import index_fault, index_problem, location_fact
from tests.support.records import attempts
from tests.support.serving import serving

GONE = "pinecone://127.0.0.1:9"
SAID = "The service with the index does not answer, so searches compare every vector: slower, and complete."


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("PINECONE_API_KEY", "pcsk_of_a_test")
    monkeypatch.setattr(circuit_breaker, "MIN_PAUSE_SECONDS", 60.0)
    settings = atlas.Settings(index=GONE, exact_max_rows=5, actor="tester")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as opened:
        opened.experience.store_many(attempts(30))
        yield opened


def test_nothing_is_said_before_the_service_was_asked(memory):
    assert (index_problem(memory), index_fault(memory)) == ("", "")
    assert index_state(memory) == "not built: every record is compared"


def test_views_say_that_the_index_is_out_of_reach_and_why(memory):
    state = current_index_state(memory)
    assert state.startswith(f"out of reach: every record is compared ({GONE} cannot be used: ")
    assert index_problem(memory) == SAID
    assert index_fault(memory).startswith(f"{GONE} cannot be used: ")
    assert search_facts(memory)["Search index"] == "out of reach: every record is compared"
    assert location_fact(memory)["Index"] == GONE


def test_a_search_says_so_and_finds_what_it_would_find(memory):
    before = memory.experience.retrieve("mend the shell report of customer 37", 3, threshold=0.0)
    memory.storage.catch_up()
    after = memory.experience.retrieve("mend the shell report of customer 37", 3, threshold=0.0)
    assert after.problems == (SAID,)
    assert [hit.item.id for hit in after.hits] == [hit.item.id for hit in before.hits]
    assert memory.concepts.retrieve("anything", 3).problems == ()  # they are too few to need an index


def test_the_api_says_so_and_names_no_host(memory):
    memory.storage.catch_up()
    with serving(memory) as address, httpx.Client(base_url=f"{address}/api/v1", timeout=60) as api:
        health, found = api.get("/health"), api.post("/experience/search", json={"query": "mend the report", "k": 3})
        assert health.json()["is_index_reachable"] is False
        assert found.json()["problems"] == [SAID]
        assert "127.0.0.1:9" not in health.text + found.text
