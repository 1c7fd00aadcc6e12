"""Sessions of coding agents: each user request is a task, and everything up to the next request is the attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from atlas.core.errors import InvalidInput
from atlas.core.types import Outcome, Task, Trajectory
from atlas.importers.fields import Json, drop_missing
from atlas.importers.files import RawRecord
from atlas.importers.formats import conversation
from atlas.importers.formats.conversation import AGENT, Message
from atlas.importers.logs import stable_id
from atlas.importers.rows import Row, catch_failure, make_row
from atlas.importers.spending import Spending


@dataclass(slots=True, kw_only=True)
class Request:
    """One user request, and the agent's work on it so far."""

    source: str
    """Name of the format."""

    text: str
    position: int
    """Line of the request in the file."""

    session: str
    key: str
    """Key of the request in its log, such as a message id or a timestamp."""

    ended_at: datetime | None = None
    agent: str = ""
    """Model that answered."""

    error: str = ""
    """Reason why the agent stopped early, or empty."""

    vote: str = ""
    """`up` or `down` if the user rated the answer, which decides the outcome."""

    context: Json = field(default_factory=dict)
    """Facts about the working directory, such as its branch."""

    metadata: Json = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    spending: Spending = field(default_factory=Spending)
    n_bytes: int = 0

    @property
    def id(self) -> str:
        """The id of the attempt."""
        return stable_id(self.source, self.key, self.text)

    @property
    def was_answered(self) -> bool:
        """True if the agent answered or acted."""
        return any(message.role == AGENT for message in self.messages)

    def record_time(self, instant: datetime | None, n_bytes: int = 0) -> None:
        """Record the time of the latest message, and the bytes read."""
        self.n_bytes += n_bytes
        if instant is not None and (self.ended_at is None or instant > self.ended_at):
            self.ended_at = instant

    def attempt(self) -> Trajectory:
        """Return the attempt, whose outcome is unknown unless the user rated the answer."""
        return Trajectory(
            id=self.id,
            task=Task(f"{self.source}/{stable_id(self.text)[:12]}", "", self.text, self.context),
            steps=conversation.to_steps(self.messages),
            outcome=Outcome(
                self.vote == "up" if self.vote else None,
                error_info=self.error or None,
                verification_details=drop_missing(vote=self.vote),
            ),
            agent_id=self.agent,
            timestamp=self.ended_at,
            metadata={
                "source": self.source,
                **drop_missing(session=self.session, solution=conversation.final_action(self.messages)),
                **self.spending.metadata(),
                **self.metadata,
            },
        )


class Requests:
    """The requests of one session. Each ends when the next begins."""

    def __init__(self) -> None:
        self.current: Request | None = None
        self._ended: list[Request] = []

    def begin(self, request: Request) -> None:
        """Make a request the current one. If the previous request was answered, the new one refers to it."""
        if self.current is not None:
            self._ended.append(self.current)
            if self.current.was_answered:
                request.metadata["follows"] = self.current.id
        self.current = request

    def answered_request(self) -> Request:
        """Return the request that a message of the agent answers.

        Raises:
            InvalidInput: The request is not in the file.
        """
        if self.current is None:
            raise InvalidInput(
                "the message answers a request that is not in the file, so its task is unknown; "
                "import the complete session"
            )
        return self.current

    def pop_ended(self, offset: int) -> Iterator[Row]:
        """Yield the attempt for each request that ended since the last call.

        Args:
            offset: Bytes of the file that have been read.
        """
        ended, self._ended = self._ended, []
        for request in ended:
            if request.was_answered:
                yield make_row(request.position, request.attempt, offset=offset, n_bytes=request.n_bytes)

    def finish(self, offset: int) -> Iterator[Row]:
        """Yield the attempts for the requests that are still open at the end of the file."""
        if self.current is not None:
            self._ended.append(self.current)
        yield from self.pop_ended(offset)


def attempts_of(
    records: Iterable[RawRecord], requests: Requests, add_record: Callable[[RawRecord], None], size: int
) -> Iterator[Row]:
    """Yield the attempts of a session as they end, and the reason for each record that cannot be read.

    Args:
        add_record: Function that adds a record to the requests, or raises `InvalidInput`.
        size: Size of the whole file in bytes.
    """
    for record in records:
        if reason := catch_failure(partial(add_record, record)):
            yield Row(record.position, None, reason, offset=record.end)
        yield from requests.pop_ended(record.end)
    yield from requests.finish(size)
