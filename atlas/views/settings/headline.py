"""The state of a store in a sentence, with the next thing to do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from atlas.memory.system import MemorySystem
from atlas.views.settings.copies import backup_state
from atlas.views.settings.roles import may_administer
from atlas.views.settings.store import record_counts
from atlas.views.shared.wording import counted, moment

NextStep = Literal["import", "repair", "back up", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The state of a store, worst first."""

    sentence: str
    next_step: NextStep = ""
    """The first thing to do, or empty if nothing has to be done."""

    is_filled: bool = True
    """False for a store without records."""


def store_headline(memory: MemorySystem, now: datetime, n_problems: int) -> Headline:
    """Return the state of a store.

    Args:
        memory: The memories of the store.
        now: The current time, to which the last backup is compared.
        n_problems: Number of checks that found a problem.
    """
    if n_problems:
        return Headline(
            sentence=f"{counted(n_problems, 'check')} found a problem: repair the store.", next_step="repair"
        )
    if not any(record_counts(memory).values()):
        return Headline(sentence="The store is empty: import runs of an agent.", next_step="import", is_filled=False)
    backup = backup_state(memory, now)
    may_back_up = may_administer()
    if backup.made_at is None:
        sentence = "There is no backup. If this disk fails, the store is lost"
        step = ": back it up now." if may_back_up else ": ask an admin to back it up."
        return Headline(sentence=f"{sentence}{step}", next_step="back up" if may_back_up else "")
    if backup.is_outdated:
        days = counted((now - backup.made_at).days, "day")
        sentence = f"The last backup is {days} old, and the store has changed since: back it up again."
        return Headline(sentence=sentence, next_step="back up" if may_back_up else "")
    return Headline(sentence=f"Nothing to do. Last backup: {moment(backup.made_at)}.")
