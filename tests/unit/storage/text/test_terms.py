"""What a text is found by: the same for a text that is kept and for one that is asked for."""

from __future__ import annotations

import hashlib
import re
import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atlas.storage.text.analyzer import MAX_QUERY_CHARACTERS, MAX_TERMS, expand_for_index, query_terms

EVERYTHING = " ".join(
    [
        "The cancelled reservations were running; getUserById2(), parse_json_line and HTTPServerError in SWE-agent.",
        "größeÄndern получитьПользователя naïve cafe\u0301 ﬁne x² k8s 2026-01-01 3f9a1bc2d4e5 IDs utf\u20108",
        "数据库连接 数 使い方を見る ｶﾀｶﾅ \uff21\uff22\uff23 데이터베이스 \U00020000\U00030001 Python3の ㈱",
        "हिन्दी العربية 🙂 \0 _",
    ]
)


def added(text: str) -> str:
    """What is findable beside the text itself."""
    return expand_for_index(text).partition("\n")[2]


def asked(text: str) -> list[str]:
    return [term.text + "*" * term.is_prefix for term in query_terms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserById2", "get user by id 2"),
        ("HTTPServerError", "http server error"),
        ("parse_json_line", "parsejsonline pars"),
        ("SWE-agent", "sweagent"),
        ("XMLHttpRequest", "xml http request"),
        ("parse_JSONLine", "parsejsonline pars json line"),
        ("MAX_RETRIES", "maxretries retri"),
        ("--dry-run", "dryrun"),
        ("e-mail", "email"),
        ("utf-8", "utf8"),
        ("GPT4", "gpt 4"),
        ("getIDs", "get ids id"),
        ("the IDs of URLs", "id url"),
        ("größeÄndern", "größe ändern"),
        ("получитьПользователя", "получить пользователя"),
        ("a reservation was cancelled", "reserv wa cancel"),
        ("Running", "run"),
        ("the flight", ""),
        ("", ""),
    ],
)
def test_parts_of_identifiers_and_stems_are_added(text, expected):
    assert added(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "k8s",
        "x1",
        "2026-01-01",
        "3f9a1bc2d4e5",
        "aB" * 5_000,
        "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY3ODkw",
        "a_b_c_d_e_f_g_h_i_j_k_l_m",
        "_" * 10_000,
        "\0",
        "🙂",
    ],
)
def test_hashes_keys_and_dates_are_left_whole(text):
    assert added(text) == ""


def test_the_words_of_a_slug_too_long_for_an_identifier_are_stemmed():
    assert added("-".join(["cancelled"] * 20)) == " ".join(["cancel"] * 20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("数据库", "数据 据库 库"),
        ("数", "数"),
        ("Python3の使い方", "Python3 の使 使い い方 方"),
        ("데이터 연결", "데이 이터 터 연결 결"),
        ("\U00020000\U00030001", "\U00020000\U00030001 \U00030001"),
        ("ｶﾀｶﾅ", "カタ タカ カナ ナ"),
        ("か\u3099", "が"),
        ("㈱", "( 株 )"),
    ],
)
def test_cjk_is_parted_in_pairs(text, expected):
    assert expand_for_index(text).partition("\n")[0].split() == expected.split()


def test_widths_ligatures_and_accents_do_not_matter():
    assert expand_for_index("\uff21\uff22\uff23 ﬁne cafe\u0301") == expand_for_index("ABC fine café")


def test_what_is_added_comes_after_the_text_so_that_neighbours_stay_neighbours():
    assert expand_for_index("call getUserById now").startswith("call getUserById now\n")


def test_the_terms_of_a_query_are_those_of_a_text():
    assert asked("getUserById2") == ["getuserbyid2", "get", "user", "by", "id", "2"]
    assert asked("get_user_by_id_2") == [
        "get", "user", "by", "id", "2", "getuserbyid2", "get user", "user by", "by id", "id 2",
    ]  # fmt: skip
    assert asked("Cancelled, CANCELLING!") == ["cancelled", "cancel", "cancelling", "cancelled cancelling"]
    assert asked("数据 数") == ["数据", "数*"]
    assert asked("don't") == ["don", "t", "don t"]


def test_words_are_asked_for_side_by_side_too():
    assert asked("sort a list") == ["sort", "a", "sort a", "list", "a list"]
    assert asked("sort 数 list") == ["sort", "数*", "list"]


def test_a_run_of_cjk_that_may_be_a_word_is_asked_for_as_a_whole_too():
    assert asked("数据库") == ["数据", "据库", "数据 据库"]
    assert "数据 据库 库的 的连 连接 接不 不上" in asked("数据库的连接不上")
    assert all(" " not in term for term in asked("数据库的连接不上了"))


def test_terms_for_which_others_stand_say_so():
    composed = {term.text for term in query_terms("getUserById cancelled flight 数据库") if term.is_composed}
    assert composed == {"getuserbyid", "cancelled", "getuserbyid cancelled", "cancelled flight", "数据 据库"}


@pytest.mark.parametrize("text", ["", "  ", '"', "()*:^-+", "\0", "\ud800", "🙂", "_-_", "'; --"])
def test_what_has_no_words_asks_for_nothing(text):
    assert asked(text) == []


def test_a_long_query_asks_for_its_beginning():
    terms = asked(" ".join(f"word{i}x" for i in range(100_000)))
    assert len(terms) == MAX_TERMS
    assert terms[:2] == ["word0x", "word"]
    assert len(asked("x" * 1_000_000)[0]) == MAX_QUERY_CHARACTERS


def test_the_same_text_says_the_same_in_every_version_of_this_schema():
    """Else what is in the index could not be taken out again: to change it is a new schema that indexes again."""
    said = expand_for_index(EVERYTHING) + expand_for_index("".join(map(chr, range(0x20, 0xD800))))
    assert hashlib.sha256(said.encode()).hexdigest() == (
        "ba91b0351d42d0b53318ad4ce4fdde212cb07d1dd18b0bdf4c6f31abe4350960"
    )


@given(st.text())
@example('aA" OR * \0' * 50)
@example("İstanbul ǅ \u017f ϓ ½ ⅷ")
def test_no_term_holds_what_a_query_language_could_read(text):
    terms = query_terms(text)
    for term in terms:
        assert term.text
        assert not re.search(r'[\s"\'*^:+(){}\0-]', term.text.replace(" ", ""))
    assert len({term.text for term in terms}) == len(terms) <= MAX_TERMS


BLOCKS = ((0x20, 0x250), (0x300, 0x316), (0x3B1, 0x3CA), (0x400, 0x460), (0x5D0, 0x5EB), (0x627, 0x64B), (0x905, 0x93A))
CJK = ((0x3041, 0x3097), (0x30A1, 0x30FD), (0x4E00, 0x4E30), (0xAC00, 0xAC30), (0xFF01, 0xFF9E), (0x20000, 0x20010))
SCRIPTS = [chr(code) for block in (*BLOCKS, *CJK, (0x1F600, 0x1F610)) for code in range(*block)]


@given(st.text(alphabet=st.sampled_from([*SCRIPTS, *'aAbB09_- .\n\0"*'])))
@example("a\u030bb İstanbul")
def test_a_text_is_found_by_each_of_its_terms(text):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')")
    connection.execute("INSERT INTO texts VALUES (?)", (expand_for_index(text),))
    missed = [
        term
        for term in query_terms(text)
        if not connection.execute(
            "SELECT 1 FROM texts WHERE texts MATCH ?", (f'"{term.text}"' + "*" * term.is_prefix,)
        ).fetchall()
    ]
    connection.close()
    assert missed == []
