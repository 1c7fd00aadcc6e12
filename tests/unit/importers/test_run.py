"""Importing files and directories into a sink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atlas.core.codec import encode_trajectory
from atlas.core.errors import AtlasError, ImportFailed, StoreUnavailable
from atlas.core.exchange import ExportedExperience
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Task, Trajectory
from atlas.importers import AddCount, ImportReport, all_formats, detect, import_paths
from atlas.importers import run as module
from tests.support.protea import protea

SETTINGS = Settings()


def trajectory_line(number: int = 1):
    trajectory = Trajectory(Task(f"t{number}", "", f"Do {number}"), (), Outcome(True), id=f"{number:032}")
    return {"kind": "trajectory", "trajectory": encode_trajectory(trajectory)}


def run(sink, *paths: Path, **options) -> ImportReport:
    return import_paths(sink, list(paths), **{"settings": SETTINGS} | options)


def test_rows_are_counted_and_a_second_import_adds_nothing(files, sink, tau_row):
    path = files.json("airline.json", [tau_row(trial=n) for n in range(3)])
    first, second = run(sink, path), run(sink, path)
    assert (first.read, first.added, first.skipped, first.rejected, first.files) == (3, 3, 0, 0, 1)
    assert (second.read, second.added, second.skipped) == (3, 0, 3)


def test_every_format_is_recognized_by_its_content(files, tau_row, mbpp_row, inspect_log, sample):
    history = {"history": [{"role": "user", "content": "Fix it."}]}
    paths = {
        "atlas": [
            files.lines("a.x", [trajectory_line()]),
            files.lines("a2.x", [{"kind": "concept", "concept": {}}]),
        ],
        "tau-bench": [files.json("b.x", [tau_row()]), files.lines("b2.x", [tau_row()])],
        "reflexion": [
            files.lines("c.x", [mbpp_row()]),
            files.json("c2.x", [{"name": "env_1", "memory": [], "is_success": True}]),
        ],
        "swe-agent": [files.json("d.x", history), files.raw("d2.x", json.dumps(history, indent=2))],
        "voyager": [files.json("f.x", {"mine": {"code": "x", "description": "y"}})],
        "protea": [protea(files.directory / "g.x")],
        "claude-code": [
            files.lines("h.x", [{"type": "summary"}, {"type": "user", "uuid": "u", "message": {"content": "Do"}}]),
            files.raw("h2.x", json.dumps({"loglines": []}, indent=2)),
        ],
        "codex": [files.lines("i.x", [{"timestamp": "", "type": "session_meta", "payload": {"id": "1"}}])],
        "mini-swe-agent": [
            files.json("m.x", {"info": {"exit_status": ""}, "messages": []}),
            files.json("m2.x", [{"role": "system", "content": "```mswea_bash_command"}]),
        ],
        "openhands": [
            files.json("n.x", [{"source": "user", "timestamp": "", "message": "", "action": "message", "args": {}}])
        ],
        "copilot": [files.lines("o.x", [{"type": "session.start", "timestamp": "", "data": {}}])],
        "gemini-cli": [
            files.json("r.x", {"sessionId": "s", "projectHash": "h", "messages": []}),
            files.lines("r2.x", [{"sessionId": "s", "projectHash": "h"}, {"id": "m", "type": "user", "content": ""}]),
        ],
        "aider": [files.raw("s.x", "\n# aider chat started at 2026-04-01 09:00:00\n\n#### Do\n")],
        "langsmith": [
            files.lines("t.x", [{"id": "r", "run_type": "llm", "inputs": {}}]),
            files.json("t2.x", [{"id": "r", "run_type": "llm", "inputs": {}}]),
        ],
        "openinference": [
            files.lines("u.x", [{"context": {}, "attributes": {}, "parent_id": None}]),
            files.json("u2.x", {"data": [{"context": {}, "span_kind": "LLM"}]}),
            files.json("u3.x", [{"context.span_id": "", "context.trace_id": ""}]),
        ],
        "vscode-chat": [files.json("p.x", {"requesterUsername": "ann", "requests": []})],
        "messages": [
            files.json("q.x", [{"role": "user", "content": "Do"}]),
            files.lines("q2.x", [{"messages": [{"role": "user", "content": "Do"}]}]),
        ],
        "atif": [files.json("j.x", {"schema_version": "ATIF-v1.7", "agent": {}, "steps": []})],
        "langfuse": [files.raw("k.x", json.dumps({"trace": {"id": "t"}, "observations": []}, indent=2))],
        "otlp": [files.json("l.x", {"resourceSpans": []}), files.lines("l2.x", [{"resource_spans": []}])],
        "inspect": [files.json("e.x", inspect_log(sample())), files.zip("e2.x", {"header.json": inspect_log()})],
    }
    found = {name: {detect(path).name for path in some} for name, some in paths.items()}
    assert found == {name: {name} for name in all_formats()}


def test_a_bad_first_line_does_not_hide_the_format(files, tau_row):
    assert detect(files.lines("runs.jsonl", ["{broken", tau_row()])).name == "tau-bench"


def test_an_exported_experience_is_handed_on_with_its_marks(files, sink):
    experience = {
        "id": "e1",
        "task": {"id": "t", "description": "d"},
        "outcome": {"success": True},
        "created_at": "2026-05-01T00:00:00Z",
    }
    run(sink, files.lines("a.jsonl", [{"kind": "experience", "experience": experience, "marks": {"tags": ["x"]}}]))
    [item] = sink.items
    assert isinstance(item, ExportedExperience)
    assert item.marks.tags == ("x",)


def test_directories_are_walked_in_order_and_other_files_skipped(files, sink, tau_row):
    files.json("runs/b/two.json", [tau_row(trial=2)])
    files.json("runs/a/one.json", [tau_row(trial=1)])
    files.raw("runs/LICENSE", "Do what you like.")
    files.raw("runs/empty.json", "")
    report = run(sink, files.directory / "runs")
    assert [item.metadata["trial"] for item in sink.items] == [1, 2]
    assert (report.files, report.read, report.rejected, report.unclaimed) == (4, 2, 0, 2)


def test_a_file_that_is_named_and_of_no_known_format_is_refused(files, sink):
    report = run(sink, files.raw("LICENSE", "Do what you like."))
    assert (report.read, report.rejected, report.unclaimed) == (0, 1, 0)
    assert report.rejections[0].row == 0
    assert "LICENSE is in an unknown format; known: atlas, tau-bench" in report.rejections[0].reason


def test_a_path_that_is_not_there_fails_before_anything_is_stored(files, sink, tau_row):
    path = files.json("airline.json", [tau_row()])
    with pytest.raises(ImportFailed, match=r"nowhere\.json does not exist"):
        run(sink, path, files.directory / "nowhere.json")
    assert sink.items == []


def test_an_unknown_format_fails_before_anything_is_stored(files, sink, tau_row):
    with pytest.raises(ImportFailed, match="there is no format 'csv'; known: auto, atlas, tau-bench, reflexion"):
        run(sink, files.json("airline.json", [tau_row()]), format="csv")


def test_a_named_format_is_taken_at_its_word(files, sink, tau_row):
    report = run(sink, files.json("airline.json", [tau_row()]), format="reflexion")
    assert report.rejections[0].reason == "expected a string for prompt, got nothing"
    with pytest.raises(AtlasError):
        run(sink, files.json("airline.json", [tau_row()]), format="reflexion", strict=True)


def test_one_bad_line_costs_only_itself(files, sink):
    lines = [trajectory_line(1), '{"kind": "traj', trajectory_line(3)]
    report = run(sink, files.lines("a.jsonl", lines))
    assert [item.task.id for item in sink.items] == ["t1", "t3"]
    assert [(rejection.row, rejection.path.name) for rejection in report.rejections] == [(2, "a.jsonl")]
    assert str(report.rejections[0]).endswith(
        "a.jsonl, row 2: is not JSON: Unterminated string starting at character 10"
    )


def test_strict_stops_at_the_first_bad_row_but_keeps_what_came_before(files, sink, tau_row):
    good = files.json("airline.json", [tau_row()])
    bad = files.lines("b.jsonl", [trajectory_line(1), "{", trajectory_line(3)])
    with pytest.raises(ImportFailed, match=r"b\.jsonl, row 2: is not JSON.*2 were added before"):
        run(sink, good, bad, strict=True)
    assert len(sink.items) == 2


def test_strict_names_a_file_that_cannot_be_read_at_all(files, sink):
    with pytest.raises(ImportFailed, match=r"empty\.json: the file is empty"):
        run(sink, files.raw("empty.json", ""), strict=True)


def test_batches_are_bounded_in_number_and_in_bytes(files, sink, monkeypatch):
    monkeypatch.setattr(module, "BATCH_ITEMS", 4)
    path = files.lines("a.jsonl", [trajectory_line(n) for n in range(10)])
    run(sink, path)
    assert sink.batches == [("atlas", 4), ("atlas", 4), ("atlas", 2)]
    sink.batches.clear()
    monkeypatch.setattr(module, "BATCH_BYTES", 1)
    run(sink, path)
    assert sink.batches == [("atlas", 1)] * 10


def test_small_files_of_one_format_share_a_batch(files, sink):
    for n in range(5):
        files.lines(f"d/{n}.jsonl", [trajectory_line(n)])
    run(sink, files.directory / "d")
    assert sink.batches == [("atlas", 5)]


def test_progress_is_in_bytes_and_ends_at_the_total(files, sink, monkeypatch, tau_row, inspect_log, sample):
    monkeypatch.setattr(module, "BATCH_ITEMS", 2)
    paths = [
        files.json("airline.json", [tau_row(trial=n) for n in range(9)]),
        files.raw("empty.json", ""),
        files.zip("log.eval", {"header.json": inspect_log(), "samples/1.json": sample()}),
    ]
    told: list[tuple[int, int]] = []
    run(sink, *paths, on_progress=lambda done, total: told.append((done, total)))
    total = sum(path.stat().st_size for path in paths)
    assert {of for _, of in told} == {total}
    done = [done for done, _ in told]
    assert done == sorted(done)
    assert done[-1] == total
    assert 0 < done[0] < done[1] < total


def test_only_the_first_hundred_rejections_are_listed(files, sink):
    report = run(sink, files.lines("a.jsonl", [trajectory_line(1), *["{"] * 150]))
    assert (report.rejected, len(report.rejections)) == (150, 100)


def test_a_file_that_goes_away_is_reported_and_the_next_is_read(files, tau_row, monkeypatch):
    _, second, _ = (files.json(f"d/{n}.json", [tau_row(trial=n)]) for n in range(3))

    class Deleting:
        def add(self, items, source):
            second.unlink(missing_ok=True)
            return AddCount({"experience": len(items)}, 0)

    monkeypatch.setattr(module, "BATCH_ITEMS", 1)
    report = run(Deleting(), files.directory / "d")
    assert (report.added, report.rejected) == (2, 1)
    assert report.rejections[0].path == second
    reason = "1.json cannot be read: No such file or directory; check the path and its permissions"
    assert report.rejections[0].reason == reason


def test_a_sink_that_fails_is_not_taken_for_a_bad_file(files, tau_row):
    class Full:
        def add(self, items, source):
            raise StoreUnavailable("the disk is full")

    with pytest.raises(StoreUnavailable, match="the disk is full"):
        run(Full(), files.json("airline.json", [tau_row()]))


def test_the_same_row_read_twice_has_the_same_content_wherever_it_lies(files, sink, tau_row, mbpp_row):
    for folder in ("here", "there"):
        files.json(f"{folder}/airline.json", [tau_row()])
        files.lines(f"{folder}/log.jsonl", [mbpp_row()])
    report = run(sink, files.directory)
    assert (report.added, report.skipped) == (2, 2)
