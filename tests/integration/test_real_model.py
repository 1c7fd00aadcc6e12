"""A real small model on every path: each ends in time, stores nothing of prompt or fault, and says why it refused.

Nothing is asserted about what the model writes. Its server, llama.cpp's, speaks both protocols.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass, replace
from threading import Timer

import pytest

import atlas
from atlas.llm.check import check_model
from atlas.llm.substance import ComparisonTexts
from atlas.testing import HashEmbedder
from tests.support.memories import attempt
from tests.support.model_paths import PATHS, TASK, contents, prepared
from tests.support.real_model import CONTEXT_TOKENS, MISSING, BriefModel, serving_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs the packages of a real model: {', '.join(MISSING)}"),
]

FAULT = "the reply was cut off; a shorter answer is needed"
ECHOES = ComparisonTexts(
    instructions="\n".join([*(path.prompt.text for path in PATHS.values()), FAULT]), sources=[TASK]
).echoes


@pytest.fixture(scope="module")
def server():
    with serving_model() as model:
        yield model


@contextmanager
def client(url, api, **options):
    settings = atlas.Settings(
        llm_base_url=url,
        llm_api=api,
        llm_model="smollm2",
        llm_context_tokens=CONTEXT_TOKENS,
        llm_thinking_tokens=0,
        llm_retries=0,
        llm_timeout_seconds=300.0,
    )
    with closing(BriefModel(settings, api_key="", **options)) as made:
        yield made


def texts_of(value):
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts_of(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from (text for part in value.values() for text in texts_of(part))
    elif isinstance(value, (list, tuple)):
        yield from (text for part in value for text in texts_of(part))


def assert_own_words(value):
    """Assert that no text of a value repeats a prompt."""
    for text in texts_of(value):
        assert ComparisonTexts(instructions=text, sources=()).echoes.isdisjoint(ECHOES), text


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("name", PATHS)
def test_a_path_ends_with_a_result_or_a_reason_and_leaves_the_store_as_it_was(server, name, api, tmp_path):
    path = PATHS[name]
    with client(server.url, api) as llm, prepared(path, tmp_path, llm) as memory:
        before = contents(memory)
        outcome = path.ask(memory, llm)
        assert outcome.result is not None or outcome.reason
        if name != "demonstration":  # which is shown as it is, and never stored
            assert_own_words(outcome.result)
        if path.stores:
            memory.undo(memory.history(1)[0].id)
        assert contents(memory) == before


@pytest.mark.parametrize(
    ("api", "path", "title"),
    [
        ("openai", "", "OpenAI's chat completions"),
        ("anthropic", "", "Anthropic's Messages API"),
        ("", "/v1", "OpenAI's chat completions"),
        ("", "", "Anthropic's Messages API"),
    ],
)
def test_the_check_names_what_answers(server, api, path, title):
    with client(server.url + path, api) as llm:
        checked = check_model(llm)
    assert (checked.api, checked.problem) == (title, "")
    assert checked.spent.output_tokens


def test_storing_ends_in_time_and_the_rest_comes_later(server, tmp_path):
    settings = replace(atlas.Settings(), llm_store_seconds=5.0)
    with (
        client(server.url, "openai") as llm,
        atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm, settings=settings) as memory,
    ):
        stored = memory.store(attempt(TASK))
        assert memory.experience.get(stored["experience"]).task.description == TASK
        assert set(stored.get("errors", {})) <= {"strategies"}
        memory._write_queue.wait(600)
        assert_own_words(memory.strategies.get_many(memory.strategies.ids()))


def test_a_server_that_is_killed_while_it_answers_loses_nothing_and_is_reported(tmp_path):
    with (
        serving_model() as model,
        client(model.url, "openai") as llm,
        atlas.open_memory(tmp_path, embedder=HashEmbedder(), llm=llm) as memory,
    ):
        Timer(1.0, model.kill).start()
        stored = memory.store(attempt(TASK))
        assert memory.experience.get(stored["experience"]).task.description == TASK
        assert "nothing answers at" in stored["errors"]["strategies"]
