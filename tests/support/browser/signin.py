"""A server whose people sign in at a provider."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from oidc_provider_mock import User, run_server_in_thread
from playwright.sync_api import Page, expect

from tests.support.browser.server import free_port, wait_until_healthy
from tests.support.repository import REPOSITORY
from tests.support.waiting import GIVE_UP_SECONDS


@contextmanager
def signing_in(
    store: Path,
    users: Sequence[User],
    roles: str,
    *arguments: str,
    stderr: IO[str] | None = None,
    **environment: str,
) -> Iterator[str]:
    """Serve a store to the people of a provider.

    Args:
        roles: As `ATLAS_ROLES` says them.
        arguments: Further ones of `atlas serve`.
        stderr: File that gets what it says, or None for what the tests' own process has.
        environment: Further variables.
    """
    port = free_port()
    with run_server_in_thread(user_claims=users) as provider:
        given = {
            "ATLAS_OIDC_ISSUER": f"http://localhost:{provider.server_port}",
            "ATLAS_OIDC_CLIENT": "atlas",
            "ATLAS_OIDC_SECRET": "secret",
            "ATLAS_ROLES": roles,
            "PYTHONPATH": os.pathsep.join(sys.path),
            **environment,
        }
        command = [sys.executable, "-m", "atlas", "--store", str(store), "serve", "--port", str(port), *arguments]
        process = subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, **given}, stderr=stderr)
        try:
            wait_until_healthy(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(GIVE_UP_SECONDS)


def sign_in(page: Page, address: str, subject: str) -> None:
    """Sign in as somebody at the provider, whose form asks for nothing but who it is."""
    page.goto(address)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=subject, exact=True).click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
