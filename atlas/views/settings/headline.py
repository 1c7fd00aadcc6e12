"""The state of a store in a sentence, with the next thing to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atlas.memory.system import MemorySystem
from atlas.views.overview.summary import n_own_records
from atlas.views.settings.copies import backup_state, needs_backup
from atlas.views.settings.roles import may_import, may_repair
from atlas.views.settings.store import record_counts
from atlas.views.shared.wording import counted, utc_time_text

NextStep = Literal["import", "repair", "back up", ""]

NOTHING_TO_DO = "Nothing to do"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The state of a store, worst first."""

    sentence: str
    next_step: NextStep = ""
    """The first thing to do, or empty if nothing has to be done."""

    is_filled: bool = True
    """False for a store without records."""

    is_well: bool = False
    """True if nothing has to be done, and nothing is missing."""


def store_headline(memory: MemorySystem, now: datetime, n_problems: int) -> Headline:
    """Return the state of a store. Only what this visitor can do is advised.

    Args:
        memory: The memories of the store.
        now: The current time, to which the last backup is compared.
        n_problems: Number of checks that found a problem, in its present state.
    """
    can_write = not memory.storage.read_only
    if n_problems:
        step = ": repair the store." if can_write and may_repair() else "."
        return Headline(sentence=f"{counted(n_problems, 'check')} found a problem{step}", next_step="repair")
    if not any(record_counts(memory).values()):
        if can_write and may_import():
            sentence = "The store is empty: import runs of an agent."
            return Headline(sentence=sentence, next_step="import", is_filled=False)
        return Headline(sentence="The store is empty.", is_filled=False)
    return _backup_headline(memory, now)


def _backup_headline(memory: MemorySystem, now: datetime) -> Headline:
    """Return the state of the last backup, with advice where the visitor should make another one."""
    backup, n_own = backup_state(memory, now), n_own_records(memory)
    last_backup = f"Last backup: {utc_time_text(backup.made_at) if backup.made_at else 'none'}."
    if backup.made_at is not None and not backup.is_outdated:
        return Headline(sentence=f"{NOTHING_TO_DO}. {last_backup}", is_well=True)
    if not n_own:
        return Headline(sentence=f"{NOTHING_TO_DO}: sample data need no backup.", is_well=True)
    if not needs_backup(memory, n_own):
        return Headline(sentence=last_backup)
    if backup.made_at is None:
        return Headline(sentence="No backup: if this disk fails, the store is lost.", next_step="back up")
    days = counted((now - backup.made_at).days, "day")
    sentence = f"The last backup is {days} old, and the store has changed since."
    return Headline(sentence=sentence, next_step="back up")
