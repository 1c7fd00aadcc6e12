"""The use of a store: its records, the agents that wrote last, background work, and how agents connect."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from atlas.core.address import is_address
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.settings.copies import last_backup, recorded_backups
from atlas.views.settings.store import names_of_collections, record_counts
from atlas.views.shared.results import LiveResult
from atlas.views.shared.state import may_name_paths, path_text
from atlas.views.shared.wording import counted, moment, time_text

MAX_AGENTS = 5
"""Most agents that are listed."""

MAX_READ = 500
"""Most attempts that are read to find these agents, the newest."""


def record_facts(memory: MemorySystem) -> dict[str, str]:
    """Return the number of records of each memory that has any, by its label."""
    counts = record_counts(memory)
    return {label: f"{counts[name]:,}" for name, label in names_of_collections(memory).items() if counts.get(name)}


def agent_facts(memory: MemorySystem) -> dict[str, str]:
    """Return the agents whose attempts are the latest, with their numbers of attempts, by the time of the last.

    Names are untrusted text. Times are in UTC.
    """
    n_of = {str(agent): n for agent, n in memory.experience.values("agent_id").items() if agent}
    last = dict[str, datetime]()
    for row in memory.experience.browse(limit=MAX_READ):  # newest first
        agent = str(row["metadata"].get("agent_id", ""))
        if agent in n_of and len(last) < MAX_AGENTS:
            last.setdefault(agent, stored_instant(row["metadata"]))
    facts = dict[str, str]()
    for agent, at in last.items():
        time, text = time_text(at.astimezone(UTC)), f"{agent}: {counted(n_of[agent], 'attempt')}"
        facts[time] = f"{facts[time]}; {text}" if time in facts else text
    return facts | ({"In all": counted(len(n_of), "agent")} if len(n_of) > len(last) else {})


def backup_facts(memory: MemorySystem) -> dict[str, str]:
    """Return when the last backup was made, and its file for visitors who may see paths."""
    path = next(iter(recorded_backups(memory)), "")
    place = {"Its file": path_text(PurePath(path))} if path and may_name_paths() else {}
    return {"Last backup": last_backup(memory) or "none yet"} | place


def work_facts(results: Mapping[str, LiveResult[Any]]) -> dict[str, str]:
    """Return when background work last made each result, or that it runs or failed, by label."""
    return {label: _work_text(result) for label, result in results.items()}


def connecting_lines(memory: MemorySystem, command: str, address: str) -> dict[str, str]:
    """Return the lines that connect an agent to this store, by what reads them.

    Args:
        memory: The memories of the store.
        command: The command `atlas`, with its path where that is needed.
        address: Address of the server, which visitors of a served store use.
    """
    if not may_name_paths():
        header = shlex.quote("Authorization: Bearer atlas_KEY")
        return {
            "Claude Code": f"claude mcp add --transport http atlas {shlex.quote(f'{address}/mcp/')} --header {header}",
            "Python": f'memory = atlas.connect("{address}", key="atlas_KEY")',
        }
    location = memory.storage.location
    place = location if is_address(location) else path_text(PurePath(location))
    return {
        "Claude Code": f"claude mcp add atlas -- {command} --store {shlex.quote(place)} mcp",
        "Python": f"memory = atlas.open_memory({place!r})",
    }


def _work_text(result: LiveResult[Any]) -> str:
    status, at = result.status(), result.written_at
    if status is not None and status.state in ("queued", "running"):
        return "running now"
    done = moment(datetime.fromtimestamp(at / 1e9, UTC)) if at else "not yet"
    return f"failed, last done: {done}" if status is not None and status.state == "failed" else done
