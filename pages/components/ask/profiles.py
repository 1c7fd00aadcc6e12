"""The ranking of one side of a comparison: a profile, and sliders for its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import streamlit as st

from atlas.views.ask.answer import Configuration
from atlas.views.ask.comparison import Profile, RankingWeights, knobs, nudges_sentence
from pages.components.lists.filters import digest

Name = Literal["left", "right"]
NAMES: tuple[Name, Name] = ("left", "right")
Bind = Literal["query-params"] | None

STRICTNESS = "strictness"
"""The weight that sets the relevance threshold."""


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a comparison."""

    name: Name
    title: str
    """`A` or `B`, or empty if there is one alone."""

    configuration: Configuration


@dataclass(frozen=True, slots=True)
class ProfileWeights:
    """Ranking weights of a side."""

    profile: Profile
    weights: RankingWeights

    @property
    def is_edited(self) -> bool:
        """True if the weights differ from the profile's."""
        return self.weights != self.profile.weights


def warn_of_problems(profiles: Sequence[Profile]) -> None:
    """Show the profiles that cannot be used, with the reasons."""
    for profile in profiles:
        if profile.problem:
            st.warning("A profile cannot be used. Save it again under its name, or delete it.", icon=":material/error:")
            st.text(f"{profile.name}: {profile.problem}")


def first_profile(side: Name, names: Sequence[str], in_use: str) -> str:
    """Return the default profile of a side: the one in use, or another for the second side."""
    other_names = [name for name in names if name != in_use]
    return other_names[0] if other_names and (side == "right" or in_use not in names) else in_use


def called(name: str, in_use: str) -> str:
    """Return a profile's name, and whether searches use it."""
    return f"{name} (in use)" if name == in_use else name


def draw_knob(page: str, side: Name, profile: Profile, name: str, bind: Bind = None) -> float:
    """Draw the slider of a weight, with the profile's value as default."""
    knob = next(knob for knob in knobs() if knob.name == name)
    value = float(getattr(profile.weights, name))
    least = min(value, 1.0) if name == "recency_half_life_days" else 0.0
    return st.slider(
        knob.label,
        least,
        max(knob.most, value),
        value,
        step=knob.step,
        format="%.3f" if knob.step < 0.05 else "%.2f",
        key=f"{page}_{name}_{side}_{digest(profile)}",
        help=knob.help or None,
        bind=bind,
    )


def draw_weights(
    page: str, side: Name, profile: Profile, bind: Bind = None, defaults: Mapping[str, float] = MappingProxyType({})
) -> RankingWeights:
    """Draw sliders that begin at the profile's weights.

    Args:
        page: Prefix of the keys.
        bind: Whether changed weights are in the URL, where they are valid for the same profile only.
        defaults: Weights that have a widget elsewhere on the page, by name.
    """
    values = {
        knob.name: draw_knob(page, side, profile, knob.name, bind) for knob in knobs() if knob.name not in defaults
    }
    weights = replace(profile.weights, **values, **defaults)
    st.caption(nudges_sentence(weights))
    return weights
