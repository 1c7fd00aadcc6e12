"""Where a text holds a question's words, the passage that is shown of it, and the card around that."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import atlas
from atlas.core.hits import Hit
from atlas.core.types import Strategy
from atlas.testing import HashEmbedder
from atlas.views.ask.cards import hit_card_of
from atlas.views.lists import highlighting
from atlas.views.lists.highlighting import LOOKED_AT, PASSAGE_CHARACTERS, Passage, Source, matched_spans, passage_of
from atlas.views.lists.hits import HitCard, bar_of, hit_card
from tests.support.records import attempt

SIGNALS = {"meaning": 0.3, "words": 0.2, "success": 0.02, "use": 0.005, "recency": 0.003, "pin": 0.0}
HOSTILE = "<script>alert(1)</script><img src=x onerror='egg()'> [egg](javascript:1) $$egg$$ \u202eegg\u202c"


MATCHES = [
    ("Cancelled reservations", "cancel the reservation", ["Cancelled", "reservations"]),
    ("call getUserById here", "get_user_by_id", ["getUserById"]),
    ("call get_user_by_id here", "getUserById", ["get_user_by_id"]),
    ("call get_user_by_id here", "user", ["user"]),
    ("a slow-cooked stew", "cooking", ["cooked"]),
    ("the HTTPServerError of the server", "servers", ["HTTPServerError", "server"]),
    ("東京都庁に行く", "東京", ["東京"]),
    ("東京都庁に行く", "東京都", ["東京都"]),
    ("黒猫cat、猫", "猫", ["猫", "猫"]),
    ("ｶﾞﾗｽの窓", "ガラス", ["ｶﾞﾗｽ"]),
    ("data数据库", "数据库 data", ["data数据库"]),
    (
        "Café \uff21\uff30\uff29 ﬁne e\u0301te\u0301",
        "cafe api fine été",
        ["Café", "\uff21\uff30\uff29", "ﬁne", "e\u0301te\u0301"],
    ),
    ("👩‍👩‍👧‍👦 eggs 🥚", "egg", ["eggs"]),
    ("Straße, ПРИВЕТ", "straße привет", ["Straße", "ПРИВЕТ"]),
    ("nothing of it", "egg", []),
    ("an egg of the hen", "the egg of a hen", ["egg", "hen"]),
    ("to be or not", "to be", ["to", "be"]),
    ("egg", "", []),
    ("", "egg", []),
    ('"or" NEAR (egg*)', 'NOT "NEAR" (', ["NEAR"]),
]
"""Texts, questions, and what of the text is asked for."""


@pytest.mark.parametrize(("text", "query", "expected"), MATCHES)
def test_words_match_as_the_stores_search_matches_them(text, query, expected):
    assert [text[start:end] for start, end in matched_spans(text, query)] == expected


def test_the_stores_search_finds_what_is_highlighted(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as memory:
        ids = memory.experience.store_many(attempt(text or "empty") for text, _, _ in MATCHES)
        for experience_id, (_, query, expected) in zip(ids, MATCHES, strict=True):
            found = [experience.id for experience in memory.experience.search_words(query, len(MATCHES))]
            assert (experience_id in found) == bool(expected)


@given(st.text(), st.text())
def test_spans_are_in_order_and_apart_whatever_the_text_is(text, query):
    spans = matched_spans(text, query)
    bounds = [place for span in spans for place in span]
    assert bounds == sorted({*bounds})
    assert all(0 <= place <= len(text) for place in bounds)


@given(st.text(max_size=900), st.text(max_size=30))
def test_the_pieces_of_a_passage_are_the_passage(text, query):
    passage = passage_of([Source("Task", text)], query)
    assert "".join(piece for piece, _ in passage.pieces) == passage.text
    assert len(passage.text) <= PASSAGE_CHARACTERS


def test_a_short_text_is_shown_whole():
    passage = passage_of([Source("Task", "Boil\n\n  an   egg.")], "egg")
    assert passage.text == "Boil\nan egg."
    assert not passage.is_cut_before
    assert not passage.is_cut_after


def test_a_passage_begins_with_the_sentence_around_the_words():
    text = f"{'Alpha beta gamma. ' * 60}Then the egg is boiled. It was good. {'Delta epsilon zeta. ' * 60}"
    passage = passage_of([Source("Task", text)], "boil an egg")
    assert marked(passage) == ["egg", "boiled"]
    assert passage.text.startswith("Alpha beta gamma.")
    assert passage.text.endswith("zeta.")
    assert passage.is_cut_before
    assert passage.is_cut_after


def test_the_passage_with_most_of_the_words_is_shown_rather_than_the_first():
    text = f"An egg. {'Alpha beta. ' * 60}Boil the egg in a pan. {'Alpha beta. ' * 60}"
    assert marked(passage_of([Source("Task", text)], "boil egg pan")) == ["Boil", "egg", "pan"]


def test_without_a_match_the_beginning_of_the_first_text_is_shown():
    sources = [Source("Task", f"First of all. {'Alpha beta. ' * 60}"), Source("Solution", "x")]
    passage = passage_of(sources, "egg")
    assert (passage.name, passage.spans, passage.is_cut_before) == ("Task", (), False)
    assert passage.text.startswith("First of all.")


def test_a_text_without_spaces_is_cut_where_it_has_to_be():
    passage = passage_of([Source("Task", "x" * 100_000)], "x")
    assert len(passage.text) == PASSAGE_CHARACTERS
    assert marked(passage_of([Source("Task", f"{'鶏' * 900}卵を茹でる")], "卵")) == ["卵"]


def test_only_the_beginning_of_a_huge_text_is_looked_at():
    text = f"{'word ' * LOOKED_AT}egg"
    assert matched_spans(text, "egg") == ()


@pytest.mark.parametrize(("text", "query"), [("Boil the eggs.", "egg"), ("He studies law.", "study"), ("煮卵", "卵")])
def test_words_that_stand_late_in_a_huge_text_are_shown_where_its_beginning_holds_none(text, query):
    passage = passage_of([Source("Task", f"{'Alpha beta. ' * LOOKED_AT}{text}{' Alpha beta.' * 9}")], query)
    (word,) = marked(passage)
    assert word in text
    assert (passage.is_cut_before, passage.is_cut_after) == (True, False)
    assert len(passage.text) <= PASSAGE_CHARACTERS


def test_a_huge_text_without_the_words_begins_at_its_beginning():
    text = f"First of all. {'party ' * LOOKED_AT}"
    passage = passage_of([Source("Task", text)], "art")
    assert (passage.spans, passage.is_cut_before) == ((), False)
    assert passage.text.startswith("First of all.")


@given(st.text("数据库日本かがﾊﾟ㎏あ゙é中a1_-。 \u0301\u3099", max_size=14), st.text("数据库かが゙中a", max_size=5))
def test_cjk_is_found_alike_whether_a_normalisation_changes_the_text_or_not(text, query):
    asked = highlighting._query_words(query)
    if unicodedata.is_normalized("NFKC", text) and not highlighting._MARKS.search(text):
        found = (highlighting._in_letters(text, asked), highlighting._in_characters(text, asked))
        assert len({tuple(highlighting._merge_spans(spans)) for spans in found}) == 1


def test_a_card_keeps_hostile_text_as_the_text_that_it_is():
    card = card_of(HOSTILE, "egg")
    sent = json.loads(json.dumps(card.as_json()))
    assert "".join(text for text, _ in sent["pieces"]) == HOSTILE
    assert [text for text, is_match in sent["pieces"] if is_match] == ["egg"] * 4


def test_the_parameters_of_a_strategy_are_sent_with_its_card(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings()) as memory:
        memory.strategies.add(
            Strategy(
                title="Feeds", situation="An import of {table}", suggestion="Wait", parameters=({"name": "table"},)
            )
        )
        [hit] = memory.strategies.retrieve("import", 1, threshold=0.0).hits
        card = hit_card_of(memory, "strategies", hit, "import", atlas.RankingWeights())
    assert card.as_json()["parameters"] == ["table"]


def test_a_title_is_left_out_where_the_passage_begins_with_it():
    assert card_of("Boil an egg in a pan", "egg").title == ""
    other = card_of("Read the log", "egg", Source("Feedback", "The egg was soft"))
    assert (other.title, other.passage.name) == ("Read the log", "Feedback")
    assert len(card_of("Read it. " * 99, "egg", Source("Feedback", "The egg was soft")).title) <= 160


def test_signals_are_parts_of_one_bar_and_add_up():
    bar = bar_of(SIGNALS, 1.04)
    assert bar.total == pytest.approx(0.528)
    assert sum(segment.width for segment in bar.segments) == pytest.approx(0.528 / 1.04)
    ends = [segment.start + segment.width for segment in bar.segments]
    assert [segment.start for segment in bar.segments] == pytest.approx([0.0, *ends[:-1]])
    assert bar.zero == 0
    assert bar.sentence.startswith("Rank value 0.528: meaning 0.300, words 0.200, success 0.020")


def test_a_meaning_below_zero_lies_to_the_left_of_the_zero_line():
    bar = bar_of({"meaning": -0.1, "words": 0.3, "pin": 0.005}, 0.9)
    meaning, words, pin = bar.segments
    assert (meaning.start, meaning.width) == (0, pytest.approx(0.1))
    assert [words.start, bar.zero] == pytest.approx([0.1, 0.1])
    assert pin.start == pytest.approx(0.4)
    assert bar.total == pytest.approx(0.205)
    drawn = card_of("egg", "egg", signals={"meaning": -0.1, "words": 0.3}).as_json()["bar"]["segments"]
    assert [(part["value"], part["below"]) for part in drawn] == [("−0.100", True), ("0.300", False)]


@pytest.mark.parametrize("signals", [{}, {"meaning": 0.0}, {"meaning": 3.0, "words": 0.5}, {"meaning": -2.0}])
def test_a_bar_is_never_longer_than_its_place(signals):
    bar = bar_of(signals, 1.0)
    assert all(part.start >= 0 and part.start + part.width <= 1 + 1e-9 for part in bar.segments)
    assert bar_of({}, 0.0).segments == ()


def test_a_card_of_several_attempts_tells_how_all_of_them_went():
    card = card_of("egg", "egg", outcomes={"failed": 1, "succeeded": 1203, "unknown": 0})
    assert card.attempts == "1,204 attempts: 1,203 succeeded, 1 failed"
    assert card_of("egg", "egg").attempts == ""


def test_a_passage_that_begins_with_the_title_stands_for_it():
    card = card_of("egg", "egg")
    assert (card.title, card.is_titled, card.as_json()["is_titled"]) == ("", False, False)
    boiled = card_of("breakfast", "egg", Source("Solution", "boil the egg"))
    assert (boiled.title, boiled.is_titled) == ("breakfast", True)


def card_of(title: str, query: str, *sources: Source, signals=SIGNALS, outcomes=None) -> HitCard:
    """The card of a hit whose first text is its title."""
    hit = Hit(
        item="a", similarity=0.5, meaning=0.4, words=0.2, relevance=0.6, signals=signals,
        outcomes=outcomes or {"succeeded": 1},
    )  # fmt: skip
    named = (Source("Task", title), *sources)
    return hit_card(hit, id="a", title=title, sources=named, query=query)


def marked(passage: Passage) -> list[str]:
    """What of a passage is highlighted."""
    return [text for text, is_match in passage.pieces if is_match]


def test_common_words_are_not_marked_whatever_their_stems_are():
    question = "The stock feed has far fewer rows than it was: does this happen?"
    text = "The size of a feed has not changed, and this was so before"
    assert [text[start:end] for start, end in matched_spans(text, question)] == ["feed"]
    text = "It's a feed"
    assert [text[start:end] for start, end in matched_spans(text, "the supplier's feed")] == ["feed"]
