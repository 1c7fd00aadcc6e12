"""The table of a plan: what sets alike titles apart, and what tasks need."""

from __future__ import annotations

from dataclasses import replace

from atlas.memory.loss import NO_LOSS, LostRecord
from atlas.views.lists.plan_table import distinct_words, loss_sentence, plan_columns, plan_lines
from atlas.views.shared.plans import PlanRow, PlanView

NIGHT = "Nightly run {} ({}): rebuild the search index after the import. Time limit {} s."
ONE_LOST = replace(
    NO_LOSS, n_removed=2, n_sampled=2, n_known=3, n_tasks=3, n_losing=2,
    lost=(LostRecord(id="b", title="Boil an egg", tasks=("egg", "eggs")),),
)  # fmt: skip


def row(record_id: str, title: str, *, goes: bool = True, why: str = "chosen") -> PlanRow:
    return PlanRow(id=record_id, title=title, goes=goes, why=why, outcome="failed")


def test_alike_titles_are_told_apart_by_the_words_that_they_do_not_share():
    titles = [NIGHT.format(77401, "01:10", 900), "Boil an egg", NIGHT.format(77435, "03:10, last try", 1200)]
    assert distinct_words(titles) == ["77401 01:10 · 900", "", "77435 03:10 last try · 1200"]
    assert distinct_words([]) == []


def test_the_records_that_tasks_need_come_first_in_a_table_of_removals():
    view = PlanView(title="Prune", headline="", button="", loss=ONE_LOST)
    lines = plan_lines(view, [row("a", "Mend a shoe"), row("b", "Boil an egg")])
    assert [(line.id, line.needed_by) for line in lines] == [("b", "best for 2 tasks"), ("a", "")]
    assert [column.name for column in plan_columns(lines, "Task")] == ["outcomes", "needed_by", "title"]


def test_a_merge_keeps_its_order_and_gives_its_reasons():
    view = PlanView(title="Merge", headline="", button="", loss=ONE_LOST)
    lines = plan_lines(view, [row("a", "Mend a shoe", goes=False, why="stays"), row("b", "Boil an egg", why="into a")])
    assert [line.sign for line in lines] == ["stays", "goes"]
    columns = [column.name for column in plan_columns(lines, "Task")]
    assert columns == ["sign", "outcomes", "needed_by", "title", "why"]


def test_a_loss_is_told_in_a_sentence_of_its_own():
    assert loss_sentence(ONE_LOST) == (
        "One of these is the best record for 2 of 3 tasks. Without it, agents find nothing as good."
    )
    assert loss_sentence(replace(ONE_LOST, lost=(), n_losing=0)) == (
        "For all 3 tasks agents would still find a record that is as good."
    )
    assert loss_sentence(NO_LOSS) == "No task depends on these."
