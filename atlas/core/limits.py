"""Limits: how many results somebody asks for, checked alike at every door."""

from __future__ import annotations

from numbers import Integral
from typing import TypeGuard

from atlas.core.errors import InvalidInput


def check_limit(limit: object, name: str = "k") -> None:
    """Raise `InvalidInput` unless a limit is a whole number from 1 up."""
    if not _is_whole(limit) or limit < 1:
        raise InvalidInput(f"{name} should be 1 or more, but is {limit!r}")


def limit_of_list(limit: int, name: str = "k") -> int:
    """Return the length of a list that a specified method returns at most: 0 for a limit below 1.

    The methods that the specifications name return an empty list there, where others raise.

    Raises:
        InvalidInput: It is no whole number.
    """
    if not _is_whole(limit):
        raise InvalidInput(f"{name} should be a whole number, but is {limit!r}")
    return max(limit, 0)


def _is_whole(limit: object) -> TypeGuard[int]:
    return isinstance(limit, Integral) and not isinstance(limit, bool)
