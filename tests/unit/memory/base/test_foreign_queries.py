from __future__ import annotations

from atlas.embedding.foreign_queries import foreign_queries


def test_there_are_some_400_distinct_queries_of_one_line():
    queries = foreign_queries()

    assert len(queries) == len(set(queries)) == 422
    assert all(query == query.strip() != "" for query in queries)


def test_some_are_in_other_languages():
    marks = ("的", "の", "¿", "ä", "я")

    assert all(any(mark in query for query in foreign_queries()) for mark in marks)


def test_none_is_longer_than_a_task_description():
    assert max(len(query.split()) for query in foreign_queries()) <= 40
