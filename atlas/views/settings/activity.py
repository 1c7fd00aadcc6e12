"""The use of a store: its records, the agents that wrote last, background work, and how agents connect."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from atlas.core.address import is_address
from atlas.core.statistics import SuccessRate
from atlas.jobs.duplicates import LiveDuplicates
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.lists.rate_rows import RateRow, rate_meter
from atlas.views.settings.store import record_counts
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.rates import interval_text
from atlas.views.shared.results import LiveMap, LiveResult
from atlas.views.shared.state import may_name_paths, path_text
from atlas.views.shared.wording import counted, utc_time_text

MAX_AGENTS = 5
"""Most agents that are listed."""

CLAUDE = "Claude Code, in a terminal"

NEXT = "The agent can then search this memory and store its attempts, which appear under Experiences."
"""Effect of connecting an agent."""

MAX_READ = 500
"""Most attempts with an agent that are read to find these agents, the newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRow(RateRow):
    """An agent that wrote attempts, and how often these succeeded. Its id is its name."""

    n_attempts: int
    last_at: datetime
    """Time of its latest attempt, in UTC."""


def records_sentence(memory: MemorySystem) -> str:
    """Return `377 experiences · 8 concepts`, without the memories that are empty."""
    nouns = {kind.records(memory).collection_name: kind.noun for kind in KINDS.values()}
    nouns[memory.journal.collection_name] = "journal entry"
    counts = record_counts(memory)
    return " · ".join(counted(counts[name], noun) for name, noun in nouns.items() if counts.get(name))


def agent_rows(memory: MemorySystem) -> tuple[AgentRow, ...]:
    """Return at most `MAX_AGENTS` agents, those with the latest attempts first."""
    n_by_agent = {str(agent): n for agent, n in memory.experience.values("agent_id").items() if agent}
    last_times = dict[str, datetime]()
    with_agent = {"agent_id": {"$in": [*n_by_agent]}}
    for row in memory.experience.browse(with_agent, limit=MAX_READ) if n_by_agent else ():  # newest first
        if len(last_times) < MAX_AGENTS:
            last_times.setdefault(str(row["metadata"]["agent_id"]), stored_instant(row["metadata"]))
    return tuple(_agent_row(memory, agent, n_by_agent[agent], last_at) for agent, last_at in last_times.items())


def _agent_row(memory: MemorySystem, agent: str, n_attempts: int, last_at: datetime) -> AgentRow:
    rate = SuccessRate.of(memory.experience.values("outcome", {"agent_id": agent}))
    return AgentRow(
        id=agent,
        name=agent,
        n_attempts=n_attempts,
        rate=rate_meter(rate.share, rate.n_known),
        interval=interval_text(rate),
        last_at=last_at.astimezone(UTC),
    )


def agents_title(n_listed: int, n_agents: int) -> str:
    """Return `Agents that wrote last: 5 of 40`, without the numbers if all are listed."""
    return "Agents that wrote last" + (f": {n_listed:,} of {n_agents:,}" if n_listed < n_agents else "")


def count_agents(memory: MemorySystem) -> int:
    """Return the number of agents that wrote attempts."""
    return sum(bool(agent) for agent in memory.experience.values("agent_id"))


def work_facts(memory_map: LiveMap, duplicates: LiveDuplicates) -> dict[str, str]:
    """Return the state of each background result by label: when it was last made, or that it runs or failed."""
    searched = _work_text(duplicates) if duplicates.is_searched_by_worker() else "looked for when Curate is opened"
    return {"Last map": _work_text(memory_map), "Near-duplicates": searched}


def connecting_lines(memory: MemorySystem, command: str, address: str) -> dict[str, str]:
    """Return the lines that connect an agent to this store, by the place to enter them.

    Args:
        memory: The memories of the store.
        command: The command `atlas`, with its path where that is needed.
        address: Address of the server, which visitors of a served store use.
    """
    if not may_name_paths():
        header = shlex.quote("Authorization: Bearer atlas_KEY")
        return {
            CLAUDE: f"claude mcp add --transport http atlas {shlex.quote(f'{address}/mcp/')} --header {header}",
            "Python": f'import atlas\nmemory = atlas.connect("{address}", key="atlas_KEY")',
        }
    location = memory.storage.location
    place = location if is_address(location) else path_text(PurePath(location))
    return {
        CLAUDE: f"claude mcp add atlas -- {command} --store {_quoted(place)} mcp",
        "Python": f"import atlas\nmemory = atlas.open_memory({place!r})",
    }


def _quoted(place: str) -> str:
    """Return a path or an address for a shell, which replaces `~` only where it is not quoted."""
    return f"~/{shlex.quote(place[2:])}" if place.startswith("~/") else shlex.quote(place)


def _work_text(result: LiveResult[Any]) -> str:
    status, written_at = result.status(), result.written_at
    if status is not None and status.state in ("queued", "running"):
        return "running now"
    time_text = utc_time_text(datetime.fromtimestamp(written_at / 1e9, UTC)) if written_at else "not made yet"
    return f"failed, last done: {time_text}" if status is not None and status.state == "failed" else time_text
