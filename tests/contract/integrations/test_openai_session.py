"""A session of the OpenAI Agents SDK keeps its items in the journal, in order and apart from other sessions."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from atlas.integrations.openai_agents import AtlasSession
from tests.support.frameworks import Session

ITEMS: list[dict[str, Any]] = [
    {"role": "user", "content": "Which refunds need a manager?"},
    {
        "type": "reasoning",
        "id": "rs_68af4030baa48193b0b43b4c2a176a1a",
        "summary": [],
        "encrypted_content": "gAAAAABk" * 9,
    },
    {"type": "function_call", "call_id": "call_AAXbHgGk9WtPOeIqVw1Zl2Qc", "name": "recall", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_AAXbHgGk9WtPOeIqVw1Zl2Qc", "output": "those above 500"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Those above 500."}]},
]


def items(session: AtlasSession, limit: int | None = None) -> list[Any]:
    return asyncio.run(session.get_items(limit))


def test_a_session_has_the_interface_of_the_sdk(memory):
    assert isinstance(AtlasSession(memory, "monday"), Session)


def test_items_come_back_in_order_and_unchanged(memory):
    session = AtlasSession(memory, "monday")
    assert items(session) == []
    asyncio.run(session.add_items(ITEMS[:1]))
    asyncio.run(session.add_items(ITEMS[1:]))
    asyncio.run(session.add_items([]))
    assert items(AtlasSession(memory, "monday")) == ITEMS
    assert items(session, 2) == ITEMS[-2:]
    assert items(session, 99) == ITEMS
    assert items(session, 0) == []
    session.session_settings = SimpleNamespace(limit=3)
    assert items(session) == ITEMS[-3:]


def test_sessions_are_kept_apart(memory):
    monday, tuesday = AtlasSession(memory, "monday"), AtlasSession(memory, "tuesday", scope={"user": "ann"})
    asyncio.run(monday.add_items(ITEMS[:1]))
    asyncio.run(tuesday.add_items(ITEMS[:1] * 2))  # the same text is no repetition here
    assert items(tuesday) == ITEMS[:1] * 2
    asyncio.run(tuesday.clear_session())
    asyncio.run(tuesday.clear_session())
    assert (items(tuesday), items(monday)) == ([], ITEMS[:1])


def test_the_latest_item_is_popped(memory):
    session = AtlasSession(memory, "monday")
    asyncio.run(session.add_items(ITEMS))
    assert asyncio.run(session.pop_item()) == ITEMS[-1]
    assert items(session) == ITEMS[:-1]
    asyncio.run(session.clear_session())
    assert asyncio.run(session.pop_item()) is None


def test_concurrent_callers_pop_different_items(memory):
    sessions = [AtlasSession(memory, "monday") for _ in range(3)]
    asyncio.run(sessions[0].add_items(ITEMS))

    async def pop() -> list[Any]:
        return await asyncio.gather(*(session.pop_item() for session in sessions for _ in range(2)))

    popped = asyncio.run(pop())
    assert popped.count(None) == 1
    assert all(popped.count(item) == 1 for item in ITEMS)
    assert items(sessions[0]) == []


def test_what_was_said_is_found_by_meaning(memory):
    asyncio.run(AtlasSession(memory, "monday").add_items(ITEMS))
    hits = memory.journal.search("refunds manager", k=1, where={"scope.session": "monday"})
    assert [hit.content for hit in hits] == ["Which refunds need a manager?"]


def test_an_item_in_quarantine_is_neither_read_nor_popped_nor_cleared(memory):
    session = AtlasSession(memory, "monday")
    asyncio.run(session.add_items(ITEMS))
    [*_, last] = memory.journal.ids()
    memory.quarantine([last], reason="planted by a web page")
    assert items(session) == ITEMS[:-1]
    assert asyncio.run(session.pop_item()) == ITEMS[-2]
    asyncio.run(session.clear_session())
    assert memory.journal.ids() == [last]
