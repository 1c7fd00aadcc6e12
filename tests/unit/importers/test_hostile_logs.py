"""Logs that are broken as a whole: each gives a reason that says what to do."""

from __future__ import annotations

import json

import pytest

from atlas.core.settings import Settings
from atlas.importers import import_paths
from atlas.importers.registry import all_formats

LOGS = [name for name, format in all_formats().items() if format.is_log and name != "aider"]
"""Logs as JSON. aider's are Markdown."""

DEEP = b"[" * 10_000 + b"]" * 10_000
CONTENTS = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\n", "the file is empty"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "save it as UTF-8"),
    "Latin-1": ('{"type": "caf\xe9"}'.encode("latin-1"), "is not UTF-8"),
    "cut off": (b'{"type": "user", "mess', "is not JSON"),
    "deep": (b'{"type": ' + DEEP + b"}", ""),
    "a number": (b"5", "expected an object"),
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(("content", "reason"), CONTENTS.values(), ids=CONTENTS)
def test_a_hostile_file_is_refused_with_a_reason(files, sink, name, content, reason):
    report = import_paths(sink, [files.raw("a.jsonl", content)], format=name, settings=Settings())
    assert (report.added, report.rejected) == (0, 1)
    [rejection] = report.rejections
    assert reason in rejection.reason
    assert "Error" not in rejection.reason


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_huge_line_costs_itself_only(files, name):
    huge = json.dumps({"type": "user", "text": "x" * 5_000})
    rows = files.read(name, files.lines("a.jsonl", [huge, '{"type": "summary"}']), max_row_bytes=1_000)
    assert [row.position for row in rows] == [1]
    assert "but at most" in rows[0].reason
