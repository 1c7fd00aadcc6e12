"""The pulse of the map: live retrievals and writes of experiences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.core.operations import Operation
from atlas.core.settings import login_name
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.views.map.packets import pack
from atlas.views.map.points import Points
from atlas.views.shared.wording import counted, shortened

MAX_PULSES = 200
"""Maximum number of simultaneous pulses. An import stores far more experiences, which do not pulse."""

MAX_LINES = 3
TITLE_CHARACTERS = 60
N_OPERATIONS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """The state of the memory at the last poll, and the events until then."""

    ledger_id: str
    revision: int
    retrieved_at: str
    """Latest time at which a search returned an experience, or empty before the first."""

    operations: frozenset[str]
    """Ids of the newest operations at that time."""

    turn: int = 0
    """Number of events since the first poll."""

    retrieved: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Events, latest first, with untrusted text."""


def pulse_after(memory: MemorySystem, before: Pulse | None) -> Pulse:
    """Return the pulse with the events since an earlier one. The first pulse has no events.

    Args:
        memory: Only read.
        before: The earlier pulse, or None.
    """
    position = memory.storage.ledger.position(COLLECTION)
    if before is None or before.ledger_id != position.ledger_id:
        times = memory.storage.ledger.usage.retrieved_since(COLLECTION, "")
        return Pulse(
            ledger_id=position.ledger_id,
            revision=position.revision,
            retrieved_at=max(times.values(), default=""),
            operations=_operations(memory),
        )
    times = memory.storage.ledger.usage.retrieved_since(COLLECTION, before.retrieved_at)
    is_changed = position.revision > before.revision
    stored = memory.storage.ledger.changed_ids(COLLECTION, before.revision, limit=MAX_PULSES) if is_changed else []
    if not times and not stored:
        return replace(before, revision=position.revision)
    retrieved = sorted(times, key=lambda record_id: (times[record_id], record_id), reverse=True)[:MAX_PULSES]
    return replace(
        before,
        revision=position.revision,
        retrieved_at=max(times.values(), default=before.retrieved_at),
        operations=_operations(memory),
        turn=before.turn + 1,
        retrieved=tuple(retrieved),
        stored=tuple(stored),
        lines=(*_sentences(memory, before, times, stored), *before.lines)[:MAX_LINES],
    )


def pulse_packet(points: Points, pulse: Pulse) -> bytes:
    """Return the pulses on the map, and the text of the ticker."""
    return pack(
        {
            "points": points.key,
            "turn": pulse.turn,
            "retrieved": points.numbers_of(pulse.retrieved),
            "stored": points.numbers_of(pulse.stored),
            "lines": list(pulse.lines),
        }
    )


def _sentences(memory: MemorySystem, before: Pulse, retrieved: Mapping[str, str], stored: Sequence[str]) -> list[str]:
    """Return sentences such as `Retrieved 3 experiences: Cancel the flight …` and `fred stored 1 experience: …`."""
    sentences = []
    if retrieved:
        latest_id = max(retrieved, key=lambda record_id: (retrieved[record_id], record_id))
        time = retrieved[latest_id][11:19]
        titled = _last_title(memory, [latest_id])
        sentences.append(f"{time} · Retrieved {counted(len(retrieved), 'experience')}{titled}")
    sentences += _operation_sentences(memory, before, stored)
    return sentences


def _operation_sentences(memory: MemorySystem, before: Pulse, stored: Sequence[str]) -> list[str]:
    sentences = []
    for operation in memory.history(N_OPERATIONS):
        n = operation.counts.get("added", 0)
        if operation.id not in before.operations and n and stored:
            agent = f"{operation.created_at:%H:%M:%S} · {_agent(memory, operation)}"
            sentences.append(f"{agent} stored {counted(n, 'experience')}{_last_title(memory, stored)}")
    return sentences


def _agent(memory: MemorySystem, operation: Operation) -> str:
    """Return who stored an operation's experiences: the agent that they name, `3 agents`, the actor, or `An agent`."""
    ids = [change.record_id for change in memory.storage.changes(operation.id, limit=MAX_PULSES)]
    agents = {agent for agent in memory.experience.column("agent_id", {"id": {"$in": ids}}).values() if agent}
    if agents:
        return str(*agents) if len(agents) == 1 else counted(len(agents), "agent")
    return "An agent" if operation.actor in ("", login_name()) else operation.actor


def _last_title(memory: MemorySystem, ids: Sequence[str]) -> str:
    """Return `: Cancel the flight …`, the title of the last record, or an empty string if it was deleted."""
    titles = memory.experience.titles(ids[-1:])
    return "".join(f": {shortened(title, TITLE_CHARACTERS)}" for title in titles.values())


def _operations(memory: MemorySystem) -> frozenset[str]:
    return frozenset(operation.id for operation in memory.history(N_OPERATIONS))
