"""Asking several memories at once, where one that fails costs only its own part."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What came of it, by memory."""

    answers: Mapping[str, Any]
    errors: Mapping[str, str]


async def gather(questions: Mapping[str, Awaitable[Any]]) -> Gathered:
    """The answers of the memories, all asked at once, and the errors of those that failed."""
    results = await asyncio.gather(*questions.values(), return_exceptions=True)
    answers, errors = dict[str, Any](), dict[str, str]()
    for name, result in zip(questions, results, strict=True):
        if isinstance(result, Exception):
            logger.warning("the memory %r failed, and has no part in the answer", name, exc_info=result)
            errors[name] = told(result)
        elif isinstance(result, BaseException):
            raise result
        else:
            answers[name] = result
    return Gathered(answers, errors)


def told(error: BaseException) -> str:
    """Return what an answer says of an error."""
    return f"{type(error).__name__}: {error}"


def joined(*errors: Mapping[str, str]) -> dict[str, str]:
    """Return the errors of several steps by memory, each of which is told once."""
    names = dict.fromkeys(name for one in errors for name in one)
    return {name: "; ".join(dict.fromkeys(one[name] for one in errors if name in one)) for name in names}
