"""Words alone find and judge hits in a language whose texts are all near each other to the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import atlas
from atlas.core.ranking.languages import language_of
from atlas.core.ranking.level import level_between
from atlas.core.ranking.tuned import SMALL
from atlas.core.settings import RankingWeights, Settings
from atlas.embedding.foreign_queries import load_queries
from atlas.memory.base.calibration.encoding import decode_measurement, encode_measurement
from atlas.memory.base.calibration.measurement import LevelMeasurement
from atlas.memory.base.scoring import Calibration
from atlas.testing import HashEmbedder
from tests.support.records import attempts

CHINESE = ("排列目录中的文件", "把声音写入磁盘", "改变用户的密码", "显示网络的路由表", "压缩图像并保存")
ENGLISH = ("how is the list of the seats sorted", "where is the visa of the passenger")
WITHOUT_MEANING = RankingWeights(meaning=0.0)


class EnglishEmbedder(HashEmbedder):
    """A model to which all Chinese texts are about the same."""

    def _embed(self, text):
        vector = super()._embed(text)
        if language_of(text) == "zh":
            vector = vector + 4 * np.eye(1, len(vector), dtype=np.float32)[0]
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def opened(path: Path, texts: tuple[str, ...], embedder: HashEmbedder) -> atlas.MemorySystem:
    memory = atlas.open_memory(path, embedder=embedder, settings=Settings())
    memory.experience.store_many(
        [atlas.Trajectory(atlas.Task(text, "", text), (), atlas.Outcome(True)) for text in texts]
    )
    memory.experience.calibrate()
    return memory


def measured(memory: atlas.MemorySystem) -> LevelMeasurement:
    return memory.experience._retriever._calibration.measurement()


def in_two_languages(by_words: tuple[str, ...] = ("zh",)) -> LevelMeasurement:
    """Foreign queries in Chinese are near by meaning, and share few words. Own ones share most."""
    return LevelMeasurement(
        scale=Calibration(unrelated=0.0, near=1.0),
        n_records=100,
        answers=(((0.1, 0.1),),) * 10 + (((0.9, 0.1),),) * 10,
        languages=("en",) * 10 + ("zh",) * 10,
        languages_by_words=by_words,
        own_answers=(((0.5, 0.5),),) * 10,
        own_languages=("en", "zh") * 5,
        self_answers=((0.9, 1.0),) * 10,
    )


def test_in_a_language_that_the_model_does_not_tell_apart_foreign_queries_find_nothing_and_own_ones_do(tmp_path):
    with opened(tmp_path, CHINESE, EnglishEmbedder()) as memory:
        assert measured(memory).languages_by_words == ("zh",)
        shown = [text for text in load_queries("zh") if memory.experience.retrieve(text, 3).hits]
        assert len(shown) <= 0.1 * len(load_queries("zh"))
        for text, query in zip(
            CHINESE, ("怎样排列文件", "声音写入", "用户密码", "网络路由表", "压缩图像"), strict=True
        ):
            found = memory.experience.retrieve(query, 1).hits
            assert [hit.item.task.description for hit in found] == [text]
            assert "meaning" not in found[0].signals


def test_where_the_model_tells_texts_apart_meaning_counts_as_before(tmp_path):
    with opened(tmp_path, CHINESE, HashEmbedder()) as memory:
        assert measured(memory).languages == ("zh",) * len(load_queries("zh"))
        assert measured(memory).languages_by_words == ()
        assert memory.experience.retrieve("怎样排列文件", 1, threshold=0.0).hits[0].signals["meaning"] > 0.0


@pytest.mark.parametrize("embedder", [HashEmbedder(), EnglishEmbedder()])
def test_a_store_in_english_is_judged_by_meaning_and_words_whatever_the_model(tmp_path, embedder):
    texts = tuple(trajectory.task.description for trajectory in attempts(2 * SMALL))
    with opened(tmp_path, texts, embedder) as memory:
        known, weights = measured(memory), RankingWeights()
        assert (set(known.languages), known.languages_by_words) == ({"en"}, ())
        for query in (*ENGLISH, "怎样排列文件", ""):
            assert known.weights_for_language(weights, language_of(query)) is weights
        foreign, own = known._best_relevances(known.answers, weights), known._own_relevances(weights)
        assert known.level(weights) == known.level(weights, "zh") == level_between(foreign, own, "en")


def test_records_near_a_record_are_found_by_meaning_in_every_language(tmp_path):
    with opened(tmp_path, CHINESE, EnglishEmbedder()) as memory:
        vector = memory.experience.embedder.encode(CHINESE[2])
        nearest = memory.experience._retriever.find_neighbours(vector, 1)
        assert nearest[0].meaning > 0.9
        assert memory.experience.get(nearest[0].item).task.description == CHINESE[2]
        assert nearest[0].relevance > 0.9


def test_in_a_store_of_two_languages_each_has_its_weights_and_its_level():
    both, weights = in_two_languages(), RankingWeights()
    assert both.weights_for_language(weights, "zh") == WITHOUT_MEANING
    assert both.weights_for_language(weights, "en") == both.weights_for_language(weights, "") == weights
    assert both.level(weights, "zh") < in_two_languages(by_words=()).level(weights, "zh")
    assert both.level(weights, "fr") == both.level(weights, "en")
    strict = RankingWeights(strictness=2.0)
    assert both.costs(strict).own_hidden == 0.0
    assert in_two_languages(by_words=()).costs(strict).own_hidden == 0.5


def test_weights_without_words_stay_as_they_are():
    by_meaning = RankingWeights(meaning=1.0, words=0.0)
    assert in_two_languages().weights_for_language(by_meaning, "zh") is by_meaning
    assert in_two_languages().level(by_meaning, "fr") == in_two_languages().level(by_meaning, "zh")


def test_a_measurement_is_read_as_it_was_written():
    assert decode_measurement(encode_measurement(in_two_languages())) == in_two_languages()
