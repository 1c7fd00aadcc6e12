"""A team on one server: two stores with roles of their own, links onto frozen copies, and all of them at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from oidc_provider_mock import User
from playwright.sync_api import Page, expect

import atlas
from atlas import Operations
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from atlas.views.settings.links import make_link
from tests.support.browser.axe import found_in, found_now
from tests.support.browser.page import THEMES, settle, shoot
from tests.support.browser.server import run_atlas
from tests.support.browser.signin import sign_in, signing_in
from tests.support.records import attempt
from tests.support.stores import copied
from tests.support.waiting import GIVE_UP_SECONDS

USERS = tuple(
    User(sub=name.lower(), claims={"name": name, "groups": groups})
    for name, groups in {"Ada": ["team"], "Bob": ["team"], "Nora": ["admins"], "Vera": []}.items()
)
RESEARCH_TASK = "weigh the comets of the northern sky"


@pytest.fixture(scope="module")
def stores(sample_data: Path, tmp_path_factory) -> dict[str, Path]:
    """The sample data, and a store of another subject."""
    directory: Path = tmp_path_factory.mktemp("team")
    copied(sample_data, directory / "main")
    run_atlas(directory / "research", "init")
    with atlas.open_memory(directory / "research") as memory:
        memory.store(attempt(RESEARCH_TASK, task_id="comets"))
    return {"main": directory / "main", "research": directory / "research"}


@pytest.fixture(scope="module")
def keys(stores) -> dict[str, str]:
    """Keys of two agents."""
    api_keys = ApiKeys(stores["main"])
    return {name: api_keys.add(name, Role.WRITER, created_by="root")[1] for name in ("crawler", "mason")}


@pytest.fixture(scope="module")
def address(stores, keys) -> Iterator[str]:
    """A server of both, where the team sees the second one and others do not."""
    roles, also = "admins=admin main/team=curator research/team=viewer", f"--also=research={stores['research']}"
    with signing_in(stores["main"], USERS, roles, also) as served:
        yield served


def test_each_store_is_seen_by_whoever_may_with_the_role_that_they_have_there(page: Page, address):
    sign_in(page, address, "ada")
    expect(page.get_by_text("Read only")).to_have_count(0)
    page.get_by_role("link", name="research").click()
    expect(page.get_by_text("Read only")).to_be_visible()
    assert "store=research" in page.url
    page.get_by_role("link", name="Experiences").first.click()
    expect(page.get_by_text("1 experience · 100% of 1 succeeded")).to_be_visible()
    assert "store=research" in page.url
    settle(page)
    shoot(page, "team-research", themes=True)
    page.get_by_role("link", name="main", exact=True).click()
    expect(page.get_by_text(re.compile("(experiences|attempts) · "))).to_be_visible()


def test_whoever_may_not_see_a_store_finds_neither_it_nor_its_name(page: Page, address):
    sign_in(page, address, "vera")
    expect(page.get_by_role("link", name="research")).to_have_count(0)
    page.goto(f"{address}/experiences?store=research")
    expect(page.get_by_text("you have no access to a store named 'research'")).to_be_visible()
    expect(page.get_by_text(RESEARCH_TASK)).to_have_count(0)


def test_a_link_shows_what_was_there_when_it_was_made_until_it_ends(
    page: Page, new_page: Callable[[], Page], address, keys
):
    sign_in(page, address, "nora")
    page.goto(f"{address}/settings?settings_tab=Links&store=main")
    page.get_by_label("For whom or what").fill("the board")
    page.get_by_role("button", name="Make a link").click()
    expect(page.get_by_text("Copy this link now.")).to_be_visible()
    shoot(page, "team-link-made", themes=True)
    link = page.locator(".st-key-settings_link_made code").inner_text().strip()
    store_through(address, keys["crawler"], "polish the telescope")

    guest = new_page()
    guest.goto(link)
    expect(guest.get_by_text("A copy for demonstrations, as the memory was on")).to_be_visible()
    shoot(guest, "team-link-opened", themes=True)
    guest.goto(f"{address}/experiences?scope_text=telescope&scope_by=Words")
    expect(guest.get_by_text("Nothing found among 375 experiences")).to_be_visible()
    guest.goto(f"{address}/history")
    expect(guest.get_by_text("1 operation, newest first")).to_be_visible()
    guest.goto(f"{address}/experiences?store=main")
    expect(guest.get_by_text("375 attempts").first).to_be_visible()
    with httpx.Client(base_url=address, cookies={c["name"]: c["value"] for c in guest.context.cookies()}) as client:
        assert client.get("/api/v1/operations").status_code == 401

    asked = page.context.new_page()
    asked.goto(link)
    expect(asked.get_by_text("You are signed in as Nora. Open this copy as a guest?")).to_be_visible()
    assert found_on_forms(asked, [link]) == []
    asked.get_by_role("link", name="Stay signed in").click()
    expect(asked.get_by_text("Nora, admin")).to_be_visible()
    asked.close()

    page.get_by_role("button", name="I have copied it").click()
    expect(page.get_by_text("Copy this link now.")).to_have_count(0)
    settle(page)
    page.get_by_label("Link to end").click()
    page.get_by_role("option", name="the board", exact=True).click()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_label("Link to end")).to_have_count(0)
    guest.get_by_role("link", name="Journal").first.click()
    expect(guest.get_by_text("was revoked or has expired")).to_be_visible()
    guest.goto(link)
    expect(guest.get_by_role("alert")).to_contain_text("was ended on")


def test_neither_a_link_nor_a_page_of_others_signs_anybody_out_unasked(page: Page, address, stores):
    with atlas.open_memory(stores["main"]) as memory:
        link = f"{address}{make_link(memory, 'the visitors', 1)[1]}"
    sign_in(page, address, "nora")
    page.goto(f"data:text/html,<a href='{address}/leave'>A picture</a>")
    page.get_by_role("link", name="A picture").click()
    expect(page.get_by_role("button", name="Leave")).to_be_visible()
    page.goto(link)
    page.get_by_role("button", name="Open the copy").click()
    expect(page.get_by_text("A copy for demonstrations, as the memory was on")).to_be_visible()
    page.goto(f"data:text/html,<a href='{address}/leave'>A picture</a>")
    page.get_by_role("link", name="A picture").click()
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_two_people_and_two_agents_at_once_are_each_named_rightly(new_page: Callable[[], Page], address, stores, keys):
    people = {name: new_page() for name in ("Ada", "Bob")}
    with atlas.open_memory(stores["main"], read_only=True) as memory:
        marks = memory.strategies.marks(memory.strategies.ids())
        ids = [one for one in marks if not marks[one].pinned]
    pinned = dict(zip(people, ids, strict=False))
    with ThreadPoolExecutor(2) as agents:
        writing = [
            agents.submit(lambda name: [store_through(address, keys[name], f"{name} run {n}") for n in range(10)], name)
            for name in keys
        ]
        for name, page in people.items():
            sign_in(page, address, name.lower())
            page.goto(f"{address}/strategies?id={pinned[name]}&store=main")
        for page in people.values():
            settle(page)
        for page in people.values():
            page.get_by_role("button", name="Pin", exact=True).click()
        for page in people.values():
            # The note of it leaves after some seconds, in which the other page may have kept the server busy.
            expect(page.get_by_role("button", name="Unpin", exact=True)).to_be_visible()
        assert [len(one.result()) for one in writing] == [10, 10]
    with atlas.open_memory(stores["main"], read_only=True) as memory:
        marked = {name: memory.history(100, where=Operations(actor=name)) for name in people}
        assert {name: [one.kind for one in done if one.kind == "mark"] for name, done in marked.items()} == {
            name: ["mark"] for name in people
        }
        for name, strategy_id in pinned.items():
            [mark] = [one for one in marked[name] if one.kind == "mark"]
            assert [change.record_id for change in memory.changes(mark.id)] == [strategy_id]
        for name in keys:
            runs = [one for one in memory.history(100, where=Operations(actor=name)) if one.kind == "store"]
            assert len(runs) >= 10
    page = people["Ada"]
    page.goto(f"{address}/history?history_who=Bob&store=main")
    expect(page.get_by_text("1 operation, newest first")).to_be_visible()


def test_the_audit_log_says_who_came_in_and_no_setting_has_a_serious_violation_in_light_or_dark(page: Page, address):
    httpx.post(f"{address}/enter", data={"key": "atlas_guessed"})
    found = found_on_forms(page, [address, f"{address}/link/guessed", f"{address}/signin/callback"])
    sign_in(page, address, "nora")
    page.goto(f"{address}/settings?settings_tab=Keys&store=main")
    for part in ("Keys", "People", "Links", "Audit"):
        page.get_by_role("radio", name=part, exact=True).click()
        page.wait_for_url(re.compile(f"settings_tab={part}"))
        found += [f"{part}: {line}" for line in found_in(page)]
    assert not found, "\n".join(found)
    expect(page.get_by_role("button", name="Download as CSV").first).to_be_visible()
    shoot(page, "team-audit", themes=True)
    with page.expect_download() as download:
        page.locator(".st-key-settings_audit_download button").click()
    text = Path(download.value.path()).read_text()
    assert "refused,127.0.0.1,this key is unknown" in text
    assert "signed in,Nora,admin" in text
    assert "atlas_guessed" not in text


def found_on_forms(page: Page, addresses: list[str]) -> list[str]:
    """What axe-core finds on forms of the door in each theme."""
    found = []
    for address in addresses:
        page.goto(address)
        for theme in THEMES:
            page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            found += found_now(page, f"{address}, {theme}")
    page.emulate_media(color_scheme="light")
    return found


def store_through(address: str, key: str, task: str) -> str:
    """Store an attempt as an agent does; its id."""
    body = {"task": {"description": task}, "steps": [{"action": "work"}], "outcome": {"success": True}}
    headers = {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"{address}/api/v1/attempts", json=body, headers=headers, timeout=GIVE_UP_SECONDS)
    return str(answer.raise_for_status().json()["experience"])
