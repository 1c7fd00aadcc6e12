"""The stemmer says what SQLite's own does, which has stemmed English in many programs for twenty years."""

from __future__ import annotations

import random
import sqlite3

import pytest

from atlas.storage.text.stemming import stem

ENDINGS = """
    ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti
    biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion ou
    ism ate iti ous ive ize sses ies ss s eed ed ing y e ll
""".split()  # noqa: SIM905  (a list of it would fill the page)


def stems_of_sqlite(words: list[str]) -> list[str]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(word, tokenize = 'porter ascii')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(texts, 'instance')")
    connection.executemany("INSERT INTO texts VALUES (?)", [(word,) for word in words])
    rows = connection.execute("SELECT term FROM stems ORDER BY doc").fetchall()
    connection.close()
    return [row[0] for row in rows]


def test_it_agrees_with_sqlite_on_words_of_every_ending():
    draw = random.Random(1)

    def syllable() -> str:
        return f"{draw.choice(['', 'b', 'c', 'st', 'gr', 'm'])}{draw.choice('aeiou')}{draw.choice('bdglmnrstz')}"

    def word() -> str:
        beginning = "".join(syllable() for _ in range(draw.randint(1, 4)))
        return f"{beginning}{draw.choice(ENDINGS)}{draw.choice(['', '', 's', 'ed', 'ing', 'er'])}"

    words = [word() for _ in range(20_000)]
    expected = stems_of_sqlite(words)
    assert [
        (word, stem(word), stemmed) for word, stemmed in zip(words, expected, strict=True) if stem(word) != stemmed
    ] == []


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("cancelled", "cancel"),
        ("cancellations", "cancel"),
        ("running", "run"),
        ("policies", "polici"),
        ("hopping", "hop"),
        ("hoping", "hope"),
        ("agreed", "agre"),
        ("sky", "sky"),
        ("happy", "happi"),
        ("by", "by"),
        ("", ""),
    ],
)
def test_words_of_one_kind_share_a_stem(word, expected):
    assert stem(word) == expected
