"""Variables that were typed for this process alone, in place of those of its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import streamlit as st


@dataclass(slots=True)
class SessionVariables:
    """Variables that were set here. Jobs that are started from here inherit them. They are not stored."""

    _before: dict[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The variables that were set here."""
        return frozenset(self._before)

    def use(self, name: str, value: str) -> None:
        """Set a variable until `forget` is called."""
        self._before.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def forget(self) -> None:
        """Set every variable to what it was before."""
        while self._before:
            name, value = self._before.popitem()
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@st.cache_resource(show_spinner=False)
def typed() -> SessionVariables:
    """Return the values that were typed, shared by all visitors of this dashboard."""
    return SessionVariables()
