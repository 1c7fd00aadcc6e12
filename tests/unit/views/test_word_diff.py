"""The words in which two texts differ."""

from __future__ import annotations

import pytest

from atlas.views.lists.word_diff import DIFF_CHARACTERS, MAX_WORDS, SAME, word_diff


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Run 77401 (01:10): rebuild it now or", "Run 77402 (01:40): rebuild it now or",
         "Run [77401 → 77402] ([01:10 → 01:40]): rebuild …"),
        ("a b c d e f", "a b c d e f g", "… d e f [+ g]"),
        ("a b c d e f", "b c d e f", "[− a] b c d …"),
        ("", "all of it", "[+ all of it]"),
        ("all of it", "", "[− all of it]"),
        ("one\n two", "one two ", SAME),
        ("", "", SAME),
    ],
)  # fmt: skip
def test_a_line_shows_what_changed_amid_a_few_words(before, after, said):
    assert word_diff(before, after) == said


def test_a_long_difference_is_cut_and_says_so():
    line = word_diff("x " * 900, "y " * 900)
    assert DIFF_CHARACTERS - 10 < len(line) <= DIFF_CHARACTERS
    assert line.endswith("…")


def test_very_long_texts_are_compared_by_lines():
    lines = [f"line {number} of the log" for number in range(MAX_WORDS)]
    assert word_diff("\n".join(lines), "\n".join([*lines[:-1], "the end"])).endswith("→ the end]")
