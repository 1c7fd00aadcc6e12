"""Reading, changing and searching text files, good ones and bad ones."""

from __future__ import annotations

import pytest

from atlas.primitives.swe.texts import (
    file_outline,
    find_definition,
    find_references,
    read_file,
    replace_in_file,
    search_codebase,
    write_file,
)

PYTHON = """
import os

LIMIT: int = 3
low, high = 1, 2
table[low] = high

class Outer:
    size = 1

    class Inner:
        async def walk(self): ...

    def turn(self):
        def hidden(): ...

if os.name == "posix":
    def posix_only(): ...
else:
    def elsewhere(): ...

try:
    import fast
except ImportError:
    fast = None
finally:
    done = True
"""


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [(1, None, "a\nb\nc"), (2, None, "b\nc"), (2, 2, "b\n"), (3, 9, "c"), (4, None, ""), (3, 2, "")],
)
def test_some_lines_of_a_file(root, first, last, text):
    write_file(root, "lines.txt", "a\nb\nc")
    assert read_file(root, "lines.txt", first, last) == text


def test_lines_count_from_one(root):
    with pytest.raises(ValueError, match="lines count from 1, got 0"):
        read_file(root, "notes.txt", 0)


@pytest.mark.parametrize("text", ["", "a\r\nb\rc\u2028d", "naïve ☃ 𝄞", "no end", "\ufeffmarked\n"])
def test_a_text_comes_back_as_it_was_written(root, text):
    assert write_file(root, "deep/er/text.txt", text) == len(text.encode())
    assert read_file(root, "deep/er/text.txt") == text


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"GIF89a\x00\x01", "it has NUL bytes"), (b"caf\xe9\n", "not text in UTF-8: byte 3 is 0xe9")],
)
def test_what_is_not_text_is_neither_read_nor_changed(root, content, said):
    (root / "strange").write_bytes(content)
    for act in (lambda: read_file(root, "strange"), lambda: replace_in_file(root, "strange", "a", "b")):
        with pytest.raises(ValueError, match=said):
            act()
    assert (root / "strange").read_bytes() == content


def test_a_text_that_has_no_utf8_form_is_not_written(root):
    with pytest.raises(ValueError, match="surrogates"):
        write_file(root, "notes.txt", "\ud800")
    assert (root / "notes.txt").read_text() == "first\nsecond\n"


@pytest.mark.parametrize(
    ("old", "times", "found"), [("s", 1, 2), ("third", 1, 0), ("", 1, 0), ("first", 0, 1), ("x", 0, 0)]
)
def test_a_passage_that_is_not_there_so_often_is_not_replaced(root, old, times, found):
    with pytest.raises(ValueError, match=f"expected the passage {times} times in 'notes.txt', found it {found} times"):
        replace_in_file(root, "notes.txt", old, "new", times)
    assert (root / "notes.txt").read_text() == "first\nsecond\n"


def test_a_passage_is_replaced_as_often_as_was_said(root):
    replace_in_file(root, "notes.txt", "s", r"\1", times=2)
    assert (root / "notes.txt").read_text() == "fir\\1t\n\\1econd\n"


def found(result):
    return [(match["path"], match["line"]) for match in result["matches"]]


def test_a_text_is_searched_as_it_is(root):
    write_file(root, "pattern.txt", "(a+)+$\nGreet\n")
    assert found(search_codebase(root, "(a+)+$")) == [("pattern.txt", 1)]
    assert found(search_codebase(root, "greet")) == [("package/module.py", 1)]
    assert found(search_codebase(root, "greet", "*.txt", ignore_case=True)) == [("pattern.txt", 2)]


def test_words_are_whole_where_asked(root):
    write_file(root, "module.py", "greet\ngreeting\n_greet\ngreet()\n")
    assert found(find_references(root, "greet")) == [("module.py", 1), ("module.py", 4), ("package/module.py", 1)]


def test_searching_leaves_out_what_is_binary_linked_or_huge(root, outside):
    (outside / "secret.txt").write_text("needle\n")
    (root / "binary").write_bytes(b"needle\0")
    (root / "latin").write_bytes(b"caf\xe9 needle\n")
    with (root / "huge").open("wb") as file:
        file.write(b"needle\n")
        file.truncate(10**12)
    assert found(search_codebase(root, "needle")) == [("latin", 1)]


def test_a_search_says_where_a_limit_ended_it(root):
    write_file(root, "many.txt", "needle\n" * 5)
    assert search_codebase(root, "needle", max_matches=5)["complete"]
    short = search_codebase(root, "needle", max_matches=4)
    assert (len(short["matches"]), short["complete"]) == (4, False)
    assert search_codebase(root, "needle", seconds=0) == {"matches": [], "complete": False}


def test_long_lines_are_cut(root):
    write_file(root, "long.txt", "needle" + "x" * 10_000)
    assert len(search_codebase(root, "needle")["matches"][0]["text"]) == 500


def test_searching_for_nothing_is_refused(root):
    with pytest.raises(ValueError, match="a text to search for"):
        search_codebase(root, "")


def test_an_outline_has_what_can_be_used_from_outside(root):
    write_file(root, "whole.py", PYTHON)
    outline = [(part["line"], part["kind"], part["name"]) for part in file_outline(root, "whole.py")]
    assert outline == [
        (4, "variable", "LIMIT"),
        (5, "variable", "low"),
        (5, "variable", "high"),
        (8, "class", "Outer"),
        (9, "variable", "Outer.size"),
        (11, "class", "Outer.Inner"),
        (12, "function", "Outer.Inner.walk"),
        (14, "function", "Outer.turn"),
        (18, "function", "posix_only"),
        (20, "function", "elsewhere"),
        (25, "variable", "fast"),
        (27, "variable", "done"),
    ]


@pytest.mark.parametrize("text", ["def broken(:\n", "(" * 5000, "x = " + "-" * 50_000 + "1", "elif x: pass"])
def test_what_is_not_python_has_no_outline_and_hides_no_definition(root, text):
    write_file(root, "broken.py", f"{text}\n# greet\n")
    with pytest.raises(ValueError, match=r"'broken.py' is not Python that can be parsed"):
        file_outline(root, "broken.py")
    assert [part["path"] for part in find_definition(root, "greet")] == ["package/module.py"]


def test_a_definition_is_found_by_its_name_or_with_what_it_is_in(root):
    write_file(root, "whole.py", PYTHON)
    assert [part["line"] for part in find_definition(root, "walk")] == [12]
    assert [part["line"] for part in find_definition(root, "Inner.walk")] == [12]
    assert find_definition(root, "Outer.walk") == []
    assert find_definition(root, "alk") == []


def test_a_definition_is_not_said_to_be_missing_where_not_all_was_seen(root):
    (root / ("d/" * 101)).mkdir(parents=True)
    with pytest.raises(ValueError, match="too deep a tree; use search_codebase"):
        find_definition(root, "missing")


def test_looking_for_a_definition_ends_in_time(root):
    with pytest.raises(TimeoutError, match="took longer than 0 s"):
        find_definition(root, "greet", seconds=0)
