"""Names of domains: what a person would call them."""

from __future__ import annotations

import numpy as np

from atlas.maps.naming import DomainTerms, domain_name, name_domains, prose, unique_names

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
    assert prose("def only(code: int)").text == "def only(code: int)"


def test_forms_of_one_word_stand_once():
    (words, _) = named(["sort the sorted letters by ascending order"] * 5, ["paint a grid"] * 5)
    assert not {"sort", "sorted"} <= {*words}


def test_domains_of_the_same_words_are_told_apart():
    same = ("household", "task")
    assert unique_names({0: same, 3: same, 5: ("flight",), 6: same}, reserved=["flight"]) == {
        0: "household · task",
        3: "household · task (2)",
        5: "flight (2)",
        6: "household · task (3)",
    }


CUBES = [f"Find the surface area of {solid}" for solid in ("a cube", "cubes", "one cube", "a cube or cone", "the cube")]


def test_words_that_stand_together_are_a_phrase_in_the_name():
    (cubes, _) = telling(CUBES, ["paint a grid"] * 5)
    assert set(cubes.terms[:3]) == {"area", "cube", "surface"}
    assert domain_name(0, cubes.parts) == "surface area · cube"


def test_a_phrase_is_spelled_as_it_mostly_is():
    (tables, _) = telling([f"{one} are slow" for one in ["The Postgres tables"] * 3 + ["Postgres table"]], ["grid"] * 4)
    assert "Postgres tables" in tables.parts


def test_a_word_that_mostly_stands_alone_stays_alone():
    texts = ["Compute the area"] * 40 + ["The area code of a town"] * 3
    (areas, _) = telling(texts, ["paint a grid"] * 43)
    assert areas.parts[0] == "area"


def test_no_phrase_crosses_a_stop_or_holds_a_persons_name_or_code():
    texts = [f"Cancel, please. Flight of {name} to `api_call(x)` refund" for name in PEOPLE * 3]
    (flights, _) = telling(texts, ["paint a grid"] * 9)
    assert sorted(flights.parts) == ["cancel", "flight", "refund"]
