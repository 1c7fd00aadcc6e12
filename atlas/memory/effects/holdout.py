"""Holdout: random assignment of attempts to a group without memories.

The comparison of both groups is in `atlas.memory.effects.randomised`.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from atlas.core.errors import InvalidInput
from atlas.memory.context.block import Assignment
from atlas.memory.experience.extraction import title_of

if TYPE_CHECKING:
    from atlas.core.types import Task
    from atlas.memory.base.memory import Memory

_RANGE = 2**64


def assign_group(share: float, *, store: str, task: str, attempt: str) -> Assignment:
    """Return the pseudo-random assignment of an attempt. Equal arguments give equal assignments.

    The BLAKE2b hash of `store`, `task` and `attempt` is read as a number in [0, 1). If it is below `share`, the attempt
    is held out.
    """
    key = "\x1f".join((store, task, attempt)).encode("utf-8", "replace")
    number = int.from_bytes(hashlib.blake2b(key, digest_size=8, person=b"holdout").digest(), "big")
    return Assignment(share=share, is_held_out=number < share * _RANGE)


def next_attempt_name(experience: Memory[Any] | None, task: Task) -> str:
    """Return the name of the next attempt at a task for `assign_group`: the number of stored attempts at the task.

    Raises:
        InvalidInput: The memory cannot count attempts.
    """
    if experience is None:
        raise InvalidInput(
            "a holdout without ATLAS's own experience memory needs the id of the attempt; pass it as attempt="
        )
    where = {"task_id": task.id} if task.id else {"title": title_of(task)}
    return str(experience.count(where))
