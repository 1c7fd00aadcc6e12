"""Server log on stderr: one line per request, as text or JSON, without contents of memories."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import Any, Final

from atlas.core.errors import InvalidInput
from atlas.server.operations.requests import PAGES, RequestRecord, request_id

LOG_FORMATS: Final = ("text", "json", "off")
LOGGERS: Final = ("atlas", "pages")
"""Root loggers of ATLAS."""

MAX_LINES = 10_000
"""Size of the queue of log lines."""

_FIELDS = "atlas_fields"
logger = logging.getLogger("atlas.requests")


class _DroppingQueueHandler(QueueHandler):
    """Queues lines for a writer thread. If the queue is full, lines are dropped."""

    def enqueue(self, record: logging.LogRecord) -> None:
        with suppress(Full):
            self.queue.put_nowait(record)


def configure_logs(log_format: str) -> QueueListener:
    """Write the log records of ATLAS to stderr in a thread. Return the thread's listener, which the caller has to stop.

    Args:
        log_format: `text`, `json`, or `off` for warnings as text and no requests. An empty string is `text`.

    Raises:
        InvalidInput: `log_format` is none of these.
    """
    if (log_format or "text") not in LOG_FORMATS:
        raise InvalidInput(f"expected one of {', '.join(LOG_FORMATS)} for ATLAS_LOG, got {log_format!r:.100}")
    listener = QueueListener(Queue(MAX_LINES), logging.StreamHandler(sys.stderr))
    handler = _DroppingQueueHandler(listener.queue)
    handler.setFormatter(_JsonFormatter() if log_format == "json" else _TextFormatter())
    for name in LOGGERS:
        root = logging.getLogger(name)
        root.handlers, root.propagate = [handler], False
        root.setLevel(logging.WARNING if log_format == "off" else logging.INFO)
    listener.start()
    return listener


def log_request(record: RequestRecord) -> None:
    """Log a request. Files of the dashboard are logged only if they fail."""
    if record.route == PAGES and record.path.count("/") > 1 and 0 < record.status < 400:
        return
    milliseconds = round(1_000 * record.seconds, 1)
    caller = f"{record.actor.name or 'owner'} ({record.role})" if record.actor else record.client or "unknown"
    store = str(record.actor.store.name) if record.actor and record.actor.store else ""
    fields = {
        "request_id": record.id,
        "method": record.method,
        "path": record.path,
        "route": record.route,
        "status": record.status,
        "milliseconds": milliseconds,
        "actor": record.actor.name if record.actor else "",
        "role": record.role,
        "store": store,
        "client": record.client,
    }
    line = f"{record.method} {record.path} {record.status or 'closed'} {milliseconds:,} ms {caller} {store}".rstrip()
    logger.info("%s", line, extra={_FIELDS: fields})


class _TextFormatter(logging.Formatter):
    """A formatter of lines such as `2026-01-31T12:00:00Z INFO GET /api/v1/health 200 1.2 ms 127.0.0.1 [4f2a…]`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line, followed by the traceback if there is one."""
        current_id = request_id.get() or getattr(record, _FIELDS, {}).get("request_id", "")
        suffix = f" [{current_id}]" if current_id else ""
        line = f"{_format_time(record)} {record.levelname} {_escape_control_characters(record.getMessage())}{suffix}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _JsonFormatter(logging.Formatter):
    """A formatter of records as JSON objects: time, level, logger, message, and the fields of the request."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        entry: dict[str, Any] = {
            "time": _format_time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if current_id := request_id.get():
            entry["request_id"] = current_id
        entry |= getattr(record, _FIELDS, {})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _escape_control_characters(text: str) -> str:
    """Return a string with control characters escaped, so that a path cannot forge a line of the log."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _format_time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
