"""The list of experiences by task: which attempts are one line, in which order, and what a line shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import atlas
from atlas.core.types import Strategy
from atlas.testing import HashEmbedder
from atlas.views.experience.experience import experience_detail
from atlas.views.experience.kind import EXPERIENCES
from atlas.views.experience.list import ExperienceRow
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.cells import table_as_json
from atlas.views.lists.listing import listed_page
from atlas.views.lists.queries import Query
from atlas.views.shared.wording import NO_BREAK, history_text
from tests.support.records import attempt

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=atlas.Settings()) as memory:
        yield memory


def stored(memory, *attempts_at: tuple[str, bool | None]) -> list[str]:
    """Store attempts at tasks, an hour apart, and return their ids."""
    return memory.experience.store_many(
        attempt(f"task {task}", task_id=task, success=success, agent=str(n), at=START + timedelta(hours=n))
        for n, (task, success) in enumerate(attempts_at)
    )


def test_attempts_name_their_agents_where_the_store_has_several(memory):
    memory.experience.store(attempt("egg", agent="ann", task_id="egg", at=START))
    assert agents_listed(memory) == [""]
    for hours, name in enumerate(("bob", "cid"), start=1):
        memory.experience.store(attempt("egg", agent=name, task_id="egg", at=START + timedelta(hours=hours)))
    memory.experience.store(attempt("milk", agent="bob", task_id="milk"))
    assert sorted(agents_listed(memory)) == ["bob", "cid +2"]


def agents_listed(memory) -> list[str]:
    return [row.agents for row in listed_page(memory, EXPERIENCES, Query(distinct=True)).rows]


def test_a_line_shows_the_agent_and_the_outcome_of_the_attempt_that_it_opens(memory):
    stored(memory, ("egg", False), ("egg", None), ("egg", True))
    latest, first = (
        listed_page(memory, EXPERIENCES, Query(distinct=True, order=order)).rows[0] for order in ("", "Oldest first")
    )
    assert [(row.agents, row.outcomes, row.history) for row in (latest, first)] == [
        ("2 +2", ("✓ succeeded",), "after ✗ ?"),
        ("0 +2", ("✗ failed",), "also ? ✓"),
    ]
    assert latest.hints == {"agents": "Also 0, 1"}


def test_attempts_at_a_task_are_one_line_with_the_outcome_of_the_latest(memory):
    ids = stored(memory, ("egg", False), ("milk", True), ("egg", None), ("egg", True))
    listing = listed_page(memory, EXPERIENCES, Query(distinct=True))
    assert [(row.id, row.outcomes, row.history, row.ids) for row in listing.rows] == [
        (ids[3], ("✓ succeeded",), "after ✗ ?", (ids[0], ids[2], ids[3])),
        (ids[1], ("✓ succeeded",), "", (ids[1],)),
    ]
    assert (listing.n, listing.n_records) == (2, 4)
    assert listing.caption.startswith("2 tasks, a row each · 4 attempts · 67% of 3 succeeded")


def test_tasks_of_one_id_in_two_domains_are_two_lines(memory):
    flight, retail, again = memory.experience.store_many(
        replace(made, task=replace(made.task, domain=domain))
        for domain, made in (
            (domain, attempt(f"{domain} {n}", task_id="7", success=True, agent=str(n), at=START + timedelta(hours=n)))
            for n, domain in enumerate(("flight", "retail", "flight"))
        )
    )
    listing = listed_page(memory, EXPERIENCES, Query(distinct=True))
    assert [row.ids for row in listing.rows] == [(flight, again), (retail,)]
    assert listing.caption.startswith("2 tasks, a row each · 3 attempts")
    assert [attempt.id for attempt in experience_detail(memory, flight).attempts] == [flight, again]


def test_a_line_stands_where_the_first_of_its_attempts_would(memory):
    ids = stored(memory, ("egg", False), ("milk", True), ("egg", True))
    listing = listed_page(memory, EXPERIENCES, Query(distinct=True, order="Oldest first"))
    assert [row.id for row in listing.rows] == [ids[0], ids[1]]


def test_attempts_outside_the_filter_are_no_part_of_a_line(memory):
    ids = stored(memory, ("egg", False), ("egg", True), ("egg", True))
    listing = listed_page(memory, EXPERIENCES, Query(distinct=True, where={"outcome": "succeeded"}))
    assert [row.ids for row in listing.rows] == [(ids[1], ids[2])]
    assert listing.caption.startswith("1 task, a row each · 2 of 3 attempts")


def test_experiences_without_a_task_id_are_lines_of_their_own(memory):
    stored(memory, ("", True), ("", False))
    assert [row.outcomes for row in listed_page(memory, EXPERIENCES, Query(distinct=True)).rows] == [
        ("✗ failed",), ("✓ succeeded",),
    ]  # fmt: skip


def test_pages_hold_tasks_not_attempts(memory):
    stored(memory, *((str(n // 2), True) for n in range(60)))
    pages = [listed_page(memory, EXPERIENCES, Query(distinct=True), page).rows for page in (1, 2)]
    assert [len(rows) for rows in pages] == [25, 5]
    assert {len(row.ids) for rows in pages for row in rows} == {2}


def test_many_other_attempts_are_counted_by_outcome():
    assert history_text(["failed"] * 2 + ["succeeded"] * 3, is_last=True) == "after ✓ 3 ✗ 2"
    assert history_text(["failed"] * 2 + ["succeeded"] * 2, is_last=False) == "also ✗ ✗ ✓ ✓"


def test_an_outcome_of_another_library_counts_as_unknown(memory, monkeypatch):
    ids = stored(memory, ("egg", False), ("egg", True))
    browse = memory.experience.browse

    def with_other_outcome(*arguments: Any, **given: Any) -> list[dict[str, Any]]:
        rows = browse(*arguments, **given)
        return [{**row, "metadata": {**row["metadata"], "outcome": "weird"}} for row in rows]

    monkeypatch.setattr(memory.experience, "browse", with_other_outcome)
    (row,) = listed_page(memory, EXPERIENCES, Query(distinct=True)).rows
    assert (row.outcomes, row.history, {*row.ids}) == (("? unknown",), "after ?", {*ids})


def test_a_line_counts_the_attempts_with_memory_and_a_record_names_what_it_used(memory):
    used = memory.strategies.add(Strategy(situation="boil an egg", suggestion="Wait.", title="Wait six minutes"))
    for n, ids in enumerate(([], [used], [used])):
        task_id = "milk" if n == 2 else "egg"
        made = attempt(task_id, task_id=task_id, agent=str(n), at=START + timedelta(hours=n), used={"strategies": ids})
        memory.store(made)
    rows = listed_page(memory, EXPERIENCES, Query(distinct=True)).rows
    assert [row.memory.replace(NO_BREAK, " ") for row in rows] == ["used", "used in 1 of 2"]
    latest, *_, first = listed_page(memory, EXPERIENCES, Query()).rows
    assert (latest.memory, first.memory) == ("used", "")
    assert [(link.kind.noun, link.title, link.record) for link in experience_detail(memory, latest.id).used] == [
        ("strategy", "Wait six minutes", "2 of 2 uses succeeded")
    ]
    assert experience_detail(memory, first.id).used == ()


def test_the_column_of_domains_is_shown_if_more_than_a_third_of_the_rows_have_one():
    row = ExperienceRow(id="a", outcomes=("✓ succeeded",), task="Boil an egg", created_at=START)
    in_domain = replace(row, domain="eggs")
    names = [
        [column["name"] for column in table_as_json(EXPERIENCE, EXPERIENCE.tables.listed, rows)["columns"]]
        for rows in ([in_domain, row, row], [in_domain, row])
    ]
    assert ["domain" in each for each in names] == [False, True]


def test_an_empty_cell_of_the_column_of_domains_has_words():
    row = ExperienceRow(id="a", outcomes=("✓ succeeded",), task="Boil an egg", domain="eggs", created_at=START)
    columns = {each["name"]: each for each in table_as_json(EXPERIENCE, EXPERIENCE.tables.listed, [row])["columns"]}
    assert columns["domain"]["empty"] == "in no domain"


def test_a_row_tells_its_steps_and_how_long_it_took_if_that_is_known(memory):
    memory.experience.store_many([attempt("egg", task_id="egg"), attempt("milk", task_id="milk", seconds=75)])
    rows = listed_page(memory, EXPERIENCES, Query(distinct=True)).rows
    table = table_as_json(EXPERIENCE, EXPERIENCE.tables.listed, rows)
    assert {row["task"]: (row["n_steps"], row["took"]) for row in table["rows"]} == {
        "egg": ("1", ""), "milk": ("1", "1 min"),
    }  # fmt: skip
    unknown = table_as_json(EXPERIENCE, EXPERIENCE.tables.listed, [row for row in rows if not row.took])
    assert "took" not in [column["name"] for column in unknown["columns"]]


def test_a_cell_leaves_out_pictographs_unless_they_are_all():
    made = [
        ExperienceRow(id="a", outcomes=("✓ succeeded",), task=text, created_at=START)
        for text in ("Order the tofu 🍜 again ✓", "👍🏽")
    ]
    table = table_as_json(EXPERIENCE, EXPERIENCE.tables.listed, made)
    assert [row["task"] for row in table["rows"]] == ["Order the tofu again ✓", "👍🏽"]
    assert [row["created_at"] for row in table["rows"]] == ["1 May 2026, 00:00"] * 2


def test_an_opened_attempt_is_titled_as_its_row_and_keeps_its_own_words(memory):
    early, late = memory.experience.store_many(
        attempt(text, task_id="egg", agent=text, at=START + timedelta(hours=hours))
        for hours, text in enumerate(("Boil an egg. It is soft.", "Boil the egg again. It is still soft."))
    )
    opened = [experience_detail(memory, each).headline for each in (early, late)]
    assert [(each.title, each.rest) for each in opened] == [
        ("Boil the egg again", "Boil an egg. It is soft."),
        ("Boil the egg again", "It is still soft."),
    ]
