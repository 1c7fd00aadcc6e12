"""The table of a plan: what sets alike titles apart, and what tasks need."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from atlas.memory.loss import NO_LOSS, LostRecord
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.lists.cells import table_as_json
from atlas.views.lists.plan_table import (
    distinct_words,
    effect_rows,
    first_rows,
    loss_words,
    plan_columns,
    plan_lines,
    shared_text,
)
from atlas.views.shared.plans import Figure, Offer, PlanRow, PlanView

NIGHT = "Nightly run {} ({}): rebuild the search index after the import. Time limit {} s."
ONE_LOST = replace(
    NO_LOSS, n_removed=2, n_sampled=2, n_known=3, n_tasks=3, n_losing=2,
    lost=(LostRecord(id="b", title="Boil an egg", tasks=("egg", "eggs")),),
)  # fmt: skip


def row(record_id: str, title: str, *, goes: bool = True, why: str = "chosen") -> PlanRow:
    return PlanRow(id=record_id, title=title, goes=goes, why=why, outcome="failed")


def test_alike_titles_are_told_apart_by_the_words_that_they_do_not_share():
    titles = [NIGHT.format(77401, "01:10", 900), "Boil an egg", NIGHT.format(77435, "03:10, last try", 1200)]
    assert distinct_words(titles) == ["run 77401 01:10 · limit 900", "", "run 77435 03:10 last try · limit 1200"]
    assert distinct_words([]) == []


def test_what_all_tasks_share_after_their_titles_stands_once():
    rows = [row("a", NIGHT.format(77401, "01:10", 900)), row("c", NIGHT.format(77435, "03:10, last try", 1200))]
    assert shared_text(rows) == "Time limit … s."
    lines = plan_lines(offer_of("Delete"), first_rows(offer_of("Delete"), rows, 9))
    assert [line.difference for line in lines] == ["limit 900", "limit 1200"]
    assert lines[0].title == "Nightly run 77401 (01:10): rebuild the search index after the import"
    assert shared_text([*rows, row("d", "Boil an egg")]) == ""


def test_successes_come_before_failures_in_a_table_of_removals():
    rows = [row("a", "Mend a shoe"), replace(row("c", "Wind a clock"), outcome="succeeded"), row("b", "Boil an egg")]
    assert [each.id for each in first_rows(offer_of("Delete"), rows, 9)] == ["b", "c", "a"]
    assert [each.id for each in first_rows(offer_of("Delete"), rows, 2)] == ["b", "c"]


def offer_of(title: str, *kept: str) -> Offer:
    view = PlanView(title=title, headline="", button="", loss=ONE_LOST)
    plan = SimpleNamespace(view=view)
    return Offer(request=SimpleNamespace(), whole=plan, plan=plan, kept=frozenset(kept))


def test_the_records_that_tasks_need_come_first_in_a_table_of_removals():
    rows = [row("a", "Mend a shoe"), row("b", "Boil an egg")]
    lines = plan_lines(offer_of("Delete", "b"), first_rows(offer_of("Delete", "b"), rows, 9))
    assert [(line.id, line.advice) for line in lines] == [("b", "stays: best for 2 tasks"), ("a", "")]
    assert [column.name for column in plan_columns(lines, "Task")] == ["outcomes", "title"]
    (first,) = plan_lines(offer_of("Delete"), first_rows(offer_of("Delete"), rows, 1))
    assert first.advice == "goes, though best for 2 tasks"


def test_a_merge_keeps_its_order_and_gives_its_reasons():
    rows = [row("a", "Mend a shoe", goes=False, why="stays"), row("b", "Boil an egg", why="into a")]
    lines = plan_lines(offer_of("Merge"), rows)
    assert [line.sign for line in lines] == ["stays", "goes"]
    columns = plan_columns(lines, "Task")
    assert [column.name for column in columns] == ["sign", "outcomes", "title", "why"]
    drawn = table_as_json(EXPERIENCE, columns, lines)
    assert [column["name"] for column in drawn["columns"] if column["opens"]] == ["title"]


def map_of(*domains: tuple[str, int], labels: list[int]) -> SimpleNamespace:
    named = tuple(SimpleNamespace(number=number, name=name, n=n) for number, (name, n) in enumerate(domains))
    return SimpleNamespace(ids=tuple("abcdefgh"), labels=np.array(labels), domains=named)


def effects(shown: SimpleNamespace, ids: set[str], outcomes: dict[str, bool] | None = None, figures=()) -> list[tuple]:
    rows = effect_rows(shown, ids, outcomes or {}, figures)
    return [(row.name, row.experiences, row.rate, row.rate_afterwards) for row in rows]


def test_the_domains_that_lose_records_have_a_row_each_the_largest_loss_first():
    shown = map_of(("eggs", 2), ("shoes", 4), ("pumps", 1), labels=[0, 1, 1, 1, 0, 1, 2, -1])
    assert effects(shown, {"b", "c", "a"}) == [
        ("shoes", "4 → 2", "–", "–"),
        ("eggs", "2 → 1", "–", "–"),
        ("The other domain", "unchanged", "", ""),
    ]
    assert effects(shown, {"h", "not on the map"}) == [
        ("In no domain", "1 → 0", "–", "–"),
        ("The other 3 domains", "unchanged", "", ""),
    ]
    assert effects(shown, {"not on the map"}) == []


def test_a_domain_that_would_look_better_without_its_failures_is_said_to():
    shown = map_of(("eggs", 2), ("shoes", 4), ("pumps", 1), labels=[0, 1, 1, 1, 0, 1, 2, -1])
    outcomes = {"b": False, "c": False, "d": True, "f": False, "a": True, "e": True}
    figures = (Figure("Experiences", "5", "8"), Figure("Success rate", "62% of 8", "50% of 8"))
    assert effects(shown, {"b", "c", "a"}, outcomes, figures)[:3] == [
        ("All", "8 → 5", "50% of 8", "62% of 8"),
        ("shoes", "4 → 2", "25% of 4 (likely 5–72%)", "50% of 2 (likely 9–91%), too few to judge"),
        ("eggs", "2 → 1", "100% of 2 (likely 29–100%)", "100% of 1 (likely 16–100%), too few to judge"),
    ]


def test_of_many_losing_domains_the_rest_are_counted_together():
    shown = map_of(*((f"domain {number}", 1) for number in range(6)), labels=[0, 1, 2, 3, 4, 5, -1, -1])
    assert effects(shown, set("abcdef"))[2:] == [
        ("domain 2", "1 → 0", "–", "–"),
        ("3 other domains together", "3 → 0", "–", "–"),
    ]


def test_a_loss_is_told_in_words():
    assert loss_words(ONE_LOST) == "2 of 3 tasks lose their best record"
    assert loss_words(replace(ONE_LOST, lost=(), n_losing=0)) == "no task loses its best record"
    assert loss_words(replace(ONE_LOST, lost=(), n_losing=0, n_known=9)) == "no sampled task loses its best record"
    assert loss_words(NO_LOSS) == "no task depends on these"
