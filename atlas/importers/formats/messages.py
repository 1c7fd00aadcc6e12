"""Lists of chat messages in OpenAI's format: one list as JSON, or one object with `messages` per line of JSONL.

Each list is one attempt, and its first user message is the task. Whether it succeeded is not recorded.

Source:
    https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Task, Trajectory
from atlas.importers.fields import abbreviate, as_object, as_text, drop_missing
from atlas.importers.files import RawRecord, parse_json, read_document, read_head, read_lines
from atlas.importers.formats import conversation
from atlas.importers.formats.conversation import AGENT
from atlas.importers.keys import record_keys
from atlas.importers.logs import stable_id
from atlas.importers.rows import Limits, Row, make_row

SOURCE = "messages"


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is a list of messages, or JSONL with such a list on each line."""
    keys = record_keys(head)
    if head.lstrip().startswith(b"["):
        return any({"role", "content"} <= names for names in keys)
    return bool(keys) and all("messages" in names for names in keys) and b'"role"' in head


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield an attempt for each list of messages."""
    if read_head(path, limits).lstrip().startswith(b"["):
        raw = read_document(path, limits)
        yield make_row(1, lambda: _decode_attempt(parse_json(raw)), offset=len(raw), n_bytes=len(raw))
        return
    for record in read_lines(path, limits):
        yield make_row(record.position, partial(_decode_line, record), offset=record.end, n_bytes=len(record.raw))


def _decode_line(record: RawRecord) -> Trajectory:
    line = as_object(record.value(), "the line")
    if "messages" not in line:
        raise InvalidInput("expected a list of messages in the field 'messages', got nothing")
    return _decode_attempt(line["messages"], as_text(line.get("model"), "model"))


def _decode_attempt(value: Any, model: str = "") -> Trajectory:
    if not isinstance(value, list):
        raise InvalidInput(f"expected a list of messages in the field 'messages', got {abbreviate(value)}")
    message_list = [as_object(message, f"messages[{n}]") for n, message in enumerate(value)]
    messages = [conversation.openai_message(message, f"messages[{n}]") for n, message in enumerate(message_list)]
    _, turns = conversation.split_system(messages)
    if not any(message.role == AGENT for message in turns):
        raise InvalidInput("expected an answer of the assistant in messages, got none")
    first = next(n for n, message in enumerate(turns) if message.role == AGENT)
    description = "\n\n".join(message.text for message in turns[:first] if message.role == "user").strip()
    if not description:
        raise InvalidInput("expected a user message before the first answer in messages, got none")
    return Trajectory(
        id=stable_id(SOURCE, message_list),
        task=Task(f"{SOURCE}/{stable_id(description)[:12]}", "", description),
        steps=conversation.to_steps(turns[first:]),
        outcome=Outcome(None),
        agent_id=model,
        metadata=drop_missing(source=SOURCE, solution=conversation.final_action(turns)),
    )
