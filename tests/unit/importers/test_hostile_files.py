"""Files that are broken or mean harm: each gives a reason that names its place, and costs nothing else."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.importers import AddCount, ImportReport, import_paths

DEEP = 10_000
LINE = '{"kind": "trajectory", "trajectory": {"task": {"id": "t", "description": "d", "context": %s}, "outcome": {}}}'
GOOD = LINE % "{}"


def run(sink, path, *, format: str = "auto", megabytes: int = 2_048) -> ImportReport:
    return import_paths(sink, [path], format=format, settings=Settings(max_import_megabytes=megabytes))


ROWS = {
    "a lone surrogate": (LINE % r'{"x": "\ud800"}', "trajectory.task.context.x contains a lone surrogate"),
    "a surrogate in a key": (LINE % r'{"\udfff": 1}', "contains a lone surrogate"),
    "an escaped NUL": (LINE % r'{"x": "a\u0000b"}', "trajectory.task.context.x contains a NUL character"),
    "NaN": (LINE % '{"x": NaN}', "trajectory.task.context.x is nan"),
    "Infinity": (LINE % '{"x": -Infinity}', "trajectory.task.context.x is -inf"),
    "an infinite exponent": (LINE % '{"x": 1e999}', "trajectory.task.context.x is inf"),
    "lists nested deeply": (LINE % ('{"x": ' + "[" * DEEP + "]" * DEEP + "}"), "deep"),
    "objects nested deeply": (LINE % ('{"a": ' * DEEP + "1" + "}" * DEEP), "deep"),
    "nesting that json can read": (LINE % ('{"x": ' + "[" * 200 + "]" * 200 + "}"), "more than 100 levels deep"),
    "a number without end": (LINE % ('{"x": ' + "9" * 5_000 + "}"), "contains a number with too many digits"),
    "a key twice": (LINE % '{"x": 1, "x": 2}', "has the key 'x' twice in one object"),
    "a NUL byte": (GOOD.replace(": {", ": \x00{", 1), "is not JSON"),
    "a line cut off": (GOOD[:40], "is not JSON"),
    "words": ("hello", "is not JSON: Expecting value at character 1"),
    "a list": ("[1]", "expected an object for the line, got type list"),
    "a number": ("5", "expected an object for the line, got type int"),
    "Latin-1": (GOOD.replace('"d"', '"caf\xe9"').encode("latin-1"), "is not UTF-8: byte 0xe9 at byte"),
}


@pytest.mark.parametrize(("row", "reason"), ROWS.values(), ids=ROWS)
def test_a_bad_line_is_refused_by_row_and_the_others_are_kept(files, sink, row, reason):
    row = row if isinstance(row, bytes) else row.encode()
    path = files.raw("a.jsonl", GOOD.encode() + b"\n" + row + b"\n\n" + GOOD.replace("t", "T", 0).encode() + b"\n")
    report = run(sink, path, format="atlas")
    assert (report.read, report.added + report.skipped, report.rejected) == (3, 2, 1)
    [rejection] = report.rejections
    assert rejection.row == 2
    assert reason in rejection.reason
    assert "\n" not in rejection.reason
    assert "Traceback" not in rejection.reason


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"a": "\\ud800"}', "expected an object for info"),
        ('{"a": tru}', "is not JSON"),
        ("[" * 20 * DEEP + "]" * 20 * DEEP, "nests too deeply"),
        ("NaN", "expected an object for the row, got nan"),
        ("9" * 5_000, "contains a number with too many digits"),
        ('{"a": 1, "a": 2}', "has the key 'a' twice"),
        ('"text"', "expected an object for the row, got 'text'"),
    ],
)
def test_a_bad_element_of_a_list_costs_only_itself(files, sink, tau_row, bad, reason):
    good = [json.dumps(tau_row(trial=n)) for n in range(2)]
    report = run(sink, files.raw("airline.json", f"[{good[0]}, {bad}, {good[1]}]"))
    assert (report.added, report.rejected) == (2, 1)
    assert report.rejections[0].row == 2
    assert reason in report.rejections[0].reason


def test_rows_before_a_cut_are_kept(files, sink, tau_row):
    text = json.dumps([tau_row(trial=n) for n in range(3)])
    report = run(sink, files.raw("airline.json", text[:-50]))
    assert (report.added, report.rejected) == (2, 1)
    assert report.rejections[0].row == 3
    assert "truncated" in report.rejections[0].reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n \n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b" " * 100_000, "the file begins with whitespace only"),
        (GOOD.encode("utf-16"), "seems to be UTF-16 or UTF-32; save it as UTF-8"),
        (GOOD.encode("utf-16-le"), "seems to be UTF-16 or UTF-32; save it as UTF-8"),
        (GOOD.encode("utf-16-be"), "seems to be UTF-16 or UTF-32; save it as UTF-8"),
        (GOOD.encode("utf-32"), "seems to be UTF-16 or UTF-32; save it as UTF-8"),
        (b"\x00" * 1_000, "is in an unknown format"),
        (b"[" * 100_000, "is in an unknown format"),
        (b"PK\x03\x04" + b"\x00" * 100, "is in an unknown format"),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_reported_as_such(files, sink, content, reason):
    report = run(sink, files.raw("x.jsonl", content))
    assert (report.read, report.rejected) == (0, 1)
    assert report.rejections[0].row == 0
    assert reason in report.rejections[0].reason


@pytest.mark.parametrize("format", ["atlas", "tau-bench", "reflexion", "swe-agent", "inspect"])
@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 500, b"[" * 20_000, b'{"a"' * 5_000, b"]", b'"', b"PK\x03\x04"])
def test_no_format_breaks_on_garbage(files, sink, format, content):
    report = run(sink, files.raw("x.json", content), format=format)
    assert report.added == 0
    assert report.rejected >= 1


def test_a_byte_order_mark_is_accepted(files, sink, tau_row, inspect_log, sample):
    bom = b"\xef\xbb\xbf"
    paths = [
        files.raw("d/a.jsonl", bom + GOOD.encode()),
        files.raw("d/airline.json", bom + json.dumps([tau_row()]).encode()),
        files.raw("d/log.json", bom + json.dumps(inspect_log(sample())).encode()),
        files.raw("d/run.traj", bom + json.dumps({"history": [{"role": "user", "content": "x"}]}).encode()),
    ]
    report = run(sink, files.directory / "d")
    assert (report.added, report.rejected) == (len(paths), 0)


def test_a_file_above_the_limit_is_refused_unread(files, sink):
    path = files.raw("a.jsonl", (GOOD + "\n").encode() * 20_000)
    report = run(sink, path, megabytes=1)
    assert report.added == 0
    assert "but at most 1.0 MB are allowed; set ATLAS_MAX_IMPORT_MEGABYTES" in report.rejections[0].reason


def test_a_line_of_fifty_megabytes_is_passed_over_and_never_held(files, sink):
    path = files.raw("a.jsonl", GOOD + "\n" + '{"x": "' + "y" * 50_000_000 + '"}\n' + GOOD + "\n")
    tracemalloc.start()
    report = run(sink, path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.read, report.rejected) == (3, 1)
    assert "the line has 47.7 MB, but at most 32.0 MB are read at once" in report.rejections[0].reason
    assert peak < 80_000_000


def test_an_element_of_fifty_megabytes_is_passed_over(files, sink, tau_row):
    big = json.dumps(tau_row(trial=1)).replace("A long policy.", "y" * 50_000_000)
    report = run(sink, files.raw("airline.json", f"[{big}, {json.dumps(tau_row())}]"))
    assert (report.added, report.rejected) == (1, 1)
    assert "the row has 47.7 MB" in report.rejections[0].reason


@pytest.mark.parametrize("n_rows", [1_000, pytest.param(2_500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("as_lines", [False, True])
def test_memory_does_not_grow_with_the_file(files, tau_row, as_lines, n_rows):
    class Forgetting:
        def add(self, items, source):
            return AddCount({"experience": len(items)}, 0)

    rows = [tau_row(trial=n, traj=[{"role": "user", "content": "x" * 8_000}]) for n in range(n_rows)]
    path = files.lines("airline.json", rows) if as_lines else files.json("airline.json", rows)
    tracemalloc.start()
    report = run(Forgetting(), path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report.added == n_rows
    assert path.stat().st_size > 8_000 * n_rows
    assert peak < 6_000_000


def test_reasons_hold_nothing_that_a_terminal_would_act_on(files, sink):
    report = run(
        sink, files.raw("a.jsonl", '{"kind": "\x1b[31m\\u001b[31m\\ud800"}\n{"kind": "\\u001b[31m"}\n'), format="atlas"
    )
    assert report.rejected == 2
    assert all(rejection.reason.isprintable() for rejection in report.rejections)


def test_a_directory_named_like_a_file_is_walked(files, sink):
    files.raw("runs.json/a.jsonl", GOOD)
    assert run(sink, files.directory / "runs.json").added == 1


def test_what_is_read_is_what_the_file_says(files, sink):
    run(sink, files.raw("a.jsonl", GOOD))
    [item] = sink.items
    assert isinstance(item, Trajectory)
    assert item.outcome.success is None


@pytest.mark.parametrize(
    "text",
    [
        '{"history": [{"role": "user", "content": "ISSUE:\\n' + " " * 500_000 + 'x"}]}',
        "{" + "".join(f'"{n}": 1,' for n in range(100_000)) + '"99999": 2}',
        '{"kind": "' + '\\"' * 500_000,
        '[{"task_id": "' + '\\"' * 500_000,
        '{"history": [{"role": "user", "content": "' + "data:a/b;base64," * 50_000 + '"}]}',
        '[{"reward": 1, "task_id": 1, "info": {"task": {"instruction": "x"}}, "traj": ['
        + ",".join(['{"role": "assistant", "content": "x"}'] * 20_000)
        + "]}]",
    ],
)
@pytest.mark.parametrize("format", ["auto", "atlas", "tau-bench", "swe-agent", "reflexion"])
def test_no_text_makes_an_import_take_time_beyond_its_length(files, sink, text, format):
    path = files.raw("x.json", text)
    report = run(sink, path, format=format)  # quadratic work on any of these would take minutes to hours
    assert report.added + report.rejected == 1
