"""A model's server that is killed in the middle of its answer: nothing is lost on any path, and the reason is shown."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

import atlas
from atlas.core.settings import Settings
from atlas.llm.client import ModelClient
from atlas.testing import HashEmbedder
from tests.support.dying_server import dying_server
from tests.support.model_paths import PATHS, contents, prepared


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_nothing_is_lost_and_the_reason_is_shown(path, api, tmp_path):
    with dying_server() as url:
        settings = replace(Settings(), llm_base_url=url, llm_api=api, llm_retries=1)
        with (
            closing(ModelClient(settings, api_key="key", backoff_seconds=0.001)) as llm,
            prepared(path, tmp_path, llm) as memory,
        ):
            before, operations = contents(memory), memory.count_operations()
            reason = path.ask(memory, llm).reason
            assert "nothing answers at" in reason
            changes = memory.history(100)[: memory.count_operations() - operations]
            assert len(changes) == path.stores
            for change in changes:
                memory.undo(change.id)
            assert contents(memory) == before
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        assert contents(memory) == before
