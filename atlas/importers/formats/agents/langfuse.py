"""Langfuse's exports: a trace with its observations and scores is one attempt.

Scores have no fixed meaning: unless a success rule names one, every outcome is unknown. All scores are kept.

Source:
    https://langfuse.com/docs/observability/data-model
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Trajectory
from atlas.importers.fields import (
    Json,
    abbreviate,
    as_instant,
    as_list,
    as_object,
    as_text,
    drop_missing,
    required_text,
)
from atlas.importers.files import RawRecord, parse_json, read_document, read_head, read_records
from atlas.importers.formats.agents.traces import MODEL, OTHER, TOOL, Span, Trace
from atlas.importers.keys import document_keys, record_keys
from atlas.importers.rows import Limits, Row, make_row

SOURCE = "langfuse"
_KINDS = {"GENERATION": MODEL, "EMBEDDING": OTHER, "TOOL": TOOL, "RETRIEVER": TOOL}


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file contains traces with their observations."""
    return any(_has_trace_keys(keys, head) for keys in (document_keys(head), *record_keys(head)))


def _has_trace_keys(keys: Set[str], head: bytes) -> bool:
    if "observations" in keys:
        return not keys.isdisjoint({"trace", "id", "timestamp"})
    return "trace" in keys and ("scores" in keys or b'"projectId"' in head)


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the traces of a file: one document, a list of documents, or a document on each line."""
    if _is_document(path, limits):
        raw = read_document(path, limits)
        yield make_row(1, lambda: _decode_attempt(parse_json(raw)), offset=len(raw), n_bytes=len(raw))
        return
    for record in read_records(path, limits):
        make = partial(_record_attempt, record)
        yield make_row(record.position, make, offset=record.end, n_bytes=len(record.raw))


def _is_document(path: Path, limits: Limits) -> bool:
    """Return whether the file is a single object over many lines, rather than JSONL."""
    head = read_head(path, limits).lstrip()
    first = head.partition(b"\n")[0].rstrip()
    return head.startswith(b"{") and not first.endswith(b"}")


def _record_attempt(record: RawRecord) -> Trajectory:
    return _decode_attempt(record.value())


def _decode_attempt(value: Any) -> Trajectory:
    document = as_object(value, "the row")
    trace = as_object(document.get("trace", document), "trace")
    observations = as_list(document.get("observations"), "observations")
    spans = [_decode_span(observation, f"observations[{n}]") for n, observation in enumerate(observations)]
    scores = [*as_list(trace.get("scores"), "trace.scores")]
    if document is not trace:
        scores += as_list(document.get("scores"), "scores")
    return Trace(
        id=required_text(trace, "id", "trace.id"),
        source=SOURCE,
        spans=spans,
        name=as_text(trace.get("name"), "trace.name"),
        input_value=trace.get("input"),
        output_value=trace.get("output"),
        at=as_instant(trace.get("timestamp"), "trace.timestamp"),
        scores=_latest_scores(scores),
        metadata=drop_missing(
            session=as_text(trace.get("sessionId"), "trace.sessionId"),
            release=as_text(trace.get("release"), "trace.release"),
            tags=[as_text(tag, "trace.tags") for tag in as_list(trace.get("tags"), "trace.tags")] or None,
        ),
    ).attempt()


def _decode_span(value: Any, name: str) -> Span:
    observation = as_object(value, name)
    kind = as_text(observation.get("type"), f"{name}.type").upper()
    span_name = as_text(observation.get("name"), f"{name}.name")
    is_tool = span_name.startswith(("tool.", "execute_tool")) and observation.get("input") is not None
    has_failed = observation.get("level") == "ERROR"
    return Span(
        id=required_text(observation, "id", f"{name}.id"),
        parent=as_text(observation.get("parentObservationId"), f"{name}.parentObservationId"),
        name=span_name,
        kind=TOOL if is_tool else _KINDS.get(kind, OTHER),
        start=as_instant(observation.get("startTime"), f"{name}.startTime"),
        end=as_instant(observation.get("endTime"), f"{name}.endTime"),
        input_value=observation.get("input"),
        output_value=observation.get("output"),
        model=as_text(observation.get("model"), f"{name}.model"),
        usage=observation.get("usageDetails"),
        cost_usd=observation.get("totalCost"),
        error=(as_text(observation.get("statusMessage"), f"{name}.statusMessage") or "error") if has_failed else "",
    )


def _latest_scores(values: list[Any]) -> Json:
    """Return the latest score of each name."""
    scores: list[tuple[str, str, Any]] = []
    for n, value in enumerate(values):
        score = as_object(value, f"scores[{n}]")
        name = required_text(score, "name", f"scores[{n}].name")
        score_value = score.get("value")
        if isinstance(score_value, dict | list):
            raise InvalidInput(f"expected a number or a string for scores[{n}].value, got {abbreviate(score_value)}")
        score_value = score.get("stringValue") if score_value is None else score_value
        scores.append((as_text(score.get("timestamp"), f"scores[{n}].timestamp"), name, score_value))
    return {name: value for _, name, value in sorted(scores, key=lambda entry: entry[0])}
