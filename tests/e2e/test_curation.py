"""Curating in a real browser: what is previewed is what happens, nothing else is touched, and it can be taken back."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.browser.tables import rows, tick
from tests.support.records import attempt, attempts
from tests.support.stores import make_store, opened_store

N_TASKS = 36


@pytest.fixture(scope="module")
def pristine(tmp_path_factory) -> Path:
    """A store of different attempts, and four that say the same."""
    store = tmp_path_factory.mktemp("pristine")
    alike = [attempt("Water the garden", task_id=f"garden-{n}", success=False, agent=f"agent {n}") for n in range(4)]
    make_store(store, [*attempts(N_TASKS), *alike])
    return store


@pytest.fixture
def opened(pristine: Path, serve: Serve, tmp_path) -> tuple[str, Path]:
    """A dashboard on a copy of that store: its address, and the copy."""
    store = tmp_path / "store"
    shutil.copytree(pristine, store)
    return serve(store), store


def test_rows_are_selected_deleted_as_previewed_and_brought_back(page: Page, opened):
    address, store = opened
    before = contents(store)
    page.goto(f"{address}/experiences")
    first, second = ticked(page, 1), ticked(page, 3)
    expect(page.get_by_text("2 selected from rows on Experiences")).to_be_visible()
    shoot(page, "tray", themes=True)
    page.get_by_role("button", name="Delete …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("That is 5% of the 40 experiences.")).to_be_visible()
    shoot(page, "prune", themes=True)
    dialog.get_by_role("button", name="Delete 2 experiences").click()
    expect(page.get_by_text("Deleted 2 experiences")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert set(before) - set(contents(store)) == ids_of(before, first, second)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: deleted 2 experiences")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    assert contents(store) == before
    page.get_by_role("button", name="Redo").click()
    expect(page.get_by_text("Redone: deleted 2 experiences")).to_be_visible()
    expect(page.get_by_text("38 experiences").first).to_be_visible()
    assert set(before) - set(contents(store)) == ids_of(before, first, second)
    third = ticked(page, 2)
    expect(page.get_by_text("1 selected from rows on Experiences")).to_be_visible()
    page.get_by_role("button", name="Delete …").click()
    dialog.get_by_role("button", name="Delete 1 experience").click()
    expect(page.get_by_text("37 experiences").first).to_be_visible()
    expect(page.get_by_text("selected from")).to_have_count(0)
    assert set(before) - set(contents(store)) == ids_of(before, first, second, third)


def test_near_duplicates_are_merged_and_parted_again(page: Page, opened):
    address, store = opened
    before = contents(store)
    page.goto(f"{address}/curate?curate_queue=duplicates")
    expect(page.get_by_text("4 experiences: 4 failed", exact=True)).to_be_visible()
    shoot(page, "curate-duplicates")
    merge_all = page.get_by_role("button", name="Merge all 1 group …")
    expect(merge_all).to_have_attribute("data-testid", "stBaseButton-secondary")
    merge_all.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("4 experiences would become 1: 3 of 40 would be deleted (8%).")).to_be_visible()
    apply = dialog.get_by_role("button", name="Merge 4 experiences into 1")
    expect(apply).to_be_disabled()
    dialog.get_by_role("textbox").fill("3")
    expect(apply).to_be_enabled()
    shoot(page, "merge")
    apply.click()
    expect(page.get_by_text("Merged 4 experiences into 1")).to_be_visible()
    after = contents(store)
    assert len(ids_of(after, "Water the garden")) == 1
    assert len(after) == 37
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Undone: merged 4 experiences into 1")).to_be_visible()
    assert contents(store) == before


def test_the_inbox_is_worked_by_keyboard_and_all_of_it_can_be_undone(page: Page, serve: Serve, tmp_path):
    store = tmp_path / "store"
    same = [attempt("Water the garden", agent=f"agent {n}") for n in range(3)]
    make_store(store, [*same, *(attempt(f"Mend report {n}", None, task_id=f"t{n}") for n in range(4))])
    before = contents(store)
    page.goto(f"{serve(store)}/curate")
    cases = page.get_by_role("grid", name="Cases")
    expect(cases.get_by_text("Near-duplicates · 1")).to_be_visible()
    expect(cases.get_by_text("Outcome unknown · 4")).to_be_visible()
    expect(page.get_by_text("3 attempts at one task: 3 succeeded, with the same solution")).to_be_visible()
    expect(page.locator(".st-key-curate_case kbd").first).to_have_css("border-bottom-width", "2px")
    shoot(page, "inbox-group", themes=True)

    press(page, "m")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("3 experiences would become 1")).to_be_visible()
    dialog.get_by_role("textbox").fill("2")
    expect(dialog.get_by_role("button", name="Merge 3 experiences into 1")).to_be_enabled()
    press(page, "Control+Enter")
    expect(page.get_by_text("Merged 3 experiences into 1")).to_be_visible()
    expect(page.get_by_text("1 of 5 decided")).to_be_visible()
    press(page, "u")
    expect(page.get_by_text("Undone: merged 3 experiences into 1")).to_be_visible()
    assert contents(store) == before
    expect(page.get_by_text("3 attempts at one task")).to_be_visible()
    press(page, "a")
    expect(page.get_by_text("Kept 3 experiences as they are")).to_be_visible()

    expect(task(page, "Mend report 0")).to_be_visible()
    shoot(page, "inbox-outcome", themes=True)
    press(page, "s")
    expect(page.get_by_text("Set 1 experience to succeeded")).to_be_visible()
    expect(task(page, "Mend report 1")).to_be_visible()
    press(page, "x")
    expect(page.get_by_role("dialog").get_by_text("of the 7 experiences.")).to_be_visible()
    press(page, "f")  # belongs to the page behind the preview
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Next")).to_be_enabled()  # it is not while there is a preview
    press(page, "j")
    expect(task(page, "Mend report 2")).to_be_visible()
    expect(page.get_by_text("2 of 3", exact=True)).to_be_visible()
    press(page, "k")
    expect(task(page, "Mend report 1")).to_be_visible()
    cases.get_by_text("Mend report 2").click()
    expect(task(page, "Mend report 2")).to_be_visible()
    press(page, "l")
    expect(page.get_by_text("1 more like it", exact=True)).to_be_visible()
    press(page, "f")
    expect(page.get_by_role("dialog").get_by_text("2 experiences would be set to failed.")).to_be_visible()
    press(page, "Control+Enter")
    expect(page.get_by_text("4 of 5 decided")).to_be_visible()
    expect(task(page, "Mend report 1")).to_be_visible()
    shoot(page, "inbox-end")
    assert outcomes(store) == {"Mend report 0": "succeeded", "Mend report 1": "unknown", "Mend report 2": "failed",
                               "Mend report 3": "failed", "Water the garden": "succeeded"}  # fmt: skip
    press(page, "u")
    expect(page.get_by_text("Undone: set 2 experiences to failed")).to_be_visible()
    expect(page.get_by_text("2 of 5 decided")).to_be_visible()
    page.reload()
    expect(page.get_by_role("combobox", name="Cases")).to_have_value("All 3")  # what was decided stays out of it


def test_a_long_group_of_cases_is_cut_until_the_rest_is_asked_for(page: Page, serve: Serve, tmp_path):
    same = [attempt("Water the garden", agent=f"agent {n}") for n in range(2)]
    make_store(tmp_path / "store", [*same, *(attempt(f"Mend report {n}", None, task_id=f"t{n}") for n in range(6))])
    page.goto(f"{serve(tmp_path / 'store')}/curate")
    reports = page.get_by_role("grid", name="Cases").locator(".row[data-id]:visible").filter(has_text="Mend report")
    expect(reports).to_have_count(3)
    page.get_by_role("button", name="Show 3 more").click()
    expect(reports).to_have_count(6)
    expect(page.get_by_role("button", name="Show 3 more")).to_be_hidden()


def test_the_palette_finds_pages_records_and_acts_by_keyboard(page: Page, serve: Serve, tmp_path):
    hostile = "<img src=x onerror=alert(1)> hedgehog ![x](https://example.invalid/p.png)"
    make_store(tmp_path / "store", [attempt(hostile, None), attempt("Mend the succulent fence", None)])
    page.goto(f"{serve(tmp_path / 'store')}/curate")
    expect(page.get_by_role("combobox", name="Cases")).to_have_value("All 2")
    found = page.get_by_role("option")

    press(page, "Control+k")
    page.keyboard.type("succulent fen")  # has keys of the inbox in it
    expect(found.get_by_text("Mend the succulent fence")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Find pages")).to_be_hidden()
    assert {*outcomes(tmp_path / "store").values()} == {"unknown"}

    press(page, "Control+k")
    shoot(page, "palette")
    page.keyboard.type("hedgeh")
    expect(found.get_by_text(hostile)).to_be_visible()
    shoot(page, "palette-hostile")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("experiences.*id="))
    expect(page.get_by_test_id("stMain").get_by_text(hostile).first).to_be_visible()

    press(page, "Control+k")
    page.keyboard.type("outcome")
    expect(found).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("curate_queue=unknown"))
    expect(page.get_by_role("combobox", name="Cases")).to_have_value("Outcome unknown 2")

    press(page, "a")
    expect(page.get_by_text("Kept 1 experience as it is")).to_be_visible()
    press(page, "Control+k")
    page.keyboard.type("undo")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Undone: kept 1 experience as it is")).to_be_visible()

    press(page, "Control+k")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Map", exact=True)).to_be_visible()


def test_a_plan_that_no_longer_holds_is_not_applied_but_made_anew(page: Page, opened):
    address, store = opened
    page.goto(f"{address}/experiences")
    title = ticked(page, 1)
    page.get_by_role("button", name="Delete …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="Delete 1 experience")).to_be_visible()
    (chosen,) = ids_of(contents(store), title)
    with opened_store(store) as memory:
        memory.experience.edit(chosen, feedback="changed by another process")
    dialog.get_by_role("button", name="Delete 1 experience").click()
    expect(dialog.get_by_text("Nothing was done.").first).to_be_visible()
    assert chosen in contents(store)
    dialog.get_by_role("button", name="Plan again").click()
    dialog.get_by_role("button", name="Delete 1 experience").click()
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    assert chosen not in contents(store)


def test_the_sample_data_go_with_one_click_and_nothing_else(page: Page, serve: Serve, tmp_path):
    store = tmp_path / "store"
    (own,) = make_store(store, [attempt("An attempt of my own")])
    with opened_store(store) as memory:
        memory.experience.store(replace(attempt("Made up"), metadata={"is_sample": True}))
    page.goto(serve(store))
    expect(page.get_by_text("Sample data: 1 of")).to_be_visible()
    page.get_by_role("button", name="Remove sample data").click()
    expect(page.get_by_text("Deleted the sample data, 1 record")).to_be_visible()
    assert list(contents(store)) == [own]


def test_a_click_on_a_domain_opens_the_map_narrowed_to_it(page: Page, opened):
    address, _ = opened
    page.goto(address)
    expect(page.get_by_text("clearly below the average")).to_be_visible()
    settle(page)
    page.get_by_role("grid", name="Success by domain").get_by_role("row").nth(1).click()
    expect(page.get_by_role("heading", name="Map", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("map.*scope_domains="))


def press(page: Page, key: str) -> None:
    """Press a key once the page has come to rest."""
    settle(page)
    page.keyboard.press(key)


def task(page: Page, title: str) -> Locator:
    """The task of the case that is shown."""
    return page.locator(".st-key-curate_case").get_by_text(title, exact=True)


def outcomes(store: Path) -> dict[str, str]:
    """The outcome of each task."""
    with opened_store(store) as memory:
        attempted = memory.experience.get_many(memory.experience.ids())
    return {one.task.description: one.outcome.label for one in attempted}


def ticked(page: Page, position: int) -> str:
    """Tick the box beside a row, the first being 0; the task that the row shows."""
    expect(rows(page).nth(position)).to_be_attached()
    settle(page)
    tick(page, position)
    return next(
        text
        for text in rows(page).nth(position).locator(".cell").all_text_contents()
        if text.startswith(("Task", "Water"))
    )


def contents(store: Path) -> dict[str, tuple[str, str]]:
    """What a store holds: the task, and all there is to say, by id."""
    with opened_store(store) as memory:
        found = [memory.experience.get(record_id) for record_id in memory.experience.ids()]
    return {one.id: (one.task.description, repr(one)) for one in found if one is not None}


def ids_of(held: dict[str, tuple[str, str]], *titles: str) -> set[str]:
    """The ids of the experiences with these tasks."""
    return {record_id for record_id, (title, _) in held.items() if title in titles}


def test_a_preview_names_what_tasks_would_lose_and_keeps_it_by_one_click(page: Page, opened):
    address, store = opened
    before = contents(store)
    page.goto(f"{address}/experiences")
    first, second = ticked(page, 1), ticked(page, 3)
    expect(page.get_by_text("2 selected from rows on Experiences")).to_be_visible()
    page.get_by_role("button", name="Delete …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("2 of 2 tasks lose their best record")).to_be_visible()
    dialog.get_by_role("button", name="How is this measured?").click()
    expect(page.get_by_text("Right records lost: 2 of 2 in hits, 2 of 2 in context blocks.")).to_be_visible()
    page.keyboard.press("Escape")
    shoot(page, "curation-loss", themes=True)
    rows = dialog.get_by_role("grid", name="Plan")
    expect(rows.get_by_role("checkbox", checked=True)).to_have_count(3)  # with that of all
    rows.get_by_role("checkbox", name=re.compile("Select (?!all)")).first.click()
    expect(dialog.get_by_role("heading", name="Delete 1 experience: 1 ")).to_be_visible()
    expect(dialog.get_by_text("1 of the 2 you chose stays")).to_be_visible()
    expect(dialog.get_by_text("1 of 1 task loses its best record")).to_be_visible()
    dialog.get_by_role("button", name="Delete 1 experience").click()
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    gone = set(before) - set(contents(store))
    assert len(gone) == 1
    assert gone < ids_of(before, first, second)
    page.goto(f"{address}/history")
    expect(page.get_by_text("1 of 1 task loses its best record")).to_be_visible()
