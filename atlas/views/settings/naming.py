"""The name under which the history lists what the visitor does."""

from __future__ import annotations

from atlas.infra.actor import current_actor

ACTOR = "ATLAS_ACTOR"
"""The variable that sets the name of whoever runs the dashboard."""

MAX_CHARACTERS = 80


def may_rename() -> bool:
    """Return whether the visitor can choose a name here. Visitors of a server have that of their key or sign-in."""
    return current_actor() is None
