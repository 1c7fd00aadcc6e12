"""Cost of language model calls: tokens, prices, and a limit per operation."""

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
"""Assumed characters per token, low for English, so that token counts are overestimated."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model's tokens, in US dollars per million."""

    read: float
    written: float
    cache_read: float
    long_prompt: int | None = None
    """Number of prompt tokens above which all prices are multiplied by `long_factor`, or None."""

    long_factor: float = 1.0

    @property
    def cache_write(self) -> float:
        """Price of input tokens written to the five-minute cache."""
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
"""List prices by model name, without a date suffix.

Source:
    https://platform.claude.com/docs/en/about-claude/pricing, as of `PRICES_AS_OF`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """The numbers of tokens of one or more requests, and their cost."""

    n_calls: int = 0
    input_tokens: int = 0
    """Input tokens, without those from a cache, which are counted separately."""

    output_tokens: int = 0
    """Output tokens, including thinking."""

    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    cost_usd: float | None = 0.0
    """Cost at list prices, or None if a model's price is unknown."""

    @property
    def tokens(self) -> int:
        """Sum of all tokens."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_written_tokens

    def __add__(self, other: TokenUsage) -> TokenUsage:
        is_cost_unknown = self.cost_usd is None or other.cost_usd is None
        return TokenUsage(
            n_calls=self.n_calls + other.n_calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            cost_usd=None if is_cost_unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
        )

    def __str__(self) -> str:
        """Return a summary such as `3 calls, 12,400 tokens, $0.0021`."""
        cost = "cost unknown" if self.cost_usd is None else f"${self.cost_usd:.4f}"
        return f"{self.n_calls} call{'' if self.n_calls == 1 else 's'}, {self.tokens:,} tokens, {cost}"


def with_cost(model: str, usage: TokenUsage) -> TokenUsage:
    """Return the usage of one call with its cost added. The cost is None for a model without a list price."""
    price = PRICES.get(re.sub(r"-\d{8}$", "", model))
    if price is None:
        return replace(usage, cost_usd=None)
    prompt_tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
    factor = price.long_factor if price.long_prompt is not None and prompt_tokens > price.long_prompt else 1.0
    dollars = (
        usage.input_tokens * price.read
        + usage.output_tokens * price.written
        + usage.cache_read_tokens * price.cache_read
        + usage.cache_written_tokens * price.cache_write
    )
    return replace(usage, cost_usd=factor * dollars / 1_000_000)


def estimate_tokens(*texts: str) -> int:
    """Return an estimate of the number of tokens in texts: usually too high, for non-Latin scripts possibly too low."""
    return math.ceil(sum(map(len, texts)) / CHARACTERS_PER_TOKEN)


class Meter:
    """A counter of the tokens that one operation spends on one model, with a hard limit."""

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
        """Reserve tokens for the next call.

        Raises:
            LLMBudgetExceeded: Too few tokens are left.
        """
        with self._lock:
            n_used = self._spent.tokens + self._reserved
            if n_used + tokens > self.limit_tokens:
                raise LLMBudgetExceeded(
                    f"the budget of this operation is {self.limit_tokens:,} tokens, of which {n_used:,} are used; the "
                    f"next request could take {tokens:,} more and was not sent. Select fewer memories, or raise "
                    "ATLAS_LLM_BUDGET_TOKENS"
                )
            self._reserved += tokens

    def settle(self, reserved: int, usage: TokenUsage) -> None:
        """Release the reservation of a call, and count its actual usage."""
        with self._lock:
            self._reserved -= reserved
            self._spent += usage


class Account:
    """Token usage of one operation by model, the operation's time limit, and the models that failed."""

    def __init__(self) -> None:
        self._meters: dict[object, Meter] = {}
        self._failures: dict[int, str] = {}
        self._deadline: float | None = None
        self._seconds = 0.0
        self.overdue = ""
        """Reason why a request was not answered, set after a timeout."""

    def meter(self, model: object, limit_tokens: int) -> Meter:
        """Return the meter of a model, and create it on first use. Models are distinguished by identity."""
        return self._meters.setdefault(model, Meter(limit_tokens))

    @property
    def spent(self) -> TokenUsage:
        """Usage so far, summed over all models."""
        return sum((meter.spent for meter in list(self._meters.values())), TokenUsage())

    @contextmanager
    def limit_time(self, seconds: float) -> Iterator[None]:
        """Limit the total time of requests in a `with` block. After that time, every model counts as unavailable."""
        previous = self._deadline, self._seconds
        self._deadline, self._seconds = time.monotonic() + seconds, seconds
        try:
            yield
        finally:
            self._deadline, self._seconds = previous

    @property
    def seconds_left(self) -> float | None:
        """Seconds left for the next request, never negative, or None without a limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def check_available(self, model: object) -> None:
        """Raise `LLMUnavailable` if the model failed earlier in this operation, or if no time is left."""
        if reason := self._failures.get(id(model)):
            raise LLMUnavailable(f"the model was not called again after an earlier failure: {reason}")
        if self.seconds_left == 0.0:
            raise self.mark_unavailable(
                model, LLMUnavailable("the time limit was reached before the request; raise ATLAS_LLM_STORE_SECONDS")
            )

    def mark_unavailable(self, model: object, error: LLMUnavailable) -> LLMUnavailable:
        """Record that a model is unavailable for the rest of the operation, and return the error to raise."""
        if self.seconds_left == 0.0:
            self.overdue = (
                f"the time limit of {self._seconds:g} seconds for the language model was reached; raise "
                "ATLAS_LLM_STORE_SECONDS"
            )
            error = LLMUnavailable(self.overdue)
        self._failures[id(model)] = str(error)
        return error


_current_account: ContextVar[Account | None] = ContextVar("atlas_operation", default=None)


@contextmanager
def operation() -> Iterator[Account]:
    """Run a `with` block as one operation. All requests in it, even in other threads and tasks, share one budget.

    A nested operation is part of the outer one.
    """
    account = _current_account.get()
    if account is not None:
        yield account
        return
    account = Account()
    token = _current_account.set(account)
    try:
        yield account
    finally:
        _current_account.reset(token)
