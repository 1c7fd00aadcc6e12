"""The ranking of one side of a comparison: a profile of the store, and its weights, which can be turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import streamlit as st

from atlas.views.ask.comparison import Profile, RankingWeights, knobs, nudges_sentence
from pages.components.shared.scope import digest

Name = Literal["left", "right"]
Bind = Literal["query-params"] | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The weights that one side ranks with."""

    profile: Profile
    weights: RankingWeights

    @property
    def is_edited(self) -> bool:
        """True where the weights are others than the profile's."""
        return self.weights != self.profile.weights


def warn_of_problems(profiles: Sequence[Profile]) -> None:
    """Name the profiles that cannot be used, and say why."""
    for profile in profiles:
        if profile.problem:
            st.warning("A profile cannot be used. Save it again under its name, or delete it.", icon=":material/error:")
            st.text(f"{profile.name}: {profile.problem}")


def first_profile(side: Name, names: Sequence[str], in_use: str) -> str:
    """Return what a side begins with: the profile in use, and another one beside it."""
    others = [name for name in names if name != in_use]
    return others[0] if others and (side == "right" or in_use not in names) else in_use


def called(name: str, in_use: str) -> str:
    """Return a profile's name, and whether searches use it."""
    return f"{name} (in use)" if name == in_use else name


def draw_weights(page: str, side: Name, profile: Profile, bind: Bind = None) -> RankingWeights:
    """Draw sliders that begin at the profile's weights.

    Args:
        page: What the keys begin with.
        bind: Whether what is turned stands in the address; there it holds as long as the profile is the same.
    """
    of = digest(profile)
    values = {}
    for knob in knobs():
        value = float(getattr(profile.weights, knob.name))
        least = min(value, 1.0) if knob.name == "recency_half_life_days" else 0.0
        values[knob.name] = st.slider(
            knob.label,
            least,
            max(knob.most, value),
            value,
            step=knob.step,
            format="%.3f" if knob.step < 0.05 else "%.2f",
            key=f"{page}_{knob.name}_{side}_{of}",
            help=knob.help or None,
            bind=bind,
        )
    weights = replace(profile.weights, **values)
    st.caption(nudges_sentence(weights))
    return weights
