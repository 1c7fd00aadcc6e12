"""Costs of asking a language model: tokens, their price, and a limit for each operation."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from atlas.core.errors import LLMBudgetExceeded, LLMUnavailable

PRICES_AS_OF = "2026-10-10"
CHARACTERS_PER_TOKEN = 3
"""A low estimate for English, so that the tokens of a prompt are overestimated rather than underestimated."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    read: float
    written: float
    cache_read: float
    long_prompt: int | None = None
    """Tokens of a prompt above which all its prices are `long_factor` times as high, or None if they never are."""

    long_factor: float = 1.0

    @property
    def cache_written(self) -> float:
        """Price of tokens that are written to the five-minute cache."""
        return 1.25 * self.read


PRICES = {
    "claude-fable-5": Price(10, 50, 1),
    "claude-fable-5-1": Price(10, 50, 0.25),
    "claude-haiku-4-5": Price(1, 5, 0.1),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, long_prompt=100_000, long_factor=5),
    "claude-opus-4-5": Price(5, 25, 0.5),
    "claude-opus-4-6": Price(5, 25, 0.5),
    "claude-opus-4-7": Price(5, 25, 0.5),
    "claude-opus-4-8": Price(5, 25, 0.5),
    "claude-opus-5": Price(5, 25, 0.5),
    "claude-opus-5-5": Price(4, 20, 0.2),
    "claude-sonnet-4-5": Price(3, 15, 0.3),
    "claude-sonnet-4-6": Price(3, 15, 0.3),
    "claude-sonnet-5": Price(2, 10, 0.2),
    "claude-sonnet-5-5": Price(2, 10, 0.1),
}
"""List prices by model, without the date that a name may end in.

Source:
    https://platform.claude.com/docs/en/about-claude/pricing, as of `PRICES_AS_OF`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens that were read and written, and their price."""

    n_calls: int = 0
    input_tokens: int = 0
    """Tokens read, without those from a cache, which are counted apart."""

    output_tokens: int = 0
    """Tokens written, thinking included."""

    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    cost_usd: float | None = 0.0
    """Cost at list prices, or None if the price of a model is not known."""

    @property
    def tokens(self) -> int:
        """Sum of all tokens."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_written_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        unknown = self.cost_usd is None or other.cost_usd is None
        return TokenUsage(
            n_calls=self.n_calls + other.n_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
        )

    def __str__(self) -> str:
        """Return a summary such as `3 calls, 12,400 tokens, $0.0021`."""
        cost = "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.n_calls} call{'' if self.n_calls == 1 else 's'}, {self.tokens:,} tokens, {cost}"


def priced(model: str, spent: TokenUsage) -> TokenUsage:
    """Return the tokens of one call with their price, which is not known for a model that is not listed."""
    price = PRICES.get(re.sub(r"-\d{8}$", "", model))
    if price is None:
        return replace(spent, cost_usd=None)
    prompt = spent.input_tokens + spent.cache_read_tokens + spent.cache_written_tokens
    factor = price.long_factor if price.long_prompt is not None and prompt > price.long_prompt else 1.0
    dollars = (
        spent.input_tokens * price.read
        + spent.output_tokens * price.written
        + spent.cache_read_tokens * price.cache_read
        + spent.cache_written_tokens * price.cache_written
    )
    return replace(spent, cost_usd=factor * dollars / 1_000_000)


def estimated_tokens(*texts: str) -> int:
    """Return an estimate of the tokens in texts, high rather than low, except for scripts other than Latin."""
    return math.ceil(sum(map(len, texts)) / CHARACTERS_PER_TOKEN)


class Meter:
    """A count of the tokens that one operation spends, with a limit that it refuses to exceed."""

    def __init__(self, limit_tokens: float = math.inf) -> None:
        self.limit_tokens = limit_tokens
        self._spent = TokenUsage()
        self._reserved = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> TokenUsage:
        """Tokens spent so far."""
        return self._spent

    def reserve(self, tokens: int) -> None:
        """Set tokens aside for a call that is about to be made.

        Raises:
            LLMBudgetExceeded: So many are not left.
        """
        with self._lock:
            used = self._spent.tokens + self._reserved
            if used + tokens > self.limit_tokens:
                raise LLMBudgetExceeded(
                    f"this operation may take {self.limit_tokens:,} tokens and has taken {used:,}; the next question "
                    f"could take {tokens:,} more and was not asked. Ask about fewer memories, or raise "
                    "ATLAS_LLM_BUDGET_TOKENS"
                )
            self._reserved += tokens

    def settle(self, reserved: int, spent: TokenUsage) -> None:
        """Give back what was set aside for a call, and count what it took."""
        with self._lock:
            self._reserved -= reserved
            self._spent += spent


class Account:
    """Tokens and time that one operation spends on models, and the models that cannot be asked any more in it."""

    def __init__(self) -> None:
        self._meters: dict[object, Meter] = {}
        self._stopped: dict[int, str] = {}
        self._until: float | None = None
        self._seconds = 0.0
        self.overdue = ""
        """Why a question was not answered, once one was not for want of time."""

    def meter(self, model: object, limit_tokens: int) -> Meter:
        """Return the meter of a model, by identity, and create it for a new model."""
        return self._meters.setdefault(model, Meter(limit_tokens))

    @property
    def spent(self) -> TokenUsage:
        """Tokens spent so far, on all models."""
        return sum((meter.spent for meter in list(self._meters.values())), TokenUsage())

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Give all questions inside a time limit. What is not answered by then counts as unavailable."""
        before = self._until, self._seconds
        self._until, self._seconds = time.monotonic() + seconds, seconds
        try:
            yield
        finally:
            self._until, self._seconds = before

    @property
    def seconds_left(self) -> float | None:
        """Time that is left for the next question, or None if it is not limited. Never negative."""
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    def check_available(self, model: object) -> None:
        """Raise `LLMUnavailable` for a model that could not be asked before, or if no time is left."""
        if reason := self._stopped.get(id(model)):
            raise LLMUnavailable(f"it was not called again after an earlier failure: {reason}")
        if self.seconds_left == 0.0:
            raise self.unavailable(model, LLMUnavailable("there was no time left to ask it"))

    def unavailable(self, model: object, error: LLMUnavailable) -> LLMUnavailable:
        """Return an error after which a model is not asked again, with the time limit as its reason if that is over."""
        if self.seconds_left == 0.0:
            self.overdue = (
                f"the {self._seconds:g} seconds that a language model has here are over; see ATLAS_LLM_STORE_SECONDS"
            )
            error = LLMUnavailable(self.overdue)
        self._stopped[id(model)] = str(error)
        return error


_current: ContextVar[Account | None] = ContextVar("atlas_operation", default=None)


@contextmanager
def operation() -> Iterator[Account]:
    """Open one operation: all that it asks, also in threads and tasks of its own, shares one budget and one account.

    Inside another operation it is a part of that.
    """
    account = _current.get()
    if account is not None:
        yield account
        return
    account = Account()
    token = _current.set(account)
    try:
        yield account
    finally:
        _current.reset(token)
