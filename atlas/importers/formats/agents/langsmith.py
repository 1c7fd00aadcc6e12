"""LangSmith's runs, as JSONL or as a JSON list: the runs of a trace are one attempt.

A status of `success` only means that the code raised nothing, and feedback has no fixed meaning. So every outcome is
unknown unless a success rule names a feedback, whose average is the score.

Source:
    https://docs.langchain.com/langsmith/run-data-format
    https://pypi.org/project/langsmith, `langsmith/schemas.py`
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Trajectory
from atlas.importers.fields import Json, as_instant, as_list, as_object, as_text, drop_missing, required_text
from atlas.importers.files import RawRecord, read_records
from atlas.importers.formats.agents.traces import MODEL, OTHER, TOOL, Span, Trace
from atlas.importers.keys import document_keys, record_keys
from atlas.importers.rows import Limits, Row, catch_failure, make_row

SOURCE = "langsmith"
MAX_DEPTH = 50
_KINDS = {"llm": MODEL, "tool": TOOL, "retriever": TOOL}
_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
}
"""Roles, keyed by the type of LangChain's messages, or by the class of serialized messages."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the rows are runs."""
    return any(
        {"run_type", "inputs"} <= keys and keys & {"id", "run_id"} for keys in (document_keys(head), *record_keys(head))
    )


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the traces of a file, whose runs may come in any order."""
    traces: dict[str, _Runs] = {}
    for record in read_records(path, limits):
        if reason := catch_failure(partial(_add_record, record, traces)):
            yield Row(record.position, None, reason, offset=record.end)
    size = path.stat().st_size
    for trace_id, runs in traces.items():
        make = partial(runs.attempt, trace_id)
        yield make_row(runs.position, make, offset=size, n_bytes=size // len(traces))


class _Runs:
    """The runs of one trace."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.spans: dict[str, Span] = {}
        self.root: Json = {}

    def attempt(self, trace_id: str) -> Trajectory:
        """Return the trace as an attempt."""
        return Trace(
            id=trace_id,
            source=SOURCE,
            spans=list(self.spans.values()),
            name=as_text(self.root.get("name"), "name"),
            input_value=_simplify(self.root.get("inputs")),
            output_value=_simplify(self.root.get("outputs")),
            at=as_instant(self.root.get("start_time"), "start_time"),
            scores=_average_scores(self.root),
            metadata=drop_missing(
                project=as_text(self.root.get("session_id"), "session_id"),
                tags=[as_text(tag, "tags") for tag in as_list(self.root.get("tags"), "tags")] or None,
            ),
        ).attempt()


def _add_record(record: RawRecord, traces: dict[str, _Runs]) -> None:
    _add_run(record.value(), traces, record.position)


def _add_run(value: Any, traces: dict[str, _Runs], position: int) -> None:
    run = as_object(value, "the run")
    run_id = required_text(run, "id" if "id" in run else "run_id", "id")
    parent = as_text(run.get("parent_run_id"), "parent_run_id")
    trace_id = as_text(run.get("trace_id"), "trace_id") or ("" if parent else run_id)
    if not trace_id:
        raise InvalidInput("expected the id of the trace's first run for trace_id, got nothing")
    span = _decode_span(run, run_id, parent)
    runs = traces.setdefault(trace_id, _Runs(position))
    runs.spans[run_id] = span
    if not parent:
        runs.root = run
    for n, child in enumerate(as_list(run.get("child_runs"), "child_runs")):
        child_run = as_object(child, f"child_runs[{n}]")
        _add_run({"parent_run_id": run_id, "trace_id": trace_id, **child_run}, traces, position)


def _decode_span(run: Json, run_id: str, parent: str) -> Span:
    extra = as_object(run.get("extra") or {}, "extra")
    metadata_fields = as_object(extra.get("metadata") or {}, "extra.metadata")
    model = metadata_fields.get("ls_model_name")
    return Span(
        id=run_id,
        parent=parent,
        name=as_text(run.get("name"), "name"),
        kind=_KINDS.get(as_text(run.get("run_type"), "run_type"), OTHER),
        start=as_instant(run.get("start_time"), "start_time"),
        end=as_instant(run.get("end_time"), "end_time"),
        input_value=_simplify(run.get("inputs")),
        output_value=_simplify(run.get("outputs")),
        model=model if isinstance(model, str) else "",
        usage={name: run.get(name) for name in ("prompt_tokens", "completion_tokens")},
        cost_usd=_decode_price(run.get("total_cost")),
        error=as_text(run.get("error"), "error"),
    )


def _decode_price(value: Any) -> Any:
    """Return a price, which is a string in some exports, or None."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _average_scores(run: Json) -> Json:
    """Return the average score of each kind of feedback, keyed by kind."""
    stats = as_object(run.get("feedback_stats") or {}, "feedback_stats")
    averages = {name: value.get("avg") for name, value in stats.items() if isinstance(value, dict)}
    return {name: value for name, value in averages.items() if isinstance(value, int | float)}


def _simplify(value: Any, depth: int = 0) -> Any:
    """Return inputs or outputs with LangChain's messages in the common form, and nested lists of messages flattened."""
    if depth > MAX_DEPTH:
        raise InvalidInput("the run nests too deeply; flatten it")
    if isinstance(value, list):
        items = [_simplify(item, depth + 1) for item in value]
        return items[0] if len(items) == 1 and isinstance(items[0], list) else items
    if not isinstance(value, dict):
        return value
    if "generations" in value:
        answers = _simplify(value["generations"], depth + 1)
        answer = answers[0] if isinstance(answers, list) and answers else answers
        return answer.get("message") or answer.get("text") if isinstance(answer, dict) else answer
    name = value["id"][-1] if isinstance(value.get("id"), list) and value["id"] else value.get("type")
    body = next((value[key] for key in ("kwargs", "data") if isinstance(value.get(key), dict)), value)
    role = _ROLES.get(name) if isinstance(name, str) else None
    if role is not None and "content" in body:
        return {"role": role, "content": body["content"], "tool_calls": _tool_calls(body)}
    return {key: _simplify(item, depth + 1) for key, item in value.items()}


def _tool_calls(message: Json) -> list[Any]:
    calls = message.get("tool_calls")
    call_objects = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [call if "function" in call else {"function": call} for call in call_objects]
