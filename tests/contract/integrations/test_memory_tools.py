"""Tools of a memory have closed schemas, and write and read within their scope."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import atlas
from atlas.integrations.tools import NO_HITS_ANSWER, AttemptStep, MemoryTools
from tests.support.frameworks import build_schema

TASK = "refund the order of a customer"
STEPS = [AttemptStep("above 500", "ask the manager", "approved")]


@pytest.fixture
def tools(memory) -> MemoryTools:
    return MemoryTools(memory, agent_id="clerk", scope={"project": "shop"})


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_a_strict_schema_can_have_every_tool(tools):
    functions = tools.functions()
    assert [function.__name__ for function in functions] == ["recall", "search", "store_attempt", "note"]
    for schema in map(build_schema, functions):
        for each in objects(schema):
            assert each.get("additionalProperties", False) is False
            assert set(each["required"]) == set(each["properties"])


def test_every_argument_of_a_tool_is_described(tools):
    for function in tools.functions():
        assert all(f"{name}: " in function.__doc__ for name in build_schema(function)["properties"])


def test_an_attempt_is_recalled_and_found_within_its_scope(memory, tools):
    assert asyncio.run(tools.recall(TASK)) == NO_HITS_ANSWER
    stored = asyncio.run(tools.store_attempt(TASK, STEPS, True, "refunded", ""))
    [experience] = memory.experience.get_many(memory.experience.ids())
    assert stored == f"Stored as experience {experience.id[:8]}."
    assert (experience.agent_id, experience.outcome.label, experience.solution_output) == (
        "clerk",
        "succeeded",
        "refunded",
    )
    assert experience.steps == (atlas.Step("above 500", "ask the manager", "approved"),)
    assert "Did: refunded" in asyncio.run(tools.recall(TASK))
    assert "Did: refunded" in asyncio.run(tools.search(TASK))
    assert asyncio.run(MemoryTools(memory, scope={"project": "bank"}).recall(TASK)) == NO_HITS_ANSWER
    assert asyncio.run(MemoryTools(memory, scope={"project": "bank"}).search(TASK)) == NO_HITS_ANSWER


def test_a_failure_keeps_its_error(memory, tools):
    asyncio.run(tools.store_attempt(TASK, [], False, "", "the manager is away"))
    [experience] = memory.experience.get_many(memory.experience.ids())
    assert (experience.outcome.success, experience.outcome.error_info) == (False, "the manager is away")


def test_a_note_is_kept_once(memory, tools):
    text = "Refunds above 500 need a manager, by the rules of the shop"
    assert asyncio.run(tools.note("observation", text)).startswith("Noted as ")
    assert asyncio.run(tools.note("observation", text)).startswith("Not noted")
    [entry] = memory.journal.recent()
    assert (entry.content, entry.metadata) == (text, {"scope.project": "shop"})
