"""aider's chat history (Markdown): one attempt per request of the user.

Lines of the user begin with `####`, and lines of the program with `>`. All others are the model's. The only time in the
history is the beginning of each session, and it records no outcome.

Source:
    https://pypi.org/project/aider-chat, `aider/io.py`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from atlas.core.errors import InvalidInput
from atlas.importers.fields import as_instant
from atlas.importers.files import decode_utf_8, read_document
from atlas.importers.formats.agents.sessions import Request, Requests
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.rows import Limits, Row, catch_failure

SOURCE = "aider"

START, USER, TOOL = "start", "user", "tool"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$", re.MULTILINE)
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_TOKENS = re.compile(r"Tokens: (\d+(?:\.\d+)?)(k?) sent.{0,100}?\b(\d+(?:\.\d+)?+)(k?) received")
_COST = re.compile(r"Cost: \$(\d+(?:\.\d+)?) message")
_REQUEST_COMMANDS = ("/ask", "/architect", "/code")
"""Commands whose argument is a request."""


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file begins with the heading of a session."""
    return head.lstrip().startswith(b"# aider chat started at ")


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the attempts of all sessions of a history."""
    raw = read_document(path, limits)
    try:
        text = _history_text(raw)
    except InvalidInput as error:
        yield Row(1, None, str(error), offset=len(raw))
        return
    project = path.resolve().parent.name
    history = _History(project)
    for author, block, position in _blocks(text):
        if author == START:
            yield from history.requests.finish(len(raw))
            history = _History(project)
        if reason := catch_failure(partial(history.add_block, author, block, position)):
            yield Row(position, None, reason, offset=len(raw))
        yield from history.requests.pop_ended(len(raw))
    yield from history.requests.finish(len(raw))


def _history_text(raw: bytes) -> str:
    text = decode_utf_8(raw, "the file")
    if not _START.match(text.lstrip()):
        first_line = text.lstrip().partition("\n")[0]
        raise InvalidInput(
            f"expected `# aider chat started at` at the beginning of the file, got {first_line!r:.60}; give another "
            "--format"
        )
    return text


def _blocks(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each block of lines by one author: author, text without prefixes, and number of the first line."""
    position = 1
    for author, group in groupby(text.splitlines(), key=_author):
        lines = list(group)
        prefix = {USER: "####", TOOL: ">"}.get(author)
        texts = [line.removeprefix(prefix).removeprefix(" ") for line in lines] if prefix else lines
        block = "\n".join(line.rstrip() for line in texts).strip()
        if block:
            yield author, block, position
        position += len(lines)


def _author(line: str) -> str:
    if _START.match(line):
        return START
    if line.startswith("#### "):
        return USER
    return TOOL if line.startswith("> ") or line == ">" else AGENT


class _History:
    """The requests of one session.

    The requests' ids contain the name of the project's directory, because two sessions may begin in the same second.
    """

    def __init__(self, project: str) -> None:
        self.requests = Requests()
        self._project = project
        self._started_at, self._model, self._n_asked = "", "", 0

    def add_block(self, author: str, text: str, position: int) -> None:
        """Add a block of lines by one author."""
        if author == START:
            start = _START.match(text)
            self._started_at = start[1] if start else ""
        elif author == USER:
            self._begin_request(text, position)
        elif author == TOOL:
            self._read_notes(text, position)
        elif self.requests.current is not None:
            self._add(Message(role=AGENT, text=text))

    def _begin_request(self, text: str, position: int) -> None:
        command, _, argument = text.partition(" ")
        if command.startswith("/") and command not in _REQUEST_COMMANDS:
            self._add(Message(role=USER, text=text))
            return
        self._n_asked += 1
        request = Request(
            source=SOURCE,
            text=argument.strip() or command if command in _REQUEST_COMMANDS else text,
            position=position,
            session=self._started_at,
            key=f"{self._project} {self._started_at} {self._n_asked}",
            agent=self._model,
        )
        request.record_time(as_instant(self._started_at, "the time of the session"))
        self.requests.begin(request)

    def _read_notes(self, text: str, position: int) -> None:
        """Read output of the program: the model, tokens and cost, and the edits made from the answer."""
        if model := _MODEL.search(text):
            self._model = model[1]
        request = self.requests.current
        if request is None:
            return
        other_lines = []
        for number, line in enumerate(text.splitlines()):
            tokens, cost = _TOKENS.search(line), _COST.search(line)
            if tokens is None:
                other_lines.append(line)
                continue
            counts = {"input": _count(tokens[1], tokens[2]), "output": _count(tokens[3], tokens[4])}
            request.spending.add(f"{position + number}", counts, float(cost[1]) if cost else None)
        if notes := "\n".join(other_lines).strip():
            self._add(Message(role=TOOL, text=notes, tool=SOURCE))

    def _add(self, message: Message) -> None:
        if self.requests.current is not None:
            self.requests.current.messages.append(message)
            self.requests.current.n_bytes += len(message.text)


def _count(number: str, unit: str) -> float:
    """Return a count of tokens, which the program rounds to hundreds or thousands: `2.3k`."""
    return round(float(number) * (1_000 if unit else 1))
