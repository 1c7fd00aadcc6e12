"""An agent that asks its memory, acts, and stores what it did: without a language model, and with one."""

from __future__ import annotations

import pytest

from atlas.memory.open import open_memory
from atlas.testing import FixedClock, HashEmbedder, ScriptedLLM
from tests.support.agent import KIND, run

ABSTRACTED = {
    "reusable": True,
    "reason": "it holds for any booking",
    "title": "Look first",
    "situation": "a customer wants the booking {booking} changed, such as to refund a cancelled flight",
    "suggestion": "look the booking up before anything else",
    "parameters": [{"name": "booking", "type": "id", "description": "the booking"}],
    "rationale": "the policy depends on it",
}


@pytest.mark.parametrize("with_model", [False, True])
def test_what_one_attempt_taught_is_in_the_next_ones_prompt_and_its_outcome_is_counted(tmp_path, with_model):
    llm = ScriptedLLM([ABSTRACTED] * 3) if with_model else None
    with open_memory(tmp_path / "store", embedder=HashEmbedder(), llm=llm, clock=FixedClock()) as memory:
        stored, blocks = run(memory)
        assert blocks[0].text == ""
        assert all("errors" not in one for one in stored)
        strategy_id = stored[0]["strategies"]
        assert [one["strategies"] for one in stored] == [strategy_id] * 3, "they are of one situation"
        assert strategy_id in blocks[1].shown["strategies"]
        assert stored[1]["used"]["strategies"] == [strategy_id]

        strategy, rate = memory.strategies.get(strategy_id), memory.strategies.rate(strategy_id)
        assert strategy.metadata["derived_by"] == ("scripted" if with_model else "template")
        assert len(strategy.sources) == 3
        assert (rate.n, rate.n_succeeded) == (2, 2)
        tasks = [attempt.task_id for attempt in memory.strategies.attempts(strategy_id)]
        assert tasks == [f"{KIND}-1", f"{KIND}-2"]
