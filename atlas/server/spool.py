"""A durable queue of incomplete traces, each of which becomes an attempt once it is complete.

Spans of a trace arrive late, in any order, and in several requests. So each trace has a file, which becomes an attempt
some time after its last span, or later if the root span is missing. Later spans are added to the attempt. Spans are
flushed to disk before the response. After a crash at any point, the next process continues with the files.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlas.core.errors import AtlasError, InvalidInput, NotAllowed
from atlas.core.types import Experience, Trajectory
from atlas.importers.fields import Json
from atlas.importers.formats.agents.otlp import SpanRequest, decode_spans, group_into_traces
from atlas.importers.formats.agents.traces import Trace
from atlas.importers.logs import as_exported, stable_id
from atlas.infra.actor import Actor, Role, acting, actor_name
from atlas.infra.durable_files import append_durably
from atlas.infra.fork_safety import InterProcessLock
from atlas.infra.secrets import scrub_record
from atlas.memory.system import MemorySystem

logger = logging.getLogger(__name__)

FOLDER = "received"
"""Name of the spool's directory in a store."""

QUIET_SECONDS = 30.0
"""Time after the last span at which a trace with its root span is complete."""

MAX_SECONDS = 600.0
"""Time after the last span at which any trace is complete."""

MAX_TRACE_BYTES = 64 * 2**20
"""Maximum size of a trace. Further spans are rejected."""

PAUSE_SECONDS = 2.0
KEPT_SECONDS = 7 * 86_400.0
"""Retention of traces that cannot become attempts."""

SPANS = "spans"
"""Key in an attempt's metadata with the ids of its spans."""

_REFUSED_SUFFIX = ".refused"


@dataclass(frozen=True, slots=True)
class SpooledTrace:
    """The content of a trace's file."""

    writer: Actor
    trace: Trace
    has_root: bool


class TraceSpool:
    """The incomplete traces of one store, in files. Several processes may use them concurrently."""

    def __init__(
        self, directory: Path, *, quiet_seconds: float = QUIET_SECONDS, longest_seconds: float = MAX_SECONDS
    ) -> None:
        """Open the spool in a store's directory. Its folder is created with the first trace."""
        self._folder = directory / FOLDER
        self._quiet_seconds = quiet_seconds
        self._longest_seconds = longest_seconds

    def add_spans(self, writer: Actor, spans: Sequence[SpanRequest]) -> list[str]:
        """Store spans durably. Return one problem for each trace whose spans were rejected."""
        requests_by_trace: dict[str, list[Json]] = {}
        for span in spans:
            requests_by_trace.setdefault(span.trace, []).append(span.request)
        problems: list[str] = []
        folder = self._folder / hashlib.sha256(writer.name.encode()).hexdigest()[:16]
        with self._lock():
            folder.mkdir(exist_ok=True)
            for trace, requests in requests_by_trace.items():
                path = folder / f"{trace}.jsonl"
                header = {"writer": writer.name, "is_reviewed": writer.is_reviewed, "scope": dict(writer.scope)}
                text = "".join(f"{json.dumps(header | {'request': request})}\n" for request in requests)
                if len(text) + (path.stat().st_size if path.exists() else 0) > MAX_TRACE_BYTES:
                    problems.append(
                        f"trace {trace} has more than {MAX_TRACE_BYTES:,} bytes, so further spans are rejected"
                    )
                    continue
                append_durably(path, text)
        return problems

    def n_incomplete(self) -> int:
        """Return the number of incomplete traces."""
        return len(self._incomplete_files())

    def n_refused(self) -> int:
        """Return the number of traces that could not become attempts. They are kept for a week."""
        return len(self._refused_files())

    def store_complete_traces(self, memory: MemorySystem) -> int:
        """Convert complete traces to attempts. Return the number of stored attempts.

        A trace that cannot be stored is retried at the next call. An unreadable trace is logged and set aside, and
        removed after `KEPT_SECONDS`.
        """
        if not (self._incomplete_files() or self._refused_files()):
            return 0
        with self._lock():
            for path in self._refused_files():
                if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                    path.unlink(missing_ok=True)
            return sum(self._store_if_complete(memory, path) for path in self._incomplete_files())

    def store_complete_traces_in(self, open_memory: Callable[[], MemorySystem]) -> None:
        """Convert complete traces to attempts. `open_memory` is called only if the spool contains traces."""
        if self.n_incomplete() or self.n_refused():
            self.store_complete_traces(open_memory())

    def _store_if_complete(self, memory: MemorySystem, path: Path) -> bool:
        """Store the trace in a file as an attempt, if it is complete, and return whether it was stored.

        Set the file aside if the trace cannot become an attempt. Keep it if the store cannot be written now.
        """
        idle = time.time() - path.stat().st_mtime
        if idle < self._quiet_seconds:
            return False
        try:
            spooled = _read_trace(path)
            if not spooled.has_root and idle < self._longest_seconds:
                return False
            if not spooled.trace.is_of_agent:
                logger.info("trace %s has no attribute of an agent or a model, and is dropped", spooled.trace.id)
                path.unlink()
                return False
            attempt = _to_attempt(spooled.trace)
        except Exception as error:  # noqa: BLE001 - the other traces are still stored
            _set_aside(path, error)
            return False
        try:
            with acting(spooled.writer):
                _store_attempt(memory, attempt, spooled.trace)
        except (InvalidInput, NotAllowed) as error:
            _set_aside(path, error)
            return False
        except AtlasError as error:
            logger.warning("a trace could not be stored yet, and will be retried: %s", error)
            return False
        path.unlink()
        return True

    def _incomplete_files(self) -> list[Path]:
        return sorted(self._folder.glob("*/*.jsonl"))

    def _refused_files(self) -> list[Path]:
        return sorted(self._folder.glob(f"*/*.jsonl{_REFUSED_SUFFIX}"))

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with InterProcessLock(self._folder / "lock").locked():
            yield


def _read_trace(path: Path) -> SpooledTrace:
    """Read the trace in a file.

    Raises:
        InvalidInput: The file contains no trace.
    """
    lines = [line for raw_line in path.read_bytes().split(b"\n") if (line := _parse_line(raw_line))]
    if not lines:
        raise InvalidInput("expected at least one span in the file, got none")
    requests = [request for line in lines for request in decode_spans(line["request"], logger.warning)]
    requests_by_span = {request.span.id: request for request in requests}
    [trace] = group_into_traces(requests_by_span.values())
    return SpooledTrace(
        writer=_writer(lines[-1]),
        trace=trace,
        has_root=any(not request.span.parent for request in requests),
    )


def _writer(line: Json) -> Actor:
    scope = line.get("scope", {}).items()
    return Actor(line["writer"], Role.WRITER, line["is_reviewed"], scope=tuple(scope))


def _parse_line(raw_line: bytes) -> Any:
    """Return a parsed line, or None for a partial line, whose spans the server never acknowledged."""
    try:
        return json.loads(raw_line) if raw_line.strip() else None
    except ValueError:
        return None


def _set_aside(path: Path, error: Exception) -> None:
    logger.warning(
        "a trace could not become an attempt, and is kept for a week as %s%s: %s", path.name, _REFUSED_SUFFIX, error
    )
    path.rename(path.with_name(path.name + _REFUSED_SUFFIX))


def _to_attempt(trace: Trace) -> Trajectory:
    """Return a trace as an attempt, without secrets, with the ids of its spans."""
    scrubbed = scrub_record(trace.attempt(), Counter())
    assert isinstance(scrubbed, Trajectory)
    return replace(scrubbed, metadata={**scrubbed.metadata, SPANS: sorted(span.id for span in trace.spans)})


def _store_attempt(memory: MemorySystem, attempt: Trajectory, trace: Trace) -> None:
    """Store an attempt under its own id, as an import does, or add later spans to it.

    Later spans of another writer become an attempt of that writer.
    """
    stored = memory.experience.get(attempt.id)
    late_trace = trace if stored is None else _drop_known_spans(stored, trace)
    if stored is not None and late_trace.spans and not _is_own(memory, stored.id):
        attempt = replace(_to_attempt(late_trace), id=stable_id(trace.source, trace.id, actor_name("")))
        stored = memory.experience.get(attempt.id)
        late_trace = late_trace if stored is None else _drop_known_spans(stored, late_trace)
    if stored is None:
        memory.experience.as_operation("store").restore_many([as_exported(attempt)])
    elif late_trace.spans:
        _add_steps(memory, stored, _to_attempt(late_trace))


def _drop_known_spans(stored: Experience, trace: Trace) -> Trace:
    """Return a trace without the spans that a stored attempt contains. An imported attempt counts as containing all."""
    known_span_ids = stored.metadata.get(SPANS)
    late_spans = [] if known_span_ids is None else [span for span in trace.spans if span.id not in known_span_ids]
    return replace(trace, spans=late_spans, name=trace.name or "late spans")


def _is_own(memory: MemorySystem, experience_id: str) -> bool:
    """Return whether the current actor stored an experience."""
    try:
        memory.experience.collection.check_may_change([experience_id])
    except NotAllowed:
        return False
    return True


def _add_steps(memory: MemorySystem, stored: Experience, addition: Trajectory) -> None:
    memory.experience.collection.check_may_change([stored.id])
    spans = sorted({*stored.metadata[SPANS], *addition.metadata[SPANS]})
    memory.experience.as_operation("store", "later spans of the trace").edit(
        stored.id, steps=(*stored.steps, *addition.steps), metadata={**stored.metadata, SPANS: spans}
    )
