"""A person is interrupted: the tab is reloaded or the server dies in the middle, and everything is where it was."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.page import settle
from tests.support.browser.server import Serve, free_port, launch, wait_until_healthy
from tests.support.browser.tables import rows, tick
from tests.support.programs import dozen
from tests.support.records import attempts
from tests.support.stores import make_store, opened_store
from tests.support.waiting import GIVE_UP_SECONDS

N = 40


class Server:
    """A dashboard that can be killed, and started again at the same address."""

    def __init__(self, store: Path) -> None:
        self.store, self.port = store, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start it, and return its address."""
        self.process = launch(self.store, self.port, {})
        wait_until_healthy(self.process, self.port)
        return self.address

    def kill(self) -> None:
        """End it at once, as the system does where memory runs out."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(GIVE_UP_SECONDS)


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    """A server of its own on a store that the test fills."""
    server = Server(tmp_path)
    yield server
    server.kill()


def ids(store: Path) -> list[str]:
    with opened_store(store) as memory:
        return memory.experience.ids()


def begin_to_delete(page: Page) -> None:
    """Tick the first row, and open the preview of deleting it."""
    expect(rows(page).first).to_be_attached()
    settle(page)
    tick(page, 0)
    expect(page.get_by_text("1 selected from rows on Experiences")).to_be_visible()
    page.get_by_role("button", name="Delete …").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Delete 1 experience")).to_be_visible()


def test_a_reload_in_the_middle_of_a_preview_changes_nothing_and_the_person_goes_on(
    page: Page, serve: Serve, tmp_path: Path
):
    before = make_store(tmp_path, attempts(N))
    page.goto(f"{serve(tmp_path)}/experiences")
    begin_to_delete(page)
    page.reload()
    expect(page.get_by_text(f"{N} experiences ·")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert ids(tmp_path) == before
    begin_to_delete(page)
    page.get_by_role("dialog").get_by_role("button", name="Delete 1 experience").click()
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    page.reload()  # what was done is in the history, though the bar that offers to undo it is gone
    page.get_by_role("link", name="History").click()
    expect(page.get_by_text(re.compile("^Deleted experience “"))).to_have_count(1)
    assert len(ids(tmp_path)) == N - 1


def test_a_server_that_dies_in_a_preview_comes_back_with_all_of_the_store_and_the_page_goes_on(
    page: Page, server: Server
):
    before = make_store(server.store, attempts(N))
    page.goto(f"{server.start()}/experiences")
    begin_to_delete(page)
    server.kill()
    expect(page.get_by_text("Connection error").or_(page.get_by_text("Connecting")).first).to_be_visible()
    server.start()
    page.goto(f"{server.address}/experiences")
    expect(page.get_by_text(f"{N} experiences ·")).to_be_visible()
    assert ids(server.store) == before
    begin_to_delete(page)
    page.get_by_role("dialog").get_by_role("button", name="Delete 1 experience").click()
    expect(page.get_by_text("Deleted 1 experience")).to_be_visible()
    expect(page.get_by_text(f"{N - 1} experiences ·")).to_be_visible()
    assert len(ids(server.store)) == N - 1


def test_a_job_that_dies_with_the_server_leaves_nothing_half_done_and_can_be_asked_for_again(
    page: Page, server: Server
):
    make_store(server.store, dozen())
    where = "curate?curate_queue=compress"
    page.goto(f"{server.start()}/{where}")
    compress = page.get_by_role("button", name="Compress", exact=True).last
    expect(page.get_by_text("12 Python programs in 12 successful attempts in scope")).to_be_visible()
    settle(page)
    compress.click()
    expect(page.get_by_text("You can leave this page.")).to_be_visible()
    server.kill()
    server.start()
    page.goto(f"{server.address}/{where}")
    expect(page.get_by_text("12 Python programs in 12 successful attempts in scope")).to_be_visible()
    settle(page)
    compress.click()
    expect(page.get_by_text("You can leave this page.")).to_be_visible()
    page.reload()  # the work goes on without the tab
    expect(page.get_by_text("12 programs rewritten.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile(r"Add \d concepts"))).to_be_enabled()
