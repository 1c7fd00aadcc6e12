"""Making ready for the first question: beside the pages, once, and told where it takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable

from atlas.core.errors import EmbeddingUnavailable
from atlas.jobs.warming import WarmUp
from atlas.memory.open import open_memory
from atlas.testing import HashEmbedder


class Exported(HashEmbedder):
    """An embedder whose model has to be made ready first, which ends when a test says so."""

    def __init__(self, problem: Exception | None = None) -> None:
        super().__init__()
        self.n_prepared = 0
        self.may_end = threading.Event()
        self._problem = problem

    def prepare(self, announce: Callable[[str], None]) -> None:
        self.n_prepared += 1
        if self._problem:
            raise self._problem
        announce("tracing it")
        self.may_end.wait()


def test_a_model_that_is_there_is_waited_for(tmp_path):
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        warming = WarmUp(memory)
        assert not warming.is_done
        assert warming.wait()
        assert (warming.is_done, warming.step) == (True, "")


def test_a_model_that_has_to_be_exported_is_not_waited_for_and_the_step_is_told(tmp_path):
    embedder = Exported()
    with open_memory(tmp_path, embedder=embedder) as memory:
        warming = WarmUp(memory)
        assert not warming.wait()
        assert warming.step == "tracing it"
        embedder.may_end.set()
        warming.finish()
        assert warming.wait()
        assert embedder.n_prepared == 1


def test_what_goes_wrong_is_left_to_the_question_that_meets_it(tmp_path, caplog):
    with open_memory(tmp_path, embedder=Exported(EmbeddingUnavailable("no weights"))) as memory:
        assert WarmUp(memory).wait()
    assert "so the first query will be slow: no weights" in caplog.text
