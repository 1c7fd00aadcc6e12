"""The sections of the page Settings. A served store has more of them than a local one."""

from __future__ import annotations

from atlas.views.shared.state import has_visitor

PARTS = ("Status", "Import", "Export and backup", "Models", "Ready-made functions")
OF_A_SERVER = ("Keys", "People", "Links", "Audit")
"""Sections on access, which are hidden on a local dashboard."""


def settings_parts() -> tuple[str, ...]:
    """Return the names of the parts, in their order."""
    return (*PARTS, *OF_A_SERVER) if has_visitor() else PARTS
