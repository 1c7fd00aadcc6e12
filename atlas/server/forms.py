"""HTML forms of the login. They are not Streamlit pages, because those need a session."""

from __future__ import annotations

import html
import re
from pathlib import Path
from string import Template

from starlette.responses import HTMLResponse

_FILE = Path(__file__).with_name("enter.html")
_PART = re.compile(r"<!-- ([a-z ]+) -->\n(.*?)<!-- end -->\n", re.DOTALL)


def token_form(file: str, problem: str = "", status: int = 200) -> HTMLResponse:
    """Return the login form for the owner of the server.

    Args:
        file: Name of the file with the token.
        problem: Why the last attempt failed.
    """
    parts = [*(["problem"] if problem else []), "token"]
    return _render_page("enter the token", parts, status, problem=problem, file=file)


def login_page(problem: str = "", status: int = 200, *, has_sign_in: bool, has_keys: bool) -> HTMLResponse:
    """Return the login form.

    Args:
        problem: Why the last attempt failed.
        has_sign_in: Whether sign-in with a provider is configured.
        has_keys: Whether there is any active key.
    """
    asks_for_key = has_keys or not has_sign_in
    is_part_shown = {"sign in": has_sign_in, "or": has_sign_in and asks_for_key, "key": asks_for_key}
    title = " or ".join(["sign in"] * has_sign_in + ["enter a key"] * asks_for_key)
    parts = [part for part, is_shown in {"problem": bool(problem), **is_part_shown}.items() if is_shown]
    return _render_page(title, parts, status, problem=problem)


def ended_link_page(problem: str) -> HTMLResponse:
    """Return the page that is shown for a link that has ended."""
    return _render_page("this link does not work", ["problem"], 401, problem=problem)


def outage_page(problem: str) -> HTMLResponse:
    """Return the page that is shown while the access files cannot be read."""
    return _render_page("not available now", ["problem"], 503, problem=problem)


def guest_page(name: str) -> HTMLResponse:
    """Return the page on which a signed-in user confirms to continue as a guest.

    Args:
        name: The user's current name, an untrusted text.
    """
    return _render_page("open a copy", ["link"], name=name)


def logout_page() -> HTMLResponse:
    """Return the page on which a user confirms a logout."""
    return _render_page("leave", ["leave"])


def _render_page(title: str, parts: list[str], status: int = 200, **texts: str) -> HTMLResponse:
    page = _PART.sub(lambda match: match[2] if match[1] in parts else "", _FILE.read_text(encoding="utf-8"))
    escaped = {name: html.escape(text) for name, text in {"title": title, **texts}.items()}
    return HTMLResponse(Template(page).substitute(escaped), status)
