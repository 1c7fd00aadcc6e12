"""Somebody brings the logs of their agents: uploads a file, sees what it would add, imports it, and takes it back."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from tests.support.browser.page import settle, shoot
from tests.support.browser.server import Serve, run_atlas

TASK = "Mend the parser that fails on empty input"


def session() -> bytes:
    """A session of a coding agent: one request, one answer, and a line that was cut."""
    common = {"sessionId": "s1", "cwd": "/work", "version": "1.0", "isSidechain": False, "userType": "external"}
    asked = common | {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "message": {"role": "user", "content": TASK},
    }
    said = common | {
        "type": "assistant",
        "uuid": "a1",
        "parentUuid": "u1",
        "timestamp": "2026-05-01T10:00:05.000Z",
        "message": {
            "role": "assistant",
            "model": "m",
            "id": "m1",
            "content": [{"type": "text", "text": "I return early where there is no line."}],
        },
    }
    return "\n".join([json.dumps(asked), json.dumps(said), '{"type": "user", "mess']).encode()


def test_a_log_is_uploaded_previewed_imported_and_taken_back(page: Page, serve: Serve, tmp_path):
    run_atlas(tmp_path, "init")
    page.goto(f"{serve(tmp_path)}/settings?settings_tab=Import")
    settle(page)
    page.locator("input[type=file]").set_input_files(
        {"name": "session.jsonl", "mimeType": "application/jsonl", "buffer": session()}
    )
    settle(page)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("1 record of 1 file would be added.")).to_be_visible()
    expect(page.get_by_text("a session does not say whether a request was met")).to_be_visible()
    expect(page.get_by_text(TASK)).to_be_visible()
    page.get_by_text("Refused (1)").click()
    expect(page.get_by_text("session.jsonl, row 3")).to_be_visible()
    shoot(page, "importing-preview", themes=True)
    page.get_by_role("button", name="Import 1 record").click()
    expect(page.get_by_text("Imported 1 record from 1 file")).to_be_visible()
    page.get_by_role("link", name="Experiences").first.click()
    expect(page.get_by_test_id("stMain").get_by_text("1 experience · newest first")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_text("Undone: imported 1 record from 1 file")).to_be_visible()
    settle(page)
    expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
