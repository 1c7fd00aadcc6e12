"""The retrieval model gives what `dspy.Retrieve` of DSPy 3.4 reads: objects with a `long_text`."""

from __future__ import annotations

from atlas.integrations.dspy import AtlasRM


def test_passages_come_from_the_scope_and_the_memories_that_are_asked_for(memory):
    for rule in ("refunds above 500 need a manager", "refunds of a gift need a receipt"):
        memory.journal.add("observation", rule, generation=1, metadata={"scope.project": "shop"})
    shop = AtlasRM(memory, scope={"project": "shop"})
    best, other = (passage.long_text for passage in shop("refunds above 500 need a manager"))
    assert "refunds above 500 need a manager" in best
    assert "refunds of a gift need a receipt" in other
    assert [passage.long_text for passage in shop("refunds above 500 need a manager", k=1)] == [best]
    assert AtlasRM(memory, scope={"project": "bank"})("refunds above 500 need a manager") == []
    assert AtlasRM(memory, memories=["strategies"])("refunds above 500 need a manager") == []
