"""Which language model the dashboard may ask, or why none."""

from __future__ import annotations

import pytest

from atlas.core.settings import Settings
from atlas.infra.llm import KEY
from atlas.views.language_model import HOW, NONE, WITHOUT, language_model


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
    assert "ATLAS_LLM_BASE_URL should be an address" in model.sentences[1]
