"""Scripts and styles that run in the browser."""

from __future__ import annotations

from importlib import resources


def asset(name: str) -> str:
    """Return a bundled script, stylesheet or page, by the name of its file."""
    return (resources.files("atlas.views") / "assets" / name).read_text(encoding="utf-8")
