"""The cost of a step: tokens, time and money, where its source recorded them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_INPUT = ("input_tokens", "prompt_tokens", "n_input_tokens", "tokens_in")
_OUTPUT = ("output_tokens", "completion_tokens", "n_output_tokens", "tokens_out")
_COST = ("cost_usd", "total_cost_usd", "cost")
_SECONDS = {"seconds": 1.0, "duration_seconds": 1.0, "latency_seconds": 1.0, "duration_ms": 0.001, "latency_ms": 0.001}
"""Name of a duration in metadata, and the seconds in its unit."""

_WITHIN = ("usage", "metrics", "token_usage")
"""Names of objects in metadata that may have them."""

NUMBERS = frozenset({*_INPUT, *_OUTPUT, *_COST, *_SECONDS})
"""Keys of metadata that this module reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Tokens, seconds and US dollars, or None if unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float | None = None
    dollars: float | None = None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Cost:
        """Return the costs in the metadata of a step, under any of the usual names."""
        sources = [metadata, *(source for name in _WITHIN if isinstance(source := metadata.get(name), Mapping))]
        return cls(
            input_tokens=_count(sources, _INPUT),
            output_tokens=_count(sources, _OUTPUT),
            seconds=next((found * _SECONDS[name] for name in _SECONDS if (found := _number(sources, name)) is not None),
                         None),
            dollars=next((found for name in _COST if (found := _number(sources, name)) is not None), None),
        )  # fmt: skip

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """Return the total costs of the steps whose costs are known."""
        listed = list(costs)
        sums = {}
        for name in ("input_tokens", "output_tokens", "seconds", "dollars"):
            given = [value for cost in listed if (value := getattr(cost, name)) is not None]
            sums[name] = sum(given) if given else None
        return cls(**sums)

    @property
    def parts(self) -> tuple[str, ...]:
        """The known costs: `1,568 tokens read`, `423 written`, `4.8 s`, `$0.0005`."""
        both = self.input_tokens is not None
        return tuple(
            text
            for text in (
                f"{self.input_tokens:,} tokens read" if both else "",
                "" if self.output_tokens is None else f"{self.output_tokens:,} {'' if both else 'tokens '}written",
                "" if self.seconds is None else duration_text(self.seconds),
                "" if self.dollars is None else _money(self.dollars),
            )
            if text
        )


def _number(sources: Iterable[Mapping[str, Any]], name: str) -> float | None:
    """Return the first non-negative number that a source has under a name, or None."""
    for source in sources:
        value = source.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if math.isfinite(value) and 0 <= value < 1e12:
            return float(value)
    return None


def _count(sources: Iterable[Mapping[str, Any]], names: Iterable[str]) -> int | None:
    return next((int(found) for name in names if (found := _number(sources, name)) is not None), None)


def duration_text(seconds: float) -> str:
    """Return `4.8 s`, `12 min` or `3 h 5 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _money(dollars: float) -> str:
    return (
        f"${dollars:,.2f}" if dollars >= 1 or not dollars else f"${dollars:.2g}" if dollars >= 0.0001 else "< $0.0001"
    )
