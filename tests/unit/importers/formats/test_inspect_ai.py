"""Inspect's logs as trajectories."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime

import pytest

from atlas.core.errors import ImportFailed
from atlas.core.types import Step

HASH = "0" * 32


def test_a_sample_becomes_a_trajectory(files, inspect_log, sample):
    read = files.only("inspect", files.json("log.json", inspect_log(sample())))
    assert read.task.id == "inspect/sums/1"
    assert read.task.description == "What is 1 + 1?"
    assert read.task.verification.parameters == {"target": "2"}
    assert read.steps == (Step(action="2"),)
    assert read.outcome.success is True
    assert read.agent_id == "some/model"
    assert read.timestamp == datetime(2025, 2, 11, 20, 17, tzinfo=UTC)
    assert read.metadata == {
        "source": "inspect",
        "status": "success",
        "task": "sums",
        "epoch": 1,
        "system_prompt": "Be brief.",
        "solution": "2",
        "feedback": "exactly so",
    }


def test_a_packed_log_gives_the_same_as_json(files, inspect_log, sample):
    log = inspect_log(sample(), sample(id=2))
    header = {name: value for name, value in log.items() if name != "samples"}
    entries = {f"samples/{n}_epoch_1.json": sample(id=n) for n in (1, 2)} | {"header.json": header}
    packed = files.read("inspect", files.zip("log.eval", entries))
    plain = files.read("inspect", files.json("log.json", log))
    assert [row.item.task for row in packed] == [row.item.task for row in plain]
    assert [row.item.metadata for row in packed] == [row.item.metadata for row in plain]


def test_a_log_that_broke_off_is_read_from_its_journal(files, inspect_log, sample):
    entries = {"_journal/start.json": {"version": 2, "eval": inspect_log()["eval"]}, "samples/1.json": sample()}
    assert files.only("inspect", files.zip("log.eval", entries)).metadata["status"] == "started"


@pytest.mark.parametrize(
    ("values", "success", "score"),
    [
        (["C"], True, None),
        (["I"], False, None),
        (["P"], None, 0.5),
        (["N"], None, None),
        ([1], True, 1.0),
        ([0.0], False, 0.0),
        ([0.25], None, 0.25),
        ([7], None, None),
        ([True], True, None),
        ([float("nan")], None, None),
        ([{"a": 1}], None, None),
        (["C", "C", "N"], True, None),
        (["C", "I"], False, None),
        (["C", 0.5], True, 0.5),
        ([1.0, 0.5], True, 0.75),
        ([10**400], None, None),
        ([None], None, None),
    ],
)
def test_the_scores_decide_the_outcome(files, inspect_log, sample, values, success, score):
    scores = {f"s{n}": {"value": value} for n, value in enumerate(values)}
    outcome = files.only("inspect", files.json("log.json", inspect_log(sample(scores=scores)))).outcome
    assert (outcome.success, outcome.partial_score) == (success, score)


def test_without_scores_the_outcome_is_unknown_and_an_error_is_kept(files, inspect_log, sample):
    broken = sample(scores=None, error={"message": "sandbox died", "traceback": "…"})
    outcome = files.only("inspect", files.json("log.json", inspect_log(broken))).outcome
    assert outcome.success is None
    assert outcome.error_info == "sandbox died"


def test_tool_calls_and_what_they_returned_become_steps(files, inspect_log, sample):
    messages = [
        {"role": "user", "content": "What is 1 + 1?"},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "I compute."}],
            "tool_calls": [{"id": "1", "function": "bash", "arguments": {"cmd": "echo 2"}}],
        },
        {"role": "tool", "function": "bash", "content": "", "error": {"type": "timeout", "message": "too slow"}},
        {"role": "assistant", "content": "2"},
    ]
    read = files.only("inspect", files.json("log.json", inspect_log(sample(messages=messages))))
    heard = {"observation_from": "tool bash"}
    assert read.steps == (
        Step("Hm.\n\nI compute.", 'bash({"cmd": "echo 2"})', "[timeout] too slow", heard),
        Step(action="2"),
    )


def test_attachments_are_put_back_and_blobs_are_only_named(files, inspect_log, sample):
    picture = "data:image/png;base64," + "A" * 500
    parts = [{"type": "text", "text": f"attachment://{HASH}"}, {"type": "image", "image": picture}]
    log_sample = sample(
        input=[{"role": "user", "content": parts}],
        attachments={HASH: "A long question"},
        messages=[{"role": "user", "content": parts}, {"role": "assistant", "content": f"It shows {picture}."}],
        metadata={"thumbnail": picture},
    )
    read = files.only("inspect", files.json("log.json", inspect_log(log_sample)))
    assert read.task.description == "A long question\n\n[image]"
    assert read.steps == (Step(action="It shows [image]."),)
    assert read.task.context == {"metadata": {"thumbnail": "[image]"}}


def test_attachments_that_unfold_without_bound_are_refused(files, inspect_log, sample):
    messages = [{"role": "user", "content": f"attachment://{HASH}"}] * 300
    bomb = sample(attachments={HASH: "x" * 4_000}, messages=messages)
    path = files.json("log.json", inspect_log(bomb))
    [row] = files.read("inspect", path, max_document_bytes=1_000_000)
    assert "the attachments of the sample exceed 1 MB" in row.reason


def test_nan_that_is_not_kept_does_no_harm_and_kept_nan_becomes_null(files, inspect_log, sample):
    text = json.dumps(inspect_log(sample(metadata={"loss": float("nan")}), results={"accuracy": float("nan")}))
    assert "NaN" in text
    read = files.only("inspect", files.raw("log.txt", text))
    assert read.task.context == {"metadata": {"loss": None}}


def test_the_header_may_come_after_the_samples(files, inspect_log, sample):
    log = dict(reversed(list(inspect_log(sample()).items())))
    assert files.only("inspect", files.json("log.json", log)).agent_id == "some/model"


@pytest.mark.parametrize("samples", [[], None])
def test_a_log_without_samples_gives_no_rows(files, inspect_log, samples):
    assert files.read("inspect", files.json("log.json", inspect_log(samples=samples))) == []


def test_samples_before_a_cut_are_kept(files, inspect_log, sample):
    text = json.dumps(inspect_log(sample(), sample(id=2)))
    rows = files.read("inspect", files.raw("log.json", text[:-200]))
    assert rows[0].item is not None
    assert "truncated" in rows[-1].reason
    assert rows[-1].position == 2


def test_a_sample_has_its_own_time_where_the_log_says_it(files, inspect_log, sample):
    done = sample(completed_at="2025-03-01T00:00:00Z")
    assert files.only("inspect", files.json("log.json", inspect_log(done))).timestamp == datetime(
        2025, 3, 1, tzinfo=UTC
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": None}, "expected a string or a whole number for id"),
        ({"input": 5}, "expected a list for input, got type int"),
        ({"input": [5]}, "expected an object for input[0], got type int"),
        ({"messages": {}}, "expected a list for messages, got type dict"),
        ({"messages": [{"role": "tool", "error": "x"}]}, "expected an object for messages[0].error, got 'x'"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
            "expected a string for messages[0].tool_calls[0].function",
        ),
        ({"scores": []}, None),
        ({"scores": [1]}, "expected an object for scores, got type list"),
        ({"scores": {"match": 1}}, "expected an object for scores.match, got type int"),
        ({"scores": {"match": {"value": "C", "explanation": 5}}}, "expected a string for scores.match.explanation"),
        ({"error": "x"}, "expected an object for error, got 'x'"),
        ({"epoch": "x"}, "expected a number for epoch, got 'x'"),
        ({"output": 5}, "expected an object for output, got type int"),
        ({"output": {"choices": [5]}}, "expected an object for output.choices[0], got type int"),
        ({"attachments": 5}, "expected an object for attachments, got type int"),
        ({"completed_at": "noon"}, "expected an ISO 8601 time for completed_at, got 'noon'"),
        ({"completed_at": "0001-01-01T00:00:00+14:00"}, "expected an ISO 8601 time for completed_at"),
    ],
)
def test_a_field_of_the_wrong_type_is_named_and_costs_its_sample_only(files, inspect_log, sample, changes, reason):
    rows = files.read("inspect", files.json("log.json", inspect_log(sample(), sample(**changes), sample(id=3))))
    assert [row.item is None for row in rows] == [False, reason is not None, False]
    assert (reason or "") in rows[1].reason


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"version": 1, "status": ', "header cannot be read: the file ends in the middle"),
        ('{"version": 1, "status": "success"}', "header cannot be read: expected an object for eval, got nothing"),
        ('{"version": 1, "status": "success", "eval": {"task": 5}}', "expected a string for eval.task"),
        (
            '{"version": 1, "status": "x", "eval": {"task": "t", "created": "x"}}',
            "expected an ISO 8601 time for eval.created",
        ),
    ],
)
def test_a_log_without_a_header_is_refused_as_a_whole(files, text, message):
    with pytest.raises(ImportFailed, match=message):
        files.read("inspect", files.raw("log.txt", text))


def test_samples_that_are_no_list_are_refused(files, inspect_log):
    [row] = files.read("inspect", files.json("log.json", inspect_log(samples={"a": "list it is not"})))
    assert "expected a list for samples" in row.reason


def header(inspect_log):
    return {"header.json": {name: value for name, value in inspect_log().items() if name != "samples"}}


def test_one_entry_that_unpacks_to_too_much_is_refused_and_the_others_are_read(files, inspect_log, sample):
    bomb = json.dumps(sample(id=2, metadata={"x": " " * 20_000_000}))
    path = files.zip("log.eval", header(inspect_log) | {"samples/2.json": bomb, "samples/1.json": sample()})
    rows = files.read("inspect", path)
    assert "samples/2.json unpacks to 1,0" in rows[0].reason
    assert "times its compressed size" in rows[0].reason
    assert rows[1].item is not None
    rows = files.read("inspect", path, max_document_bytes=1_000_000)
    assert "samples/2.json unpacks to 19 MB, more than the 1 MB that are read at once" in rows[0].reason


def test_a_packed_file_that_unpacks_to_too_much_is_refused_as_a_whole(files, inspect_log):
    entries = {f"samples/{n}.json": "0" * 1_000_000 for n in range(30)}
    with pytest.raises(ImportFailed, match="the file unpacks to 29 MB, more than the 10 MB that are allowed"):
        files.read("inspect", files.zip("log.eval", header(inspect_log) | entries), max_file_bytes=10 * 2**20)


def test_too_many_entries_are_refused_before_they_are_listed(files):
    path = files.zip("log.eval", {f"{n}": "" for n in range(101)})
    with pytest.raises(ImportFailed, match="more than 100 entries"):
        files.read("inspect", path, max_entries=100)


def test_an_entry_that_is_larger_than_it_declares_is_refused(files, inspect_log, sample):
    path = files.zip("log.eval", header(inspect_log) | {"samples/1.json": sample()})
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"PK\x01\x02")
    raw[at + 24 : at + 28] = (10).to_bytes(4, "little")
    path.write_bytes(raw)
    [row] = files.read("inspect", path)
    assert "samples/1.json cannot be unpacked" in row.reason


def test_damaged_and_strangely_packed_entries_are_refused_by_name(files, inspect_log, sample):
    path = files.zip("log.eval", header(inspect_log) | {"samples/1.json": sample()}, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b"What is 1", b"What is 2", 1))
    [row] = files.read("inspect", path)
    assert "samples/1.json cannot be unpacked: Bad CRC-32" in row.reason
    path = files.zip("bz2.eval", {"samples/1.json": sample()}, zipfile.ZIP_BZIP2)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header(inspect_log)["header.json"]))
    [row] = files.read("inspect", path)
    assert "samples/1.json has the unsupported compression method 12; repack it with deflate" in row.reason


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"notes.txt": "x"}, "contains neither header.json nor _journal/start.json"),
        ({"header.json": "{"}, "header.json cannot be read: is not JSON"),
        ({"header.json": "[]"}, "expected an object for header.json"),
    ],
)
def test_a_packed_file_that_is_no_log_is_refused(files, entries, message):
    with pytest.raises(ImportFailed, match=message):
        files.read("inspect", files.zip("log.eval", entries))


def test_a_packed_file_that_is_cut_off_is_refused(files, inspect_log, sample):
    path = files.zip("log.eval", header(inspect_log) | {"samples/1.json": sample()})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ImportFailed, match="is not a readable zip file, or is truncated"):
        files.read("inspect", path)
