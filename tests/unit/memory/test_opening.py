"""What can be chosen when a memory is opened."""

from __future__ import annotations

import pytest

import atlas
from atlas.core.types import Strategy
from atlas.memory.base.success_rates import SimpleAverageUpdater
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.testing import HashEmbedder, ScriptedLLM
from tests.support.memories import attempt


def test_another_updater_estimates_the_rates_of_the_same_outcomes(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), success_updater=SimpleAverageUpdater()) as memory:
        made = memory.strategies.add(Strategy(situation="refund a flight", suggestion="look it up"))
        for success in (True, True, False):
            memory.strategies.update_stats(made, success)
        assert memory.strategies.rate(made).rate == pytest.approx(2 / 3)
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        assert memory.strategies.rate(made).rate == pytest.approx(0.5355)


def test_another_extractor_says_what_is_embedded(tmp_path):
    summary = {"task": "Cancel a flight", "key_steps": ["looked it up"], "outcome": "It was cancelled."}
    extractor = LLMSummarizingExtractor(ScriptedLLM([summary]))
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), extractor=extractor) as memory:
        stored = memory.experience.store(attempt("cancel M05KNL"))
        assert memory.experience.get(stored).embedding_text.startswith("Cancel a flight\nlooked it up")
