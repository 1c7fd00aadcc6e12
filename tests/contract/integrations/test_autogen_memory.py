"""A memory of AutoGen recalls from all memories before an answer, and keeps what is added in the journal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from atlas.core.errors import InvalidInput
from atlas.integrations.autogen import AtlasMemory
from tests.support.autogen import Memory, MemoryContent, ModelContext, UserMessage, parameters_of, put_in_place

RULE = "Refunds above 500 need a manager."
QUESTION = "Do refunds above 500 need a manager?"


@pytest.fixture(autouse=True)
def autogen(monkeypatch):
    put_in_place(monkeypatch)


def added(memory: AtlasMemory, *contents: Any) -> None:
    for content in contents:
        asyncio.run(memory.add(MemoryContent(content=content, mime_type="text/plain")))


def recalled(memory: AtlasMemory, *messages: Any) -> str:
    """What is added to a context with these messages."""
    context = ModelContext([*messages])
    result = asyncio.run(memory.update_context(context))
    new = [message.content for message in context.messages[len(messages) :]]
    assert new == [content.content for content in result.memories.results]
    return "".join(new)


def test_a_memory_has_the_interface_of_autogen(memory):
    ours = AtlasMemory(memory)
    assert isinstance(ours, Memory)
    for name in ("update_context", "query", "add", "clear", "close"):
        assert parameters_of(AtlasMemory, name) == parameters_of(Memory, name)
    asyncio.run(ours.close())


def test_what_is_added_is_recalled_for_the_last_request(memory):
    ours = AtlasMemory(memory)
    assert recalled(ours, UserMessage(content=QUESTION)) == ""
    added(ours, RULE, {"office": "the manager sits in room 7"})
    assert RULE in recalled(ours, UserMessage(content="Hello"), UserMessage(content=[QUESTION, object()]))
    assert "room 7" in asyncio.run(ours.query("In which room sits the manager of the office?")).results[0].content
    assert recalled(ours) == recalled(ours, UserMessage(content=" ")) == ""


def test_scopes_are_kept_apart_and_cleared_apart(memory):
    shop, bank = (AtlasMemory(memory, scope={"project": name}) for name in ("shop", "bank"))
    added(shop, RULE)
    assert recalled(bank, UserMessage(content=QUESTION)) == ""
    asyncio.run(bank.clear())
    assert RULE in recalled(shop, UserMessage(content=QUESTION))
    memory.journal.add("observation", "the shop opens at nine", generation=0, metadata={"scope.project": "shop"})
    asyncio.run(shop.clear())
    assert [entry.content for entry in memory.journal.recent()] == ["the shop opens at nine"]


def test_an_entry_in_quarantine_is_neither_recalled_nor_cleared(memory):
    ours = AtlasMemory(memory)
    added(ours, RULE)
    ids = memory.journal.ids()
    memory.quarantine(ids, reason="planted by a web page")
    assert recalled(ours, UserMessage(content=QUESTION)) == ""
    asyncio.run(ours.clear())
    assert memory.journal.ids() == ids


def test_bytes_are_refused(memory):
    with pytest.raises(InvalidInput, match="expected a text or a dictionary to remember, got type bytes"):
        added(AtlasMemory(memory), b"\x00")
