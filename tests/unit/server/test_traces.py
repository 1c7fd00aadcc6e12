"""Traces from an exporter: on the disk when the answer comes, an attempt once they are quiet, and none lost."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

import atlas
from atlas.access.keys import ApiKeys
from atlas.importers.run import import_paths
from atlas.importers.sink import MemorySink
from atlas.infra.actor import Role
from atlas.server.spool import FOLDER, TraceSpool

TRACE, ROOT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GZIP = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
SECRET = "sk-abcdefghijklm0123456789"


def span(number: int = 0, *, root: bool = False, trace: str = TRACE, said: str = "54 million km") -> dict[str, Any]:
    """A call to a model, or the root of the trace."""
    asked = json.dumps([{"role": "user", "content": "How far is Mars?"}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    return {
        "traceId": trace,
        "spanId": ROOT if root else f"{number + 1:016x}",
        "parentSpanId": "" if root else ROOT,
        "name": "agent" if root else "chat",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_700_000_001_000_000_000 + number),
        "attributes": []
        if root
        else [{"key": key, "value": {"stringValue": held}} for key, held in attributes.items()],
    }


def body(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"spans": list(spans)}]}]}


@pytest.fixture
def api(address: str):
    with httpx.Client(base_url=f"{address}/api/v1", timeout=60) as client:
        yield client


def close(memory: atlas.MemorySystem, *, longest_seconds: float = 0) -> int:
    """Let the spool of the server take every trace for quiet."""
    return TraceSpool(memory.storage.path, quiet_seconds=0, longest_seconds=longest_seconds).store_complete_traces(
        memory
    )


def stored(memory: atlas.MemorySystem) -> list[atlas.Experience]:
    return memory.experience.get_many(memory.experience.ids({"source": "otlp"}))


def test_spans_of_several_requests_become_one_attempt_once_the_root_is_there(api, memory):
    assert api.post("/traces", json=body(span(1, said="It is 54 million km."))).json() == {}
    assert close(memory, longest_seconds=600) == 0
    assert api.post("/traces", json=body(span(root=True), span(0, said="I look it up."))).json() == {}
    assert close(memory, longest_seconds=600) == 1
    [attempt] = stored(memory)
    assert (attempt.task.description, attempt.outcome.success) == ("How far is Mars?", None)
    assert [step.action for step in attempt.steps] == ["I look it up.", "It is 54 million km."]
    assert memory.history(1)[0].actor == "owner"
    assert TraceSpool(memory.storage.path).n_incomplete() == 0


def test_a_trace_of_another_program_becomes_no_attempt(api, memory):
    plain = span(root=True) | {"attributes": [{"key": "http.request.method", "value": {"stringValue": "GET"}}]}
    assert api.post("/traces", json=body(plain)).json() == {}
    assert close(memory) == 0
    assert (stored(memory), TraceSpool(memory.storage.path).n_incomplete()) == ([], 0)


def test_protobuf_and_gzip_are_read_as_exporters_send_them(api, memory):
    packed = ParseDict(
        body({**span(0), "traceId": "Cvdlkhbc Q92ESOshHIAxnA==".replace(" ", ""), "spanId": "AAAAAAAAAAE="}),
        ExportTraceServiceRequest(),
        ignore_unknown_fields=True,
    )
    packed.resource_spans[0].scope_spans[0].spans[0].parent_span_id = b""
    headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "gzip"}
    answer = api.post("/traces", content=gzip.compress(packed.SerializeToString()), headers=headers)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-protobuf")
    assert not ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans
    assert close(memory) == 1
    assert len(stored(memory)) == 1


def test_spans_that_come_after_the_attempt_was_made_are_added_to_it_once(api, memory):
    api.post("/traces", json=body(span(root=True), span(0)))
    close(memory)
    api.post("/traces", json=body(span(5, said="And one more thing.")))
    [late] = (memory.storage.path / FOLDER).glob("*/*.jsonl")
    as_before = late.read_bytes()
    assert close(memory) == 1
    late.write_bytes(as_before)  # as if the process had been killed before the file was gone
    assert close(memory) == 1
    [attempt] = stored(memory)
    assert [step.action for step in attempt.steps] == ["54 million km", "And one more thing."]


def test_a_line_that_was_cut_costs_itself_only(api, memory):
    api.post("/traces", json=body(span(0)))
    [file] = (memory.storage.path / FOLDER).glob("*/*.jsonl")
    file.write_bytes(file.read_bytes() + b'{"writer": "owner", "requ')
    api.post("/traces", json=body(span(1, said="Then this."), span(root=True)))
    assert close(memory) == 1
    assert len(stored(memory)[0].steps) == 2


def test_a_span_that_cannot_be_read_is_refused_by_name_and_the_others_are_kept(api, memory):
    answer = api.post("/traces", json=body({**span(3), "traceId": "no"}, span(0))).json()
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "traceId" in answer["partialSuccess"]["errorMessage"]
    assert close(memory) == 1


def test_what_it_holds_is_scrubbed_and_named_for_its_key(api, memory):
    secret = ApiKeys(memory.storage.path).add("exporter", Role.WRITER, is_reviewed=True, created_by="owner")[1]
    headers = {"Authorization": f"Bearer {secret}"}
    api.post("/traces", json=body(span(0, said=f"I used {SECRET}"), span(root=True)), headers=headers)
    close(memory)
    [attempt] = stored(memory)
    assert SECRET not in str(attempt)
    assert memory.experience.marks([attempt.id])[attempt.id].held_for == "exporter"
    assert memory.history(1)[0].actor == "exporter"


@pytest.mark.parametrize(
    ("content", "headers", "status", "said"),
    [
        (b"{", {"Content-Type": "application/json"}, 422, "JSON"),
        (b'{"spans": []}', {"Content-Type": "application/json"}, 422, "resourceSpans"),
        (b"\xff\xff", {"Content-Type": "application/x-protobuf"}, 422, "ExportTraceServiceRequest"),
        (b"{}", {"Content-Type": "text/plain"}, 422, "application/x-protobuf"),
        (b"x", GZIP, 422, "gzip"),
        (gzip.compress(b"{}", mtime=0)[:-4], GZIP, 422, "is truncated"),
        (gzip.compress(bytes(70 * 2**20), mtime=0), GZIP, 413, "at most"),
    ],
)
def test_a_body_that_is_none_is_refused_and_nothing_is_kept(api, memory, content, headers, status, said):
    answer = api.post("/traces", content=content, headers=headers)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert TraceSpool(memory.storage.path).n_incomplete() == 0


def test_a_viewer_sends_none(api, memory):
    secret = ApiKeys(memory.storage.path).add("viewer", Role.VIEWER, created_by="owner")[1]
    answer = api.post("/traces", json=body(span(0)), headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 403
    assert TraceSpool(memory.storage.path).n_incomplete() == 0


def sent_with(memory: atlas.MemorySystem, api, name: str, *spans: dict[str, Any], **given) -> dict[str, str]:
    """Send spans with a new key of a writer."""
    secret = ApiKeys(memory.storage.path).add(name, Role.WRITER, created_by="owner", **given)[1]
    headers = {"Authorization": f"Bearer {secret}"}
    assert api.post("/traces", json=body(*spans), headers=headers).status_code == 200
    return headers


def test_a_part_of_a_trace_that_is_sent_again_adds_nothing(api, memory):
    api.post("/traces", json=body(span(root=True), span(0, said="one"), span(1, said="two")))
    close(memory)
    api.post("/traces", json=body(span(1, said="two"), span(2, said="three")))
    assert close(memory) == 1
    assert [step.action for step in stored(memory)[0].steps] == ["one", "two", "three"]


def test_two_keys_that_send_spans_of_one_trace_make_an_attempt_each(api, memory):
    sent_with(memory, api, "agent", span(root=True), span(0, said="one"))
    headers = sent_with(memory, api, "tools", span(1, said="two"))
    assert close(memory) == 2
    api.post("/traces", json=body(span(1, said="two"), span(2, said="three")), headers=headers)
    assert close(memory) == 1
    assert {operation.actor for operation in memory.history(3)} == {"agent", "tools"}
    assert sorted(len(attempt.steps) for attempt in stored(memory)) == [1, 2]
    assert {attempt.metadata["trace"] for attempt in stored(memory)} == {TRACE}


def test_a_trace_that_nothing_can_be_made_of_stops_no_other(api, memory):
    deep = json.dumps({"a": 1})
    for _ in range(600):
        deep = f'{{"a": {deep}}}'
    hostile = span(0, said=deep, trace="0" * 31 + "1")
    assert api.post("/traces", json=body(hostile, span(0))).status_code == 200
    close(memory)
    assert [attempt.task.description for attempt in stored(memory)][-1] == "How far is Mars?"
    assert TraceSpool(memory.storage.path).n_incomplete() == 0
    assert api.get("/health").json()["n_traces_refused"] == TraceSpool(memory.storage.path).n_refused()


def test_a_trace_that_a_file_had_as_a_whole_is_known_again(api, memory, tmp_path):
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(body(span(root=True), span(0))))
    first = import_paths(MemorySink(memory, "import"), [path], format="otlp", settings=memory.storage.settings)
    assert first.added == 1
    api.post("/traces", json=body(span(root=True), span(0)))
    close(memory)
    assert [len(attempt.steps) for attempt in stored(memory)] == [1]


def test_a_trace_that_was_sent_is_known_to_an_import(api, memory, tmp_path):
    api.post("/traces", json=body(span(root=True), span(0)))
    close(memory)
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(body(span(root=True), span(0))))
    again = import_paths(MemorySink(memory, "import"), [path], format="otlp", settings=memory.storage.settings)
    assert (again.added, again.skipped, len(stored(memory))) == (0, 1, 1)


def test_a_large_resource_is_kept_once_for_its_name_alone(api, memory):
    request = body(*(span(n) for n in range(100)))
    large = [{"key": "service.name", "value": {"stringValue": "astronomer"}}]
    large.append({"key": "process.environment", "value": {"stringValue": "x" * 200_000}})
    request["resourceSpans"][0]["resource"]["attributes"] = large
    assert api.post("/traces", json=request).json() == {}
    [file] = (memory.storage.path / FOLDER).glob("*/*.jsonl")
    assert file.stat().st_size < 200_000
    close(memory)
    assert stored(memory)[0].task.domain == "astronomer"


def test_what_comes_late_to_an_accepted_attempt_is_refused_once_and_counted(api, memory):
    headers = sent_with(memory, api, "intern", span(root=True), span(0), is_reviewed=True)
    close(memory)
    memory.experience.release([stored(memory)[0].id])
    api.post("/traces", json=body(span(1, said="late")), headers=headers)
    assert close(memory) == 0
    spool = TraceSpool(memory.storage.path)
    assert (spool.n_incomplete(), spool.n_refused()) == (0, 1)
    memory.apply_purge(memory.plan_purge([stored(memory)[0].id]))
    assert spool.n_refused() == 0, "it may say what was purged"
