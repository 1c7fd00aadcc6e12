"""Wrapped clients recall before they ask, and store the answer after, with the calls of tools as steps.

The package anthropic is installed for development, so its real client is tested here, with a transport of ours.
"""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx2
import pytest

import atlas
from atlas.integrations.clients import with_memory

TASK = "refund the order of a customer"
TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "ask", "input": {"whom": "manager"}}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "approved"}


class Service:
    """The service of Anthropic: gives blocks as answers, and keeps the requests."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers, self.requests = list(answers), list[dict[str, Any]]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn"}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(200, json={**message, "content": [self.answers.pop(0)], "usage": usage})

    def client(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(self)))

    def async_client(self) -> anthropic.AsyncAnthropic:
        http_client = httpx2.AsyncClient(transport=httpx2.MockTransport(self))
        return anthropic.AsyncAnthropic(api_key="none", http_client=http_client)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def request(*further: dict[str, Any]) -> dict[str, Any]:
    return {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": TASK}, *further]}


def stored(memory: atlas.MemorySystem) -> list[atlas.Experience]:
    return memory.experience.get_many(memory.experience.ids())


def test_an_answer_is_stored_and_recalled_by_the_next_call(memory):
    service = Service(text("ask the manager first"), text("as before"))
    client = with_memory(service.client(), memory, agent_id="clerk", scope={"project": "shop"})
    assert client.messages.create(**request()).content[0].text == "ask the manager first"
    [experience] = stored(memory)
    assert (experience.task.description, experience.solution_output) == (TASK, "ask the manager first")
    assert (experience.outcome.success, experience.agent_id) == (None, "clerk")
    assert experience.metadata["scope.project"] == "shop"
    client.messages.create(**request(), system=[text("You are a clerk.")])
    assert "system" not in service.requests[0]
    given, recalled = service.requests[1]["system"]
    assert given == text("You are a clerk.")
    assert "ask the manager first" in recalled["text"]


def test_calls_of_tools_become_steps_of_one_attempt(memory):
    client = with_memory(Service(TOOL_USE, text("done")).client(), memory, judge=lambda answer: answer == "done")
    first = client.messages.create(**request())
    assert stored(memory) == []
    further = ({"role": "assistant", "content": first.content}, {"role": "user", "content": [TOOL_RESULT]})
    client.messages.create(**request(*further))
    [experience] = stored(memory)
    assert experience.steps == (atlas.Step("", 'ask {"whom":"manager"}', "approved"),)
    assert (experience.task.description, experience.outcome.success) == (TASK, True)


def test_an_async_client_is_wrapped_too(memory):
    service = Service(text("ask the manager first"), text("as before"))

    async def ask_twice() -> None:
        client = with_memory(service.async_client(), memory)
        await client.messages.create(**request())
        await client.messages.create(**request(), system="You are a clerk.")

    asyncio.run(ask_twice())
    assert len(stored(memory)) == 2
    assert service.requests[1]["system"].startswith("You are a clerk.\n\n<atlas-memory>")


class OpenAI:
    """The methods of an `openai` client that are wrapped. They answer with what they got."""

    def __init__(self, **parts: Any) -> None:
        self.got = list[dict[str, Any]]()
        message = SimpleNamespace(**{"role": "assistant", "content": "done", "tool_calls": None, **parts})
        chat = SimpleNamespace(choices=[SimpleNamespace(message=message)])
        answer = SimpleNamespace(output=[{"type": "message", "content": [{"type": "output_text", "text": "done"}]}])
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=lambda **given: self.got.append(given) or chat))
        self.responses = SimpleNamespace(create=lambda **given: self.got.append(given) or answer)


def test_both_methods_of_openai_are_wrapped(memory):
    client = with_memory(OpenAI(), memory)
    call = {"type": "function", "id": "1", "function": {"name": "ask", "arguments": '{"whom": "manager"}'}}
    tools = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "approved"},
    ]
    client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": TASK}, *tools])
    client.responses.create(model="gpt", input=TASK, instructions="You are a clerk.")
    client.responses.create(model="gpt", input=TASK, stream=True)
    by_chat, by_response = stored(memory)
    assert by_chat.steps == (atlas.Step("", 'ask {"whom": "manager"}', "approved"),)
    assert (by_response.solution_output, by_response.metadata["model"]) == ("done", "gpt")
    assert client.got[1]["instructions"].startswith("You are a clerk.\n\n<atlas-memory>")
    client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": TASK}])
    assert client.got[3]["messages"][0]["content"].startswith("<atlas-memory>")
    assert client.got[3]["messages"][1:] == [{"role": "user", "content": TASK}]


class Unreachable:
    """A memory whose server is away."""

    def build_context(self, *_: Any, **__: Any) -> Any:
        raise atlas.StoreUnavailable("the server is away")

    def store(self, _: atlas.Trajectory) -> Any:
        raise atlas.StoreUnavailable("the server is away")


def test_a_call_goes_on_without_its_memory(caplog):
    client = with_memory(Service(text("done")).client(), Unreachable())
    assert client.messages.create(**request()).content[0].text == "done"
    assert caplog.messages == [
        "nothing was recalled for a call: the server is away",
        "an answer was not stored: the server is away",
    ]


def test_another_object_is_no_client(memory):
    with pytest.raises(atlas.InvalidInput, match="expected a client of anthropic or openai, got object"):
        with_memory(object(), memory)
