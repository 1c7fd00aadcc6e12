"""Traces that are still coming in: kept on the disk from the answer on, until each is an attempt in the memory.

Spans of a trace come late, in any order, and in any number of requests. So each trace has a file of its own, which
becomes an attempt once the trace is quiet: a while after its last span where its root has come, and longer where not.
Spans that come after that are added to the attempt.

An answer is given once the spans are on the disk. A process that is killed, at whatever line, leaves a file that the
next one goes on with.
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
from atlas.core.types import Trajectory
from atlas.importers.fields import Json
from atlas.importers.formats.agents.otlp import SpanRequest, decode_spans, traces
from atlas.importers.formats.agents.traces import Trace
from atlas.importers.logs import as_exported
from atlas.infra.actor import Actor, Role, acting
from atlas.infra.durable_files import append_durably
from atlas.infra.fork_safety import InterProcessLock
from atlas.infra.secrets import scrub_record
from atlas.memory.system import MemorySystem

logger = logging.getLogger(__name__)

FOLDER = "received"
"""Name of the folder in a store's directory."""

QUIET_SECONDS = 30.0
"""Time after the last span from which on a trace whose root has come is over."""

MAX_SECONDS = 600.0
"""Time after the last span from which on any trace is over."""

MAX_TRACE_BYTES = 64 * 2**20
"""Size from which on no more spans of one trace are taken."""

PAUSE_SECONDS = 2.0
KEPT_SECONDS = 7 * 86_400.0
"""Time for which a trace is kept that cannot become an attempt."""

SPANS = "spans"
"""Key in an attempt's metadata for the ids of the spans that it was made of."""

_REFUSED = ".refused"


@dataclass(frozen=True, slots=True)
class SpooledTrace:
    """A trace as its file holds it."""

    writer: Actor
    trace: Trace
    has_root: bool


class Spool:
    """The traces of one store that are still coming in. Several processes may take and close them at once."""

    def __init__(
        self, directory: Path, *, quiet_seconds: float = QUIET_SECONDS, longest_seconds: float = MAX_SECONDS
    ) -> None:
        """Use a store's directory. Nothing is written before the first trace."""
        self._folder = directory / FOLDER
        self._quiet = quiet_seconds
        self._longest = longest_seconds

    def take(self, writer: Actor, spans: Sequence[SpanRequest]) -> list[str]:
        """Keep spans, durably, and return why some were not kept."""
        by_trace: dict[str, list[Json]] = {}
        for span in spans:
            by_trace.setdefault(span.trace, []).append(span.request)
        problems: list[str] = []
        folder = self._folder / hashlib.sha256(writer.name.encode()).hexdigest()[:16]
        with self._locked():
            folder.mkdir(exist_ok=True)
            for trace, requests in by_trace.items():
                path = folder / f"{trace}.jsonl"
                header = {"writer": writer.name, "is_reviewed": writer.is_reviewed, "scope": dict(writer.scope)}
                text = "".join(f"{json.dumps(header | {'request': request})}\n" for request in requests)
                if len(text) + (path.stat().st_size if path.exists() else 0) > MAX_TRACE_BYTES:
                    problems.append(f"trace {trace} has more than {MAX_TRACE_BYTES:,} bytes, so no more of it is taken")
                    continue
                append_durably(path, text)
        return problems

    def n_waiting(self) -> int:
        """Return how many traces are still coming in."""
        return len(self._files())

    def n_refused(self) -> int:
        """Return the number of traces that could not be turned into attempts. They are kept for a week."""
        return len(self._refused())

    def close_quiet(self, memory: MemorySystem) -> int:
        """Turn finished traces into attempts, and return their number.

        One that fails is tried again the next time, unless it cannot be read, which is logged.
        """
        if not (self._files() or self._refused()):
            return 0
        with self._locked():
            for path in self._refused():
                if time.time() - path.stat().st_mtime > KEPT_SECONDS:
                    path.unlink(missing_ok=True)
            return sum(self._close(memory, path) for path in self._files())

    def close_quiet_of(self, open_memory: Callable[[], MemorySystem]) -> None:
        """Make attempts of traces that are over, in a memory that is opened if there are any."""
        if self.n_waiting() or self.n_refused():
            self.close_quiet(open_memory())

    def _close(self, memory: MemorySystem, path: Path) -> bool:
        idle = time.time() - path.stat().st_mtime
        if idle < self._quiet:
            return False
        try:
            waiting = _read(path)
            if not waiting.has_root and idle < self._longest:
                return False
            if not waiting.trace.is_of_agent:
                logger.info("trace %s has no attribute of an agent or a model, and is dropped", waiting.trace.id)
                path.unlink()
                return False
            attempt = _attempt(waiting.trace)
        except Exception as error:  # noqa: BLE001 - whatever one trace holds, the others are stored
            return _refuse(path, error)
        try:
            with acting(waiting.writer):
                _store(memory, attempt, waiting.trace)
        except (InvalidInput, NotAllowed) as error:
            return _refuse(path, error)
        except AtlasError as error:
            logger.warning("a trace could not be stored yet, and is tried again: %s", error)
            return False
        path.unlink()
        return True

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*/*.jsonl"))

    def _refused(self) -> list[Path]:
        return sorted(self._folder.glob(f"*/*.jsonl{_REFUSED}"))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with InterProcessLock(self._folder / "lock").locked():
            yield


def _read(path: Path) -> SpooledTrace:
    """Return the trace that a file holds.

    Raises:
        InvalidInput: It contains no trace.
    """
    lines = [line for raw in path.read_bytes().split(b"\n") if (line := _parsed(raw))]
    if not lines:
        raise InvalidInput("the file contains no span")
    received = [each for line in lines for each in decode_spans(line["request"], logger.warning)]
    by_id = {each.span.id: each for each in received}
    [trace] = traces(by_id.values())
    return SpooledTrace(
        writer=_writer(lines[-1]),
        trace=trace,
        has_root=any(not each.span.parent for each in received),
    )


def _writer(line: Json) -> Actor:
    scope = line.get("scope", {}).items()
    return Actor(line["writer"], Role.WRITER, line["is_reviewed"], scope=tuple(scope))


def _parsed(raw: bytes) -> Any:
    """Return a line, or None if its writing was cut off, so that it was never acknowledged."""
    try:
        return json.loads(raw) if raw.strip() else None
    except ValueError:
        return None


def _refuse(path: Path, error: Exception) -> bool:
    logger.warning("a trace is not an attempt, and is kept for a week as %s%s: %s", path.name, _REFUSED, error)
    path.rename(path.with_name(path.name + _REFUSED))
    return False


def _attempt(trace: Trace) -> Trajectory:
    """Return the attempt that a trace is, without secrets, with the ids of its spans."""
    found = scrub_record(trace.attempt(), Counter())
    assert isinstance(found, Trajectory)
    return replace(found, metadata={**found.metadata, SPANS: sorted(span.id for span in trace.spans)})


def _store(memory: MemorySystem, attempt: Trajectory, trace: Trace) -> None:
    """Keep an attempt under its own id, as an import does, or add to it the spans that came since."""
    experience = memory.experience.get(attempt.id)
    if experience is None:
        memory.experience.within("store").restore_many([as_exported(attempt)])
        return
    span_ids = experience.metadata.get(SPANS)
    if span_ids is None:
        return  # it came by an import, which had the trace as a whole
    late = [span for span in trace.spans if span.id not in span_ids]
    if late:
        steps = _attempt(replace(trace, spans=late, name=trace.name or "late spans")).steps
        spans = sorted({*span_ids, *(span.id for span in late)})
        memory.experience.edit(
            experience.id, steps=(*experience.steps, *steps), metadata={**experience.metadata, SPANS: spans}
        )
