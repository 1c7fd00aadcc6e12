"""The cost of an attempt in tokens and US dollars, if its log records it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.importers.fields import Json, drop_missing

INPUT_TOKENS = ("input_tokens", "prompt_tokens", "input", "promptTokens", "inputTokens")
OUTPUT_TOKENS = ("output_tokens", "completion_tokens", "output", "completionTokens", "outputTokens")
CACHED_INPUT = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Tokens that Anthropic's API does not count as input tokens, though the model reads them."""


@dataclass(slots=True)
class Spending:
    """The tokens and cost of model calls, each call counted once."""

    _calls: dict[str, tuple[float, float, float]] = field(default_factory=dict)

    def add(self, call: str, usage: Any, cost_usd: Any = None) -> None:
        """Add the usage of a call.

        Args:
            call: Id of the call. A later report of the same call replaces an earlier one.
            usage: Mapping with token counts, under the names of the common APIs. Any other value is ignored.
            cost_usd: Price in US dollars, None if unknown.
        """
        counts = usage if isinstance(usage, dict) else {}
        n_input = first_number(counts, INPUT_TOKENS) + sum(_number(counts.get(name)) for name in CACHED_INPUT)
        amounts = (n_input, first_number(counts, OUTPUT_TOKENS), _number(cost_usd))
        if any(amounts):
            self._calls[call] = amounts

    def metadata(self) -> Json:
        """Return the sums as metadata. Numbers that the log does not record are left out.

        An example is `{"tokens": {"input": 120, "output": 45}, "cost_usd": 0.02}`.
        """
        n_input = sum(amounts[0] for amounts in self._calls.values())
        n_output = sum(amounts[1] for amounts in self._calls.values())
        cost_usd = sum(amounts[2] for amounts in self._calls.values())
        tokens = {"input": int(n_input), "output": int(n_output)} if n_input or n_output else None
        return drop_missing(tokens=tokens, cost_usd=round(cost_usd, 6) or None)


def first_number(values: Json, names: Sequence[str]) -> float:
    """Return the first positive number among the values with these names, or 0 if there is none."""
    return next((number for name in names if (number := _number(values.get(name)))), 0)


def _number(value: Any) -> float:
    is_count = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15
    return value if is_count else 0
