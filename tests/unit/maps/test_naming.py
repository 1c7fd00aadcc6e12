"""Names of domains: what a person would call them."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.maps.naming import DomainTerms, name_domains, number_by_template, prose, unique_names

PEOPLE = ["Anya Garcia", "Omar Silva", "Lucas Brown"]


def telling(*domains: list[str]) -> list[DomainTerms]:
    """What tells most of domains, given the texts of each."""
    texts = [text for domain in domains for text in domain]
    labels = np.repeat(np.arange(len(domains)), [len(domain) for domain in domains]).astype(np.int32)
    found = name_domains(texts, labels)
    return [found[number] for number in sorted(found)]


def named(*domains: list[str]) -> list[tuple[str, ...]]:
    """The words of domains, given the texts of each."""
    return [of.terms for of in telling(*domains)]


def test_names_and_codes_of_people_name_no_domain():
    flights = [f"You are {name} ({name.lower().replace(' ', '_')}_59{i}). Cancel the flight" for i, name in
               enumerate(PEOPLE * 3)]  # fmt: skip
    tables = ["Index the Postgres table of bookings", "The Postgres table is slow"] * 4
    (of_flights, of_tables) = named(flights, tables)
    assert of_flights == ("cancel", "flight")
    assert {"postgres", "table"} <= {*of_tables}


def test_code_amid_a_task_names_no_domain():
    task = "Find the largest number. def big_num(nums: List[int]) -> int"
    assert prose(task).text.split() == ["Find", "the", "largest", "number."]
    assert prose("run `git_log()` at https://example.com/x_y now").text.split() == ["run", "at", "now"]
    assert prose("Count vowels.\n>>> count('bcdf')\n2").text.split() == ["Count", "vowels.", "2"]
    assert prose("def only(code: int)").text == "def only(code: int)"


def test_forms_of_one_word_stand_once():
    (words, _) = named(["sort the sorted letters by ascending order"] * 5, ["paint a grid"] * 5)
    assert not {"sort", "sorted"} <= {*words}


def called(*names: str, terms: tuple[str, ...] = ()) -> DomainTerms:
    return DomainTerms(terms=terms, names=names)


def test_domains_of_the_same_name_take_another_one_or_are_numbered():
    same = called("household tasks")
    choosing = {0: same, 3: called("household tasks", "cleaning mugs"), 5: called("flights"), 6: same}
    assert unique_names(choosing, reserved=["flights"]) == {
        0: "household tasks",
        3: "cleaning mugs",
        5: "flights (2)",
        6: "household tasks (2)",
    }


def test_a_domain_without_a_phrase_is_named_by_its_words_or_its_number():
    assert unique_names({0: called(terms=("refund", "seat", "fee")), 2: called()}) == {
        0: "refund and seat",
        2: "Domain 3",
    }


AGAINST = [f"Paint the {colour} grid" for colour in ("red", "blue", "green", "black", "grey")]


@pytest.mark.parametrize(
    ("tasks", "name"),
    [
        (
            [
                "You want to cancel all of your upcoming flights, whatever the agent says",
                "You are upset. Cancel the upcoming flight to Boston",
                "Please cancel two upcoming flights and get a refund",
            ],
            "cancelling upcoming flights",
        ),
        (
            [f"Write a function to find the surface area of {solid}" for solid in ("a cube", "a cone", "the ball")],
            "surface area",
        ),
        (
            [f"Nightly run {n}: rebuild the search index after the import" for n in range(5)],
            "rebuilding search index",
        ),
        (
            [
                "You are contacting to complain about your delayed flight",
                "Complain about a delayed flight",
                "You want to complain about delayed flights",
            ],
            "complaining about delayed flights",
        ),
        (["Sort a list", "Sort the list at once", "Write a function to sort a given list"], "sorting lists"),
        (["Flatten a nested list", "Interleave lists of lists"], "flattening nested lists"),
        (["Check the parity", "Check whether a parity is valid", "Check the parity of it"], "checking parities"),
        (
            [
                "Check the marked string and print it",
                "Match the string that begins with a",
                "Check strings for an a",
                "Write a function that matches a string",
            ],
            "checking and matching strings",
        ),
        (
            ["Fix the search page", "Why is the search page slow?", "Restyle the search page", "The footer is grey"],
            "search page",
        ),
        (
            ["The job runs in a pipeline", "Restart a job", "Why is the job late?", "The pipeline of a job is red"],
            "jobs and pipelines",
        ),
        (
            ["Sort the rows by age", "Index a table", "Sort all rows", "Index this table"],
            "sorting rows and indexing tables",
        ),
    ],
)
def test_a_domain_is_named_as_a_person_would(tasks, name):
    (found, _) = telling(tasks, AGAINST)
    assert found.names[0] == name


def test_two_phrases_of_another_language_are_joined_without_an_english_word():
    (found, _) = telling(
        ["Rechnung an Kunden", "Rechnung fehlt", "Kunden ohne Rechnung", "Fahrrad der Kunden", "Kunden ohne Fahrrad"]
        * 2,
        ["Bild malen", "Bild drehen", "Bild mit Rahmen"],
    )
    assert not [name for name in found.names if " and " in name]


def test_a_place_is_no_half_of_a_name():
    (found, _) = telling(
        ["Send the reminders", "Add the counts in Bergen", "Use the counts", "Stop the reminders in Bergen"], AGAINST
    )
    assert found.names[0] == "counts and reminders"


def test_what_a_task_does_not_want_names_nothing():
    (found, _) = telling(["Book a seat. Do not cancel the flight", "Book seats, never cancel flights"], AGAINST)
    assert found.names[0] == "booking seats"
    assert not [name for name in found.names if "cancel" in name or "flight" in name]


def test_no_name_holds_a_persons_name_a_place_a_code_or_a_call():
    tasks = [f"Cancel reservation XK{n}ZU of {name} from Boston to `call(x)`" for n, name in enumerate(PEOPLE)]
    tasks += ["Cancel a reservation HXDUBJ from Boston"]
    (found, _) = telling(tasks, AGAINST)
    assert set(found.names) == {"cancelling reservations", "reservations"}


def test_groups_that_differ_in_numbers_only_are_one_domain():
    texts = [*(f"Household task env_{n}" for n in range(6)), "Sort a list", "Sort the rows"]
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2], np.int32)
    assert number_by_template(texts, labels) == {0: 0, 1: 0, 2: 2}
