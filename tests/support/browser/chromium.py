"""Debian's Chromium, without a window where it is installed so: that takes a quarter less processor time."""

from __future__ import annotations

import shutil

FLAGS = ("--no-sandbox", "--disable-gpu", "--font-render-hinting=none")
"""Arguments of every start. Without the last one, a browser without a window sets letters unevenly."""


def find_chromium() -> str | None:
    """Return the path of the program, or None if it is not installed."""
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")
