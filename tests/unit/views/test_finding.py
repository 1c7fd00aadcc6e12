"""What a question finds, how it is counted, and the card of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.experience.list import ExperienceRow
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.hits import HitCard
from atlas.views.lists.listing import found_page
from atlas.views.lists.palette import MAX_RECORDS, found_records
from atlas.views.lists.queries import Query, SearchResult, search
from atlas.views.shared.scope import BEST_MATCH, WORDS, scope_with
from tests.support.records import attempt, attempts


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=atlas.Settings()) as memory:
        yield memory


def test_a_search_says_how_relevant_each_is_and_why_it_stands_where_it_does(memory):
    memory.experience.store_many([attempt("boil an egg"), attempt("boil an egg", success=False, agent="b")])
    found = rows(memory, query("boil an egg"))
    assert caption(memory, query("boil an egg")) == "2 of 2 experiences are relevant, best first"
    assert [row.outcomes for row in found] == [("✓ succeeded",), ("✗ failed",)]
    assert all((row.relevance or 0) > 0.5 for row in found)
    assert "moved it up" in found[0].why
    assert "Success" in found[0].why
    assert "Success" not in found[1].why


def test_what_has_nothing_to_do_with_the_question_is_listed_only_when_asked_for(memory):
    memory.experience.store_many([attempt("boil an egg"), attempt("file the tax return")])
    assert caption(memory, query("qqq zzz")) == "Nothing relevant among 2 experiences, 2 not shown"
    every = replace(query("qqq zzz"), with_irrelevant=True)
    assert caption(memory, every) == "The 2 nearest among 2 experiences, relevant or not, best first"
    assert len(search(memory, EXPERIENCE, every).ids) == 2
    assert caption(memory, query("egg")) == "1 of 2 experiences is relevant, best first · 1 less relevant one not shown"


def test_of_more_than_are_ever_listed_only_the_nearest_are_counted_as_hidden(memory):
    memory.experience.store_many(attempts(201))
    assert caption(memory, query("qqq zzz")) == "Nothing relevant among 201 experiences, 200+ not shown"


def test_looking_counts_as_no_retrieval(memory):
    experience_id = memory.experience.store(attempt("boil an egg"))
    found = search(memory, EXPERIENCE, query("boil an egg"))
    EXPERIENCES.found_card(memory, query("boil an egg"), found, experience_id)
    memory.close()
    assert memory.experience.usage([experience_id])[experience_id].n_retrieved == 0


@pytest.mark.parametrize("by", [BEST_MATCH, WORDS])
def test_a_search_stays_within_the_scope_and_shows_what_is_buried(memory, by):
    _, buried = memory.experience.store_many([attempt("boil an egg", source="a"), attempt("boil an egg", source="b")])
    memory.experience.change_marks([buried], buried=True)
    assert [row.source for row in rows(memory, query("egg", by=by, sources=("b",)))] == ["b"]


@pytest.mark.parametrize("by", [BEST_MATCH, WORDS])
def test_a_scope_by_something_that_no_experience_has_says_so(memory, by):
    memory.experience.store(attempt("boil an egg"))
    note = " · No record has 'source' yet, so nothing passes the filter on it."
    assert caption(memory, query("egg", by=by, sources=("b",))).endswith(note)


def test_attempts_at_one_task_that_are_alike_are_one_row_that_tells_all_outcomes(memory):
    eggs = [attempt("boil an egg", task_id="egg", success=n != 2, agent=str(n)) for n in range(4)]
    ids = memory.experience.store_many([*eggs, attempt("boil an egg in milk", task_id="milk")])
    asked = replace(query("boil an egg"), distinct=True)
    found = search(memory, EXPERIENCE, asked)
    shown = rows(memory, asked)
    assert [row.outcomes for row in shown] == [("✓ 3 succeeded", "✗ 1 failed"), ("✓ succeeded",)]
    assert [row.id for row in shown] == [*found.ids]
    assert ids[2] not in found.ids
    assert caption(memory, asked) == "5 of 5 experiences are relevant, shown as 2, best first"
    assert caption(memory, replace(asked, with_irrelevant=True)).startswith("The 5 nearest among 5 experiences")


def test_rows_of_a_search_for_distinct_ones_fill_its_pages(memory):
    memory.experience.store_many(
        attempt(f"mend report {n // 2}", task_id=f"task-{n // 2}", agent=str(n)) for n in range(60)
    )
    asked = replace(query("mend report"), distinct=True, with_irrelevant=True)
    found = search(memory, EXPERIENCE, asked)
    pages = [found_page(memory, EXPERIENCES, asked, found, page).rows for page in (1, 2)]
    assert [len(page) for page in pages] == [25, 5]
    assert {row.outcomes for page in pages for row in page} == {("✓ 2 succeeded",)}


def test_a_card_shows_where_the_words_are_and_what_its_place_is_made_of(memory):
    memory.experience.store(attempt("Boil an egg", feedback="too soft"))
    shown = card(memory, replace(query("boiled eggs"), with_irrelevant=True))
    assert marked(shown) == ["Boil", "egg"]
    assert (shown.title, shown.passage.name, shown.badge.text) == ("", "Task", "✓ succeeded")
    assert shown.bar is not None
    assert shown.bar.total == pytest.approx(sum(segment.value for segment in shown.bar.segments))
    assert shown.sentence.startswith("Relevance ")


@pytest.mark.parametrize(("text", "name"), [("parse_date", "Solution"), ("daylight saving", "Feedback")])
def test_a_card_says_in_which_text_the_words_are(memory, text, name):
    memory.experience.store(
        attempt("Read the log", solution="return parseDate(line)", feedback="It forgot daylight saving time.")
    )
    shown = card(memory, replace(query(text), with_irrelevant=True))
    assert shown.passage.name == name
    assert marked(shown)
    assert shown.title == "Read the log"


def test_a_card_of_a_search_by_words_has_a_passage_and_no_signals(memory):
    memory.experience.store(attempt("Boil an egg"))
    shown = card(memory, query("egg", by=WORDS))
    assert marked(shown) == ["egg"]
    assert (shown.relevance, shown.bar, shown.sentence, shown.attempts) == (None, None, "", "")


def test_a_long_text_shows_the_passage_that_is_nearest(tmp_path):
    text = f"{'alpha beta gamma delta ' * 20}Then boil the egg. {'epsilon zeta eta theta ' * 20}"
    embedder = HashEmbedder(window_words=24)
    with atlas.open_memory(tmp_path / "long", embedder=embedder, settings=atlas.Settings()) as memory:
        memory.experience.store(attempt(text))
        shown = card(memory, replace(query("boil the egg"), with_irrelevant=True))
    assert shown.passage.name == "Nearest passage"
    assert marked(shown) == ["boil", "egg"]
    assert shown.passage.is_cut_before
    assert shown.passage.is_cut_after


def test_there_is_no_card_of_what_is_gone(memory):
    assert EXPERIENCES.found_card(memory, query("egg"), SearchResult(ids=()), "nothing") is None


def query(text: str, **values) -> Query:
    """A question, and what it is asked among."""
    scope = scope_with(text=text, **values)
    return Query(text=scope.text, by=scope.by, where=scope.where())


def rows(memory, asked: Query) -> tuple[ExperienceRow, ...]:
    """The first page of what a search finds."""
    return found_page(memory, EXPERIENCES, asked, search(memory, EXPERIENCE, asked)).rows


def caption(memory, asked: Query) -> str:
    """What stands above what a search finds."""
    return found_page(memory, EXPERIENCES, asked, search(memory, EXPERIENCE, asked)).caption


def card(memory, asked: Query) -> HitCard:
    """The card of the first that a search finds."""
    result = search(memory, EXPERIENCE, asked)
    shown = EXPERIENCES.found_card(memory, asked, result, result.ids[0])
    assert shown is not None
    return shown


def marked(shown: HitCard) -> list[str]:
    """What a card highlights."""
    return [text for text, is_match in shown.passage.pieces if is_match]


def test_the_palette_finds_records_of_every_kind_by_the_beginning_of_a_word(memory):
    (egg,) = memory.experience.store_many([attempt("boil an egg\nin   a pot")])
    memory.experience.store_many([attempt(f"paint door {n}") for n in range(MAX_RECORDS + 3)])
    strategy = memory.strategies.add(atlas.Strategy(situation="Eggs burst", suggestion="Prick the egg"))
    found = found_records(memory, "eg")
    assert [(entry.page, entry.parameters) for entry in found] == [
        ("experiences", {"id": egg}),
        ("strategies", {"id": strategy}),
    ]
    assert found[0].label == "boil an egg in a pot"
    assert len(found_records(memory, "door")) == MAX_RECORDS
    assert memory.experience.usage([egg])[egg].n_retrieved == 0
