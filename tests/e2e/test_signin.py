"""People sign in at a provider, do what their role lets them, and are shown out when an administrator says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oidc_provider_mock import User
from playwright.sync_api import Page, expect

import atlas
from tests.support.browser.page import settle, shoot
from tests.support.browser.signin import sign_in, signing_in
from tests.support.stores import copied

USERS = (
    User(sub="ada", claims={"name": "Ada", "groups": ["team"]}),
    User(sub="root", claims={"name": "Root", "groups": ["admins"]}),
)

ROLES = "admins=admin team=curator"


@pytest.fixture(scope="module")
def store(sample_data: Path, tmp_path_factory) -> Path:
    """A store of the sample data."""
    return copied(sample_data, tmp_path_factory.mktemp("signin") / "store")


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    """A server where two people may sign in."""
    with signing_in(store, USERS, ROLES) as served:
        yield served


def test_a_curator_signs_in_changes_something_under_their_name_and_leaves(page: Page, store, address):
    page.goto(address)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    sign_in(page, address, "ada")
    with atlas.open_memory(store, read_only=True) as memory:
        marks = memory.strategies.marks(memory.strategies.ids())
        strategy_id = next(one for one in marks if not marks[one].pinned)
    page.goto(f"{address}/strategies?id={strategy_id}")
    settle(page)
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_text("Pinned 1 strategy")).to_be_visible()
    page.goto(f"{address}/history?history_who=Ada")
    expect(page.get_by_text("1 operation, newest first")).to_be_visible()
    page.get_by_role("button", name="Undo all of these …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("1 operation would be undone")).to_be_visible()
    shoot(page, "signin-undo-all", themes=True)
    dialog.get_by_role("button", name="Undo 1 operation").click()
    expect(page.get_by_text("Undid 1 operation")).to_be_visible()
    expect(page.get_by_text("Ada, curator")).to_be_visible()
    page.get_by_role("link", name="Leave").click()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_whoever_is_removed_while_signed_in_is_out_without_a_click(page: Page, new_page: Callable[[], Page], address):
    sign_in(page, address, "ada")
    other = new_page()
    sign_in(other, address, "root")
    other.goto(f"{address}/settings?settings_tab=People")
    expect(other.get_by_text("a role given here overrules that")).to_be_visible()
    shoot(other, "signin-people", themes=True)
    settle(other)
    other.get_by_label("Person").click()
    other.get_by_role("option", name="Ada").click()
    other.get_by_role("button", name="Remove").click()
    expect(other.get_by_role("button", name="Remove")).to_have_count(1)
    expect(page.get_by_text("was revoked or has expired")).to_be_visible()
    page.get_by_role("link", name="Experiences").first.click()
    expect(page.get_by_text("was revoked or has expired")).to_be_visible()
    page.goto(address)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="ada", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("was removed from this memory")


def test_an_answer_of_the_provider_with_another_state_lets_nobody_in(page: Page, address):
    page.goto(address)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"{address}/signin/callback?code=stolen&state=another")
    expect(page.get_by_role("alert")).to_contain_text("could not be finished")
    page.goto(f"{address}/experiences")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_server_whose_proxy_is_not_named_warns_when_it_starts(store, tmp_path):
    said = tmp_path / "said"
    with (
        said.open("w") as file,
        signing_in(store, USERS, ROLES, stderr=file, ATLAS_PUBLIC_URL="https://memory.example"),
    ):
        pass
    assert said.read_text().count("set it, for example ATLAS_PROXY=127.0.0.1") == 1


def test_whoever_has_been_signed_in_for_too_long_signs_in_again(page: Page, store):
    seconds = 10
    with signing_in(store, USERS, ROLES, ATLAS_SESSION_HOURS=str(seconds / 3_600)) as address:
        page.goto(address)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="ada", exact=True).click()
        shown_out = page.get_by_text("was revoked or has expired")
        refused = page.get_by_text("This request needs a key")  # where the time was over before the page was drawn
        expect(shown_out.or_(refused).first).to_be_visible()
        page.goto(address)
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
