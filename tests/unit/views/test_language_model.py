"""Which language model the dashboard may ask, or why none."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.llm.client import KEY
from atlas.testing import HashEmbedder
from atlas.views.shared.language_model import HOW, NONE, WITHOUT, language_model
from atlas.views.strategies.writing import propose_writing
from tests.support.messages_server import call, message, serving
from tests.support.records import attempt


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv(KEY, raising=False)


def test_without_a_key_there_is_none_and_it_says_what_to_set():
    model = language_model(Settings())
    assert (model.client, model.badge) == (None, NONE)
    assert model.sentences == (WITHOUT, HOW)
    assert KEY in HOW


def test_a_server_of_this_machine_is_named_with_its_model():
    model = language_model(Settings(llm_base_url="http://127.0.0.1:9", llm_model="small"))
    assert model.badge == "small"
    assert model.sentences[0] == "small at http://127.0.0.1:9."
    assert model.client.model_name == "small"
    model.client.close()


def test_a_model_that_must_not_be_asked_is_none(monkeypatch):
    monkeypatch.setenv(KEY, "key")
    model = language_model(Settings(llm_forbidden=True))
    assert model.badge == NONE
    assert "unset ATLAS_LLM_FORBIDDEN" in model.sentences[1]


def test_an_address_that_is_none_is_said():
    model = language_model(Settings(llm_base_url="nonsense"))
    assert model.badge == NONE
    assert "for ATLAS_LLM_BASE_URL, got" in model.sentences[1]


def test_what_each_writing_of_strategies_took_is_told_and_counts_for_it_alone(tmp_path):
    reply = message(call({"reusable": False, "reason": "luck"}))
    with serving(*[reply] * 6) as server:
        settings = Settings(llm_base_url=server.url, llm_thinking_tokens=10, llm_budget_tokens=8_000)
        llm = language_model(settings).client
        with atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, settings=settings) as memory:
            memory.experience.store_many([attempt(f"cancel flight number {n}") for n in range(2)])
            proposals = [propose_writing(memory, by_model=True) for _ in range(3)]
        llm.close()
    assert [proposal.plan.problems for proposal in proposals] == [()] * 3
    told = "They are written with the language model, which took 2 calls, 240 tokens, $0.0000."
    assert [proposal.view.notes[0] for proposal in proposals] == [told] * 3
