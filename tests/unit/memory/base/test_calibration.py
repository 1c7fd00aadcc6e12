"""The scale of a store is measured on the store, and so is the level that says whether it has an answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

import atlas
from atlas.core.ranking.languages import ENGLISH
from atlas.core.ranking.tuned import HIGHEST_LEVEL, LOWEST_LEVEL, MIN_SHARE_OF_BEST, MIN_WORD_SHARE, SMALL, SMALL_LEVEL
from atlas.core.settings import RankingWeights, Settings
from atlas.embedding.foreign_queries import FOREIGN_LANGUAGES, evaluation_queries, load_calibration_queries
from atlas.embedding.plain import REMEMBERED_QUERIES
from atlas.memory.base.calibration import live as live_calibration
from atlas.memory.base.calibration.encoding import VERSION
from atlas.memory.base.calibration.live import LiveCalibration
from atlas.memory.base.calibration.measurement import LevelMeasurement, RelevanceThresholds
from atlas.memory.base.calibration.scale import MODEL_SCALES, calibrate
from atlas.memory.base.scoring import Calibration
from atlas.storage.records import MEASUREMENTS
from atlas.testing import HashEmbedder, HashTokenEmbedder

SUBJECTS = ("flight", "hotel", "refund", "luggage", "visa", "seat", "meal", "voucher")


def attempts(n: int, start: int = 0) -> list[atlas.Trajectory]:
    texts = [
        f"cancel the {SUBJECTS[i % 8]} of passenger {i} because of {SUBJECTS[(i // 8) % 8]} trouble"
        for i in range(start, start + n)
    ]
    return [atlas.Trajectory(atlas.Task(f"t{text}", "", text), (), atlas.Outcome(True)) for text in texts]


def opened(path, **options) -> atlas.MemorySystem:
    embedder = options.pop("embedder", None) or HashEmbedder()
    return atlas.open_memory(path, embedder=embedder, settings=Settings(), **options)


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path) as memory:
        yield memory


def live(memory: atlas.MemorySystem) -> LiveCalibration:
    return LiveCalibration(memory.experience.collection, memory.experience.embedder)


def settled(memory: atlas.MemorySystem) -> LiveCalibration:
    """The calibration of the memory itself, once it has kept what it measured."""
    memory.experience.calibrate()
    return memory.experience._retriever._calibration


class RememberingEmbedder(HashTokenEmbedder):
    """An embedder that keeps the queries that it is told of, up to its limit, and counts those that it has to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.n_embedded = 0

    def remember_queries(self, texts: list[str]) -> None:
        self.kept = [*self.kept, *texts][-REMEMBERED_QUERIES:]

    def encode_query(self, text):
        self.n_embedded += text not in self.kept
        return super().encode_query(text)

    def query_tokens(self, text):
        self.n_embedded += text not in self.kept
        return super().query_tokens(text)


def test_more_queries_than_an_embedder_remembers_are_asked_without_embedding_any_twice(tmp_path, monkeypatch):
    embedder = RememberingEmbedder()
    with opened(tmp_path, embedder=embedder) as memory:
        memory.experience.store_many(attempts(SMALL))
        many = load_calibration_queries([ENGLISH, *FOREIGN_LANGUAGES[:3]])
        monkeypatch.setattr(live_calibration, "load_calibration_queries", lambda languages: many)
        embedder.n_embedded = 0
        measured = settled(memory)
    assert sum(map(len, many.values())) > REMEMBERED_QUERIES
    assert measured is not None
    assert embedder.n_embedded == 0


def test_a_store_sets_its_own_scale_once_it_has_records():
    usual = Calibration(unrelated=0.1, near=0.7)
    none = np.zeros(0, np.float32)
    assert calibrate(none, none, usual) == usual
    measured = calibrate(np.full(2000, 0.15, np.float32), np.full(64, 0.5, np.float32), usual)
    assert measured.unrelated == pytest.approx(0.15, abs=0.01)
    assert 0.5 < measured.near < 0.6
    assert measured.rescale(measured.unrelated) == 0
    assert measured.rescale(measured.near) == 1


def test_a_store_of_one_subject_does_not_count_its_own_kind_as_unrelated():
    usual = Calibration(unrelated=0.1, near=0.7)
    alike = calibrate(np.full(2000, 0.9, np.float32), np.full(64, 0.95, np.float32), usual)
    assert alike.unrelated == pytest.approx(0.2)
    assert alike.rescale(0.9) > 0.8


def test_a_store_of_texts_without_neighbours_does_not_take_what_is_far_for_near():
    usual = Calibration(unrelated=0.1, near=0.7)
    sparse = calibrate(np.full(2000, 0.05, np.float32), np.full(64, 0.3, np.float32), usual)
    assert sparse.near == pytest.approx(0.55)


def test_a_scale_begins_with_what_is_usual_with_the_model(tmp_path):
    with opened(tmp_path, embedder=HashEmbedder(384, "all-MiniLM-L6-v2")) as memory:
        assert live(memory).measurement().scale == MODEL_SCALES["all-MiniLM-L6-v2"]


def test_it_is_measured_once_and_again_when_the_store_has_grown(memory):
    memory.experience.store_many(attempts(3))
    calibration = live(memory)
    calibration.prepare()
    small = calibration.measurement()
    assert small.n_records == 3
    memory.experience.store_many(attempts(40, 3))
    grown = calibration.measurement()
    assert (small.n_records, grown.n_records) == (3, 43)
    assert grown.scale != small.scale
    calibration.prepare()
    whole = calibration.measurement()
    assert not grown.answers
    assert len(whole.answers) > 100
    memory.experience.store_many(attempts(4, 43))
    calibration.prepare()
    assert calibration.measurement() is whole


def test_a_store_that_has_grown_is_measured_again_in_the_background(memory):
    memory.experience.store_many(attempts(30))
    calibration = settled(memory)
    before = calibration.measurement()
    memory.experience.store_many(attempts(30, 30))
    memory.experience.retrieve("cancel the flight of passenger 7", 3)
    memory.experience.retrieve("cancel the flight of passenger 8", 3)
    calibration._measuring_thread.join()
    assert (before.n_records, calibration.measurement().n_records) == (30, 60)


def test_what_was_measured_is_kept_and_nobody_measures_it_again(tmp_path):
    with opened(tmp_path) as memory:
        memory.experience.store_many(attempts(30))
        level = settled(memory).measurement().level(RankingWeights())
    for read_only in (False, True):
        embedder = HashEmbedder()
        with opened(tmp_path, embedder=embedder, read_only=read_only) as again:
            assert again.experience.level() == pytest.approx(level, abs=1e-3)
            assert again.experience.retrieve("cancel the flight of passenger 7", 3).hits
        assert embedder.texts == ["cancel the flight of passenger 7"]


DAMAGED = ["", "{", "[1]", '{"scale": "far"}', "null", f'{{"version": {VERSION}, "scale": [NaN, 1]}}']


def test_a_damaged_measurement_is_not_taken_and_made_again(memory):
    memory.experience.store_many(attempts(30))
    for damaged in DAMAGED:
        memory.storage.ledger.notes.write({MEASUREMENTS + "atlas_experiences": damaged})
        assert live(memory)._read_stored_measurement() is None, damaged
    assert settled(memory).measurement().n_records == 30
    assert json.loads(memory.experience.collection.read_measurement())["n_records"] == 30


def test_growth_is_that_of_the_memory_itself(memory):
    memory.experience.store_many(attempts(60))
    memory.journal.add("observation", "the build was late", generation=1)
    calibration = memory.journal._retriever._calibration
    memory.journal.retrieve("the build", 3)
    assert calibration.measurement().n_records == 1
    memory.journal.add_entries(
        [
            atlas.JournalEntry(entry_type="observation", content=f"the {SUBJECTS[i % 8]} was late {i}", generation=2)
            for i in range(30)
        ]
    )
    memory.journal.retrieve("the build", 3)
    assert calibration.measurement().n_records == 31


def test_an_embedder_that_takes_one_query_but_not_many_is_asked_once(tmp_path):
    class Slow(HashEmbedder):
        n_refused = 0

        def encode_batch(self, texts):
            if len(texts) > 40:
                self.n_refused += 1
                raise ConnectionError("too many at once")
            return super().encode_batch(texts)

    embedder = Slow()
    with opened(tmp_path, embedder=embedder) as memory:
        memory.experience.store_many(attempts(30))
        for number in range(3):
            assert memory.experience.retrieve(f"cancel the flight of passenger {number}", 3).hits
    assert embedder.n_refused == 1


def test_that_of_another_model_is_not_taken(memory):
    memory.experience.store_many(attempts(30))
    settled(memory)
    other = LiveCalibration(memory.experience.collection, HashEmbedder(model_name="other"))
    assert other._read_stored_measurement() is None
    assert live(memory)._read_stored_measurement() is not None


def test_a_read_only_store_is_measured_without_writing(tmp_path):
    with opened(tmp_path) as memory:
        memory.experience.store_many(attempts(30))
    with opened(tmp_path, read_only=True) as memory:
        assert LOWEST_LEVEL <= memory.experience.level() <= HIGHEST_LEVEL
        assert memory.experience.collection.read_measurement() is None


def test_foreign_questions_find_nothing_and_its_own_find_what_is_near(memory):
    memory.experience.store_many(attempts(60))
    asked = evaluation_queries()[::3]
    told = [text for text in asked if memory.experience.retrieve(text, 5).hits]
    assert len(told) <= 0.15 * len(asked)
    own = memory.experience.retrieve("cancel the hotel of passenger 9 because of meal trouble", 10)
    assert own.hits
    assert own.threshold == pytest.approx(MIN_SHARE_OF_BEST * own.hits[0].relevance, abs=0.02)


def test_strictness_multiplies_the_level_and_at_nought_nothing_is_hidden():
    measured = LevelMeasurement(
        scale=Calibration(unrelated=0.0, near=1.0), n_records=100, answers=(((0.15, 0.0),),) * 10
    )
    level = measured.level(RankingWeights(meaning=1.0, words=0.0))
    assert level == pytest.approx(0.15)
    weights = [RankingWeights(meaning=1.0, words=0.0, strictness=factor) for factor in (0.0, 1.0, 2.0)]
    assert [measured.thresholds(one).min_best for one in weights] == pytest.approx([0.0, 0.15, 0.30])
    assert measured.thresholds(weights[0]).min_relevance(0.9) == 0.0
    assert measured.thresholds(weights[1]).min_relevance(0.9) == pytest.approx(MIN_SHARE_OF_BEST * 0.9)
    assert measured.thresholds(weights[1]).min_relevance(0.1) == pytest.approx(0.15)


def test_a_hit_far_below_the_best_is_shown_and_one_that_shares_nothing_with_the_query_is_not():
    measured = LevelMeasurement(scale=Calibration(), n_records=100, answers=(((0.0, 0.0),),) * 10)
    least = measured.thresholds(RankingWeights()).min_relevance(0.8)
    assert 0.1 < least < 0.3
    assert measured.thresholds(RankingWeights(strictness=2.0)).min_relevance(0.8) == pytest.approx(2 * least)


@pytest.mark.parametrize(("near", "level"), [(0.9, HIGHEST_LEVEL), (0.0, LOWEST_LEVEL)])
def test_a_store_at_home_everywhere_or_nowhere_has_a_level_within_bounds(near, level):
    measured = LevelMeasurement(
        scale=Calibration(unrelated=0.0, near=1.0), n_records=100, answers=(((near, 0.0),),) * 10
    )
    assert measured.level(RankingWeights()) == level


def test_a_store_in_german_is_asked_in_german_and_its_level_is_that_of_a_query_in_german(memory):
    german = [f"Die {thing} war nicht da und der Gast {i} hat es gemeldet" for i, thing in enumerate(SUBJECTS * 4)]
    memory.experience.store_many(
        [atlas.Trajectory(atlas.Task(text, "", text), (), atlas.Outcome(True)) for text in german]
    )
    measured = settled(memory).measurement()
    assert set(measured.languages) == {"de"}
    assert len(measured.languages) == len(measured.answers)
    assert len(measured.own_answers) == len(measured.self_answers) == len(german)


def test_a_small_store_is_asked_in_other_languages_than_english(memory):
    texts = ["Die Rechnung ist nicht bezahlt und der Gast ist weg", "Das Gepäck wurde für einen anderen Flug verladen"]
    memory.experience.store_many(
        [atlas.Trajectory(atlas.Task(text, "", text), (), atlas.Outcome(True)) for text in texts]
    )
    measured = settled(memory).measurement()
    assert measured.is_small
    assert set(measured.languages) == {"de"}
    assert not measured.thresholds(RankingWeights()).shows_word_matches
    assert memory.experience.retrieve("wer hat die Rechnung bezahlt", 2).hits
    memory.experience.delete(memory.experience.ids())
    memory.experience.store_many(attempts(3))
    assert not live(memory)._measure().answers


def test_a_store_in_two_languages_has_a_level_for_queries_in_each(memory):
    measured = LevelMeasurement(
        scale=Calibration(unrelated=0.0, near=1.0),
        n_records=100,
        answers=(((0.1, 0.0),),) * 10 + (((0.4, 0.0),),) * 10,
        languages=("en",) * 10 + ("zh",) * 10,
    )
    weights = RankingWeights(meaning=1.0, words=0.0)
    assert measured.level(weights, "en") == pytest.approx(0.1)
    assert measured.level(weights, "zh") == measured.level(weights, "fr") == pytest.approx(0.4)
    calibration = LiveCalibration(memory.experience.collection, HashEmbedder())
    queries = ("is the door of this house open", "门开了吗")
    asked = [calibration.thresholds(measured, weights, measured.language(query)).min_best for query in queries]
    assert asked == pytest.approx([0.1, 0.4])


def test_what_the_level_costs_is_known_once_it_is_measured(memory):
    memory.experience.store_many(attempts(30))
    assert memory.experience.level_costs() is None
    memory.experience.calibrate()
    costs = memory.experience.level_costs()
    assert costs.level == pytest.approx(memory.experience.level())
    assert 0 <= costs.foreign_shown <= 0.2
    assert 0 <= costs.own_hidden <= 0.1


def test_what_the_level_costs_is_counted_by_the_level_in_each_language():
    measured = LevelMeasurement(
        scale=Calibration(unrelated=0.0, near=1.0),
        n_records=100,
        answers=(((0.1, 0.0),),) * 10 + (((0.4, 0.0),),) * 10,
        languages=("en",) * 10 + ("zh",) * 10,
        own_answers=(((0.15, 0.0),),) * 2 + (((0.8, 0.0),),) * 38,
        own_languages=("en", "zh") * 20,
        self_answers=((0.15, 0.0),) * 2 + ((0.8, 0.0),) * 38,
    )
    costs = measured.costs(RankingWeights(meaning=1.0, words=0.0))
    assert costs.level == pytest.approx(0.4)
    assert (costs.own_hidden, costs.foreign_shown) == (1 / 40, 1.0)


def test_a_threshold_that_is_named_holds_for_each_hit():
    assert RelevanceThresholds(min_best=0.5, min_each=0.5).min_relevance(0.9) == 0.5
    assert RelevanceThresholds(min_best=0.5, min_each=0.5).min_relevance(0.1) == 0.5


def test_a_small_store_shows_whatever_holds_a_good_part_of_what_the_words_tell(memory):
    memory.experience.store_many(attempts(SMALL - 1))
    found = memory.experience.retrieve("somebody asks about a voucher", 3)
    assert found.hits
    assert all("voucher" in hit.item.task.description and hit.words >= MIN_WORD_SHARE for hit in found.hits)
    assert not memory.experience.retrieve("and what is there to be done about it", 3).hits


def test_a_small_store_hides_what_shares_one_word_by_chance(memory):
    memory.experience.store_many(attempts(SMALL - 1))
    long = "the quarterly numbers of the branch in the north do not add up, and somebody asks about a voucher"
    found = memory.experience.retrieve(long, 3)
    assert found.hits == []
    assert found.n_hidden == 3
    assert [0.0 < hit.words < MIN_WORD_SHARE for hit in memory.experience.retrieve(long, 3, threshold=0.0).hits] == [
        True
    ] * 3


def test_a_small_store_has_a_level_of_its_own_that_strictness_multiplies():
    measured = LevelMeasurement(scale=Calibration(), n_records=SMALL - 1)
    assert measured.level(RankingWeights()) == SMALL_LEVEL
    assert measured.thresholds(RankingWeights(strictness=2.0)).min_best == 2 * SMALL_LEVEL
    assert LevelMeasurement(scale=Calibration(), n_records=SMALL).level(RankingWeights()) == HIGHEST_LEVEL


def test_a_store_of_one_text_many_times_over_is_not_asked(memory):
    memory.experience.store_many(attempts(1) * 30)
    assert memory.experience.level() == HIGHEST_LEVEL


def test_each_memory_has_its_own_level(memory):
    memory.experience.store_many(attempts(30))
    memory.journal.add_entries(
        [atlas.JournalEntry(entry_type="observation", content=f"the {one} was late again {i}", generation=i)
         for i, one in enumerate(SUBJECTS * 4)]
    )  # fmt: skip
    result = memory.query_sync(atlas.Task("t", "", "cancel the flight of passenger 3"))
    assert set(result.thresholds) == {"experience", "concepts", "strategies", "journal"}
    assert result.thresholds["experience"] != result.thresholds["journal"]
