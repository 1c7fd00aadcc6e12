"""The language of a text is told by its script or its function words, and of a store by its share."""

from __future__ import annotations

import pytest

from atlas.core.ranking.languages import detect_languages, language_of
from atlas.embedding.foreign_queries import FOREIGN_LANGUAGES, load_queries


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The build fails because the cache was not cleared.", "en"),
        ("Hi! I'd like to cancel a reservation, please.", "en"),
        ("convert a list to a string", "en"),
        ('File "main.py", line 3, in <module>', ""),
        ("Die Abfrage zählt jede Bestellung doppelt, weil ein Verbund fehlt.", "de"),
        ("为什么这条查询会把每个订单数两遍？", "zh"),  # noqa: RUF001
        ("この関数は月末の日付を一日ずらす。", "ja"),
        ("빈 칸까지 평균에 넣는 수식을 고쳐 줘.", "ko"),
        ("Исправь запрос, который возвращает удалённых клиентов.", "ru"),
        ("The report of 王 was not read by the office.", "en"),
        ("def f(x): return x", ""),
        ("404", ""),
        ("", ""),
    ],
)
def test_a_text_is_in_the_language_of_its_script_or_of_most_of_its_function_words(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize("language", FOREIGN_LANGUAGES)
def test_nearly_every_sentence_of_a_language_is_recognised_or_left_open(language):
    recognised = [language_of(query) for query in load_queries(language)]
    assert recognised.count(language) >= 0.7 * len(recognised)
    assert sum(name not in (language, "") for name in recognised) <= 0.05 * len(recognised)


def test_a_few_texts_in_another_language_make_a_store_no_other():
    german, chinese = load_queries("de")[:30], load_queries("zh")[:10]
    assert detect_languages([*german, chinese[0]]) == ("de",)
    assert detect_languages([*german, *chinese]) == ("de", "zh")
    assert detect_languages([*20 * ["x = 1"], chinese[0]]) == ("en",)


def test_texts_of_no_known_language_count_as_english():
    assert detect_languages(["x = 1", "404"]) == ("en",)
    assert detect_languages([]) == ("en",)
