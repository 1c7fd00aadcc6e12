"""The split of tasks into a development and a test half, and sampling."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np

T = TypeVar("T")
Half = Literal["dev", "test", "both"]
"""The development half, the test half, or both."""

SPLIT_SEED = 4
"""Seed of the split. Do not change it, or tuned parameters would be tested on their development tasks."""


def is_in_test_half(group: str, seed: int = SPLIT_SEED) -> bool:
    """Return whether a task, given by its group, is in the held-out test half."""
    digest = hashlib.blake2b(f"{seed}:{group}".encode("utf-8", "replace"), digest_size=8).digest()
    return bool(digest[-1] & 1)


def is_in_half(half: Half, group: str) -> bool:
    """Return whether a task, given by its group, is in a half. Every task is in `both`."""
    return half == "both" or half == ("test" if is_in_test_half(group) else "dev")


def sample(items: Sequence[T], limit: int, *, seed: int) -> list[T]:
    """Return a random sample of at most `limit` items, in their original order."""
    if len(items) <= limit:
        return list(items)
    positions = np.random.default_rng(seed).choice(len(items), limit, replace=False)
    return [items[position] for position in sorted(positions)]
