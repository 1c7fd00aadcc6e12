"""A holdout over MCP: `recall` shows nothing, and `store_attempt` marks the attempt."""

from __future__ import annotations

import atlas
from atlas.core.settings import Settings
from atlas.server.mcp.reading import HOLDOUT_ANSWER, recall
from atlas.server.mcp.writing import store_attempt
from atlas.testing import HashEmbedder


def test_recall_of_a_held_out_attempt_shows_nothing_and_the_attempt_is_marked(tmp_path):
    settings = Settings(store=tmp_path, holdout=0.5)
    sides = []
    with atlas.open_memory(settings=settings, embedder=HashEmbedder(16)) as memory:
        for _ in range(16):
            sides.append(recall(memory, "rotate the logs") == HOLDOUT_ANSWER)
            store_attempt(memory, "rotate the logs", ["rotate"], success=True, task_id="logs")
        marks = memory.experience.values("holdout")
        found = memory.memory_effect().randomised
    assert marks == {"held out": sum(sides), "shown": 16 - sum(sides)}
    assert (found.held_out.n, found.shown.n) == (sum(sides), 16 - sum(sides))
