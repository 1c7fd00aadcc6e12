"""A researcher takes the failures home as a table, and reads a long attempt where it went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from playwright.sync_api import Page, expect

import atlas
from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve
from tests.support.records import attempt, attempts
from tests.support.stores import make_store

N = 140
WRONG = 87
HOSTILE = (
    "<img src=x onerror='window.hostile=1'><script>window.hostile=1</script>[a](javascript:1) <b><i>x</i></b>\u202egge"
)


def test_the_filtered_rows_are_saved_as_a_table(page: Page, serve: Serve, tmp_path: Path):
    make_store(tmp_path / "store", attempts(60))
    page.goto(f"{serve(tmp_path / 'store')}/experiences?scope_outcomes=failed")
    expect(page.get_by_text("20 of 60 experiences · 0%")).to_be_visible()
    settle(page)
    frames = {}
    for form, read in (("CSV", pd.read_csv), ("Parquet", pd.read_parquet)):
        page.get_by_test_id("stPopoverButton").filter(has_text="Download").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=form, exact=True).click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        frames[form] = read(saved)
        page.keyboard.press("Escape")
        settle(page)
    for frame in frames.values():
        assert {*frame["outcome"]} == {"failed"}
        assert len(frame) == 20
        assert [*frame][:9] == ["id", "title", "outcome", "domain", "map_x", "map_y", "n_uses", "n_successes", "rate"]
        assert frame["map_x"].notna().all()
    expect(page.get_by_text("20 of 60 experiences · 0%")).to_be_visible()


def test_a_long_attempt_leads_to_the_step_that_went_wrong(page: Page, serve: Serve, tmp_path: Path):
    steps = [atlas.Step(thought=f"plan {n}", action=f"act {n}", observation="all well") for n in range(1, N + 1)]
    steps[WRONG - 1] = atlas.Step(action=f"act {WRONG}", observation="ValueError: no rows")
    steps[2:4] = [atlas.Step(action="test", observation="FAILED test_a"), atlas.Step("again", "test", "14 passed")]
    (opened,) = make_store(tmp_path, [attempt(success=False, steps=tuple(steps))])
    page.goto(f"{serve(tmp_path)}/experiences?id={opened}")
    expect(page.get_by_text(f"{N} steps · 2 errors, 1 passes later")).to_be_visible()
    ending = page.locator(".st-key-opened_ending_red")
    expect(ending).to_contain_text("✗ failed")
    expect(ending).to_contain_text("ValueError: no rows")
    trace = page.get_by_role("region", name="Steps")
    expect(trace.get_by_text("act 1", exact=True)).to_be_visible()
    settle(page)
    expect(trace.locator(".passes-later .error")).to_have_text("error, passes in step 4")
    page.get_by_role("button", name="Next error").click()
    page.get_by_role("button", name="Next error").click()
    wrong = trace.locator(".failed:not(.passes-later)")
    expect(wrong).to_contain_text("ValueError: no rows")
    expect(wrong).to_be_in_viewport()
    shoot(page, "experience-steps", themes=True)
    box = page.get_by_label("Find in steps")
    box.fill("plan 139")
    box.press("Enter")
    expect(trace.locator("mark")).to_have_text("plan 139")
    expect(trace.locator("mark")).to_be_in_viewport()
    expect(page.get_by_text(f"Steps 101 to {N} of {N}")).to_be_visible()
    page.get_by_role("button", name="Previous error").click()  # which is on the page before
    expect(wrong).to_be_in_viewport()


def test_a_hostile_attempt_is_text_and_nothing_else(page: Page, serve: Serve, tmp_path: Path):
    steps = (
        atlas.Step(observation=f"Mend it. {HOSTILE}", metadata={"observation_from": f"user {HOSTILE}"}),
        atlas.Step(
            thought=HOSTILE,
            action=f"{conversation_call(HOSTILE)}\n{HOSTILE}",
            observation=f"\x1b[31mred\x1b[0m {HOSTILE}\n" + "line\n" * 40 + f"Error: {HOSTILE}",
            metadata={"observation_from": f"tool {HOSTILE}", "span": HOSTILE, "input_tokens": 1568, "state": HOSTILE},
        ),
    )
    (opened,) = make_store(tmp_path, [attempt(HOSTILE, success=False, steps=steps)])
    page.goto(f"{serve(tmp_path)}/experiences?id={opened}")
    trace = page.get_by_role("region", name="Steps")
    expect(trace.locator(".user pre")).to_have_text("Mend it. " + HOSTILE.replace("\u202e", "\\u202e"))
    expect(trace.locator(".failed")).to_contain_text("Error: <img")
    expect(trace.locator(".note")).to_contain_text("1,568 tokens read")
    expect(trace.locator(".failed pre")).not_to_contain_text("red")
    trace.get_by_role("button", name="Show all").click()
    expect(trace.locator(".failed pre")).to_contain_text("red <img")
    trace.locator("button.call").click()
    expect(trace.locator("dd")).to_contain_text("\\u202e")
    for element in ("img", "script", "b i", "a"):
        expect(trace.locator(element)).to_have_count(0)
    assert page.evaluate("window.hostile") is None
    shoot(page, "experience-hostile", themes=True)


def conversation_call(text: str) -> str:
    """Return a tool call with a text as its argument."""
    return f"Bash({json.dumps({'command': text}, ensure_ascii=False)})"
