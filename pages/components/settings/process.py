"""Environment variables that were entered for this process only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import streamlit as st


@dataclass(slots=True)
class SessionVariables:
    """Variables set here. Jobs inherit them, and they are not stored."""

    _before: dict[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """The names of the variables set here."""
        return frozenset(self._before)

    def use(self, name: str, value: str) -> None:
        """Set a variable until it is forgotten."""
        self._before.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def forget(self, *names: str) -> None:
        """Restore variables that were set here."""
        for name in self.names.intersection(names):
            value = self._before.pop(name)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@st.cache_resource(show_spinner=False)
def typed() -> SessionVariables:
    """Return the entered values, shared by all visitors of this dashboard."""
    return SessionVariables()
