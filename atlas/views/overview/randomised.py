"""The randomised effect of memory in words."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.memory.effects.randomised import RandomisedEffect
from atlas.memory.effects.strategy_effects import Tries
from atlas.views.shared.rates import points, range_text
from atlas.views.shared.wording import counted, percent

BY_COIN = "A coin decided which attempts were shown memory, so the difference is its effect on these attempts."


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomisedView:
    """The randomised effect, in words of our own."""

    verdict: str
    with_memory: str
    """`65% of 28`."""

    held_out: str
    difference: str
    """`+23 points`."""

    interval: str
    """`likely −4 to +58 points`."""

    advice: str
    """How many more attempts decide, or empty if it is decided."""


def randomised_view(effect: RandomisedEffect) -> RandomisedView:
    """Return the effect in words."""
    return RandomisedView(
        verdict=randomised_verdict(effect),
        with_memory=rate_text(effect.shown),
        held_out=rate_text(effect.held_out),
        difference=points(effect.difference),
        interval=range_text(*effect.interval),
        advice=_advice(effect),
    )


def randomised_verdict(effect: RandomisedEffect) -> str:
    """Return whether memory helps, in a few words."""
    if not effect.is_decided:
        return "No clear effect of memory so far."
    return "Memory helps." if effect.difference > 0 else "Memory hurts."


def randomised_sentence(effect: RandomisedEffect) -> str:
    """Return the effect in sentences, as the command line prints it."""
    rates = (
        f"{rate_text(effect.shown)} attempts succeeded with memory, and {rate_text(effect.held_out)} held out by a coin"
    )
    difference = f"a difference of {points(effect.difference)} ({range_text(*effect.interval)})"
    return " ".join(filter(None, (randomised_verdict(effect), f"{rates}: {difference}.", _advice(effect))))


def rate_text(tries: Tries) -> str:
    """Return a success rate and the number of attempts: `65% of 28`."""
    return f"{percent(tries.rate or 0.0)} of {tries.n:,}"


def _advice(effect: RandomisedEffect) -> str:
    if effect.n_more is None:
        return "No foreseeable number of attempts would decide on a difference this small."
    return f"About {counted(effect.n_more, 'more attempt')} would decide, if the rates stay." if effect.n_more else ""
