from __future__ import annotations

import pytest

from atlas.embedding.foreign_queries import (
    FOREIGN_LANGUAGES,
    calibration_queries,
    foreign_queries,
    load_calibration_queries,
    load_queries,
)


def test_there_are_some_400_distinct_english_queries_of_one_line():
    queries = foreign_queries()

    assert len(queries) == len(set(queries)) == 422
    assert all(query == query.strip() != "" for query in queries)


def test_some_are_in_other_languages():
    marks = ("的", "の", "¿", "ä", "я")

    assert all(any(mark in query for query in foreign_queries()) for mark in marks)


@pytest.mark.parametrize("language", FOREIGN_LANGUAGES)
def test_each_of_twelve_other_languages_has_at_least_40_distinct_queries_of_one_line(language):
    queries = load_queries(language)

    assert len(FOREIGN_LANGUAGES) == 12
    assert len(queries) == len(set(queries)) >= 40
    assert all(query == query.strip() != "" for query in queries)


def test_none_is_longer_than_a_task_description():
    every = [query for language in ("en", *FOREIGN_LANGUAGES) for query in load_queries(language)]

    assert max(len(query.split()) for query in every) <= 40


def test_a_store_is_asked_in_the_languages_that_it_holds():
    assert load_calibration_queries(["en"]) == {"en": calibration_queries()}
    assert load_calibration_queries(["de", "en"]) == {"en": calibration_queries(), "de": load_queries("de")}
    assert load_calibration_queries(["zh"]) == {"zh": load_queries("zh")}


def test_a_store_in_a_language_without_queries_is_asked_in_english():
    assert load_calibration_queries(["fi"]) == {"en": calibration_queries()}
