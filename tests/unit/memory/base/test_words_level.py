"""A search by words alone, as long as the model loads, keeps its level: questions on other subjects find nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.core.ranking.tuned import HIGHEST_WORDS_LEVEL, MIN_WORD_SHARE, SMALL
from atlas.core.settings import RankingWeights, Settings
from atlas.embedding.foreign_queries import evaluation_queries
from atlas.memory.base.calibration.measurement import LevelMeasurement
from atlas.memory.base.scoring import Calibration
from atlas.testing import HashEmbedder
from tests.support.records import attempts


class Unloaded(HashEmbedder):
    """A model that is not loaded, so that whatever embeds a text fails."""

    is_loaded = False

    def encode_batch(self, texts):
        assert self.is_loaded, "a text was embedded"
        return super().encode_batch(texts)


@pytest.fixture(params=[8, 60], ids=["small", "large"])
def store(tmp_path, request) -> Path:
    """A store of reports that were mended, which no search has measured yet."""
    with opened(tmp_path, is_loaded=True) as memory:
        memory.experience.store_many(attempts(request.param))
    return tmp_path


def opened(path: Path, *, is_loaded: bool = False) -> atlas.MemorySystem:
    embedder = Unloaded()
    embedder.is_loaded = is_loaded
    return atlas.open_memory(path, embedder=embedder, settings=Settings())


@pytest.mark.parametrize("is_measured", [False, True])
def test_foreign_questions_find_nothing_and_its_own_find_what_they_name(store, is_measured):
    if is_measured:
        with opened(store, is_loaded=True) as memory:
            memory.experience.calibrate()
    with opened(store) as memory:
        asked = evaluation_queries()[::3]
        answered = [text for text in asked if memory.experience.retrieve_words(text).hits]
        assert len(answered) <= 0.1 * len(asked)
        for question in ("mend the web report", "how do I mend the shell report of customer 1?"):
            assert memory.experience.retrieve_words(question).hits, question


def test_what_is_hidden_is_counted_and_shown_at_a_threshold_of_nought(store):
    with opened(store) as memory:
        foreign = "where can I buy a second-hand bicycle that was made for a tall customer in the nineties"
        found = memory.experience.retrieve_words(foreign)
        assert (found.hits, found.n_hidden > 0, found.threshold) == ([], True, MIN_WORD_SHARE)
        assert memory.experience.retrieve_words(foreign, threshold=0.0).hits
        block = memory.build_context(atlas.Task("q", "", foreign), by_words=True)
        assert block.shown.get("experience", ()) == ()


def test_a_threshold_outside_of_0_to_1_is_refused(store):
    with opened(store) as memory, pytest.raises(InvalidInput, match="threshold"):
        memory.experience.retrieve_words("mend a report", threshold=1.5)


@pytest.mark.parametrize(
    ("shares", "level"), [((0.01, 0.02), MIN_WORD_SHARE), ((0.9, 0.1), HIGHEST_WORDS_LEVEL), ((0.18, 0.18), 0.18)]
)
def test_the_level_is_what_foreign_queries_rarely_reach_within_bounds(shares, level):
    answers = tuple(((0.5, share), (0.1, 0.0)) for share in shares)
    measured = LevelMeasurement(scale=Calibration(), n_records=SMALL, answers=answers)
    assert measured.words_level == pytest.approx(level)


def test_a_stricter_setting_needs_more_words_and_at_nought_nothing_is_hidden(store):
    with opened(store) as memory:
        for strictness, is_found in ((0.0, True), (1.0, True), (5.0, False)):
            ranked = memory.experience.ranked_with(RankingWeights(strictness=strictness))
            assert bool(ranked.retrieve_words("mend the shell report of customer 37 before lunch").hits) is is_found
