"""Asking several memories, where one that fails costs only its own part."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What came of it, by memory."""

    answers: Mapping[str, Any]
    errors: Mapping[str, str]


def outcome(question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | Exception:
    """Return what a call gives, or what it raises."""
    try:
        return question(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - `gathered` logs it
        return error


def gathered(outcomes: Mapping[str, Any]) -> Gathered:
    """Return the answers and the errors among what came of each memory: its answer, or what it raised."""
    answers, errors = dict[str, Any](), dict[str, str]()
    for name, came in outcomes.items():
        if isinstance(came, Exception):
            logger.warning("the memory %r failed, and has no part in the answer", name, exc_info=came)
            errors[name] = told(came)
        elif isinstance(came, BaseException):
            raise came
        else:
            answers[name] = came
    return Gathered(answers, errors)


def told(error: BaseException) -> str:
    """Return what an answer says of an error."""
    return f"{type(error).__name__}: {error}"


def joined(*errors: Mapping[str, str]) -> dict[str, str]:
    """Return the errors of several steps by memory, each of which is told once."""
    names = dict.fromkeys(name for one in errors for name in one)
    return {name: "; ".join(dict.fromkeys(one[name] for one in errors if name in one)) for name in names}
