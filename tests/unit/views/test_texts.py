"""How untrusted texts are told apart and shown."""

from __future__ import annotations

import json

import pytest

from atlas.views.shared.texts import LONG_CHARACTERS, Text, as_json, as_written, language_of, text_of, with_code


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return x",
        "\n\nfrom typing import List\n",
        "# a comment\nimport os\n",
        "class A(B):\n    pass",
        "@cache\ndef f(): ...",
        "async def main() -> None:\n    ...",
    ],
)
def test_python_is_told_by_how_it_begins(text):
    assert language_of(text) == "python"


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Send the refunds file (pain.001) to the bank.", "Send the refunds file (pain.001) to the bank", ""),
        ("The line to the bank times out.\nThe rest", "The line to the bank times out", "The rest"),
        ("Vulnerability in vouchers/codes.py: verify() lets anyone in. Mend it without a new dependency, please.",
         "Vulnerability in vouchers/codes.py: verify() lets anyone in", "Mend it without a new dependency, please."),
        ("Read a feed only when a manifest beside it names its size and checksum, and they agree. Else wait.",
         "Read a feed only when a manifest beside it names its size and checksum",
         "Read a feed only when a manifest beside it names its size and checksum, and they agree. Else wait."),
        ("word " * 30, f"{('word ' * 16).strip()}…", f"… {('word ' * 14).strip()}"),
        ("x" * 120, f"{'x' * 80}…", f"… {'x' * 40}"),
        ("Could you sort the list?", "Sort the list", "Could you sort the list?"),
        ("Traceback (most recent call last)\n  f()\nValueError: no", "ValueError: no",
         "Traceback (most recent call last)\n  f()\nValueError: no"),
        ("Wait for the lock…", "Wait for the lock…", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_the_headline_of_a_text_is_its_title_in_lists_and_nothing_else_is_lost(text, title, rest):
    headline = Text(text).headline
    assert (headline.title, headline.rest) == (title, rest)


@pytest.mark.parametrize("text", ['{"a": 1}', '  [1, {"b": null}]\n'])
def test_json_is_what_parses_as_an_object_or_a_list(text):
    assert language_of(text) == "json"


@pytest.mark.parametrize("text", ["diff --git a/x b/x\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@"])
def test_a_patch_is_a_diff(text):
    assert language_of(text) == "diff"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "42",
        "import this idea from elsewhere",
        "Write a function.\n\ndef f(x): ...",
        "class of 1999",
        "{not json}",
        "[" * 100_000,
        "--- a title ---",
        "# Heading\n\nprose",
    ],
)
def test_anything_else_is_plain(text):
    assert language_of(text) is None


def test_a_long_text_is_plain_and_has_a_beginning():
    text = Text("def f(): ...\n" * LONG_CHARACTERS)
    assert text.is_long
    assert text.language is None
    assert text.whole.startswith(text.beginning)
    assert len(text.beginning) == LONG_CHARACTERS


def test_a_tall_text_gets_a_frame():
    assert Text("line\n" * 30).is_tall
    assert Text("word " * 400).is_tall
    assert not Text("one line").is_tall


def test_markup_in_a_text_is_shown_as_written():
    assert as_written("[a](b)\n:red[*c*] d") == r"\[a\]\(b\) \:red\[\*c\*\] d"


def test_what_is_blank_is_nothing():
    assert text_of(" \n") is None
    assert as_json({}) is None


def test_values_stand_one_to_a_line_unless_they_are_short():
    short, long = as_json({"from": "user"}), as_json({"a": "x" * 60, "b": "é" * 60})
    assert short == Text('{"from": "user"}')
    assert long is not None
    assert long.whole.count("\n") == 3
    assert json.loads(long.whole) == {"a": "x" * 60, "b": "é" * 60}


def test_names_of_parameters_and_what_stands_between_backticks_are_code_and_the_rest_is_as_written():
    shown = with_code("Import {table_name} *now* into {other}: `<b>$x$`", ["table_name", "not a name"])
    assert shown == r"Import `table_name` \*now\* into \{other\}\: `<b>$x$`"
    assert with_code("`a` b` <b>") == r"`a` b\` \<b\>"


@pytest.mark.parametrize("text", ["plain", "one ` of two", "two\n`lines`", "``<b>`` `x`", "` `", ""])
def test_a_text_without_code_or_with_several_lines_is_not_markdown(text):
    assert with_code(text, ["name"]) == ""
