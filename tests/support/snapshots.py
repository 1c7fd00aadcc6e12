"""Texts that describe the project as its users see it, and what they are compared with."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable

import pytest

from tests.support.repository import REPOSITORY

EXPECTED = REPOSITORY / "tests" / "snapshots" / "expected"
RENEW = "ATLAS_RENEW_SNAPSHOTS"
"""The environment variable that writes the snapshots instead of comparing them."""


def assert_unchanged(name: str, lines: Iterable[str]) -> None:
    """Compare lines with a snapshot, or write it where ATLAS_RENEW_SNAPSHOTS is set."""
    path = EXPECTED / f"{name}.txt"
    text = "".join(f"{line}\n" for line in lines)
    if os.environ.get(RENEW):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != expected:
        pytest.fail(f"{_difference(name, expected, text)}\n{_advice(name)}", pytrace=False)


def _difference(name: str, expected: str, text: str) -> str:
    file = f"tests/snapshots/expected/{name}.txt"
    return "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(), file, "now", n=2, lineterm=""))


def _advice(name: str) -> str:
    return (
        f"What users see has changed in {name}.txt: - is the snapshot, + is the code as it stands. If that is not"
        " meant, mend the code.\nIf it is, renew the snapshots, and read their diff before you commit it:\n"
        f"    {RENEW}=1 .venv/bin/python -m pytest -q tests/snapshots"
    )


def numbered() -> Callable[[str], str]:
    """Return a function that replaces each id, or its first 8 digits, by its number; the first that it meets is 1."""
    seen: dict[str, str] = {}

    def replaced(found: re.Match[str]) -> str:
        name = seen.setdefault(found[0][:8], f"id {len(seen) + 1}")
        return f"<{name}>" if len(found[0]) > 8 else f"<beginning of {name}>"

    return lambda text: re.sub(r"\b[0-9a-f]{8}(?:[0-9a-f]{24})?\b", replaced, text)
