"""An act that is done, as a page tells it, and can be undone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompletedAct:
    """One operation on the store."""

    operation_id: str
    sentence: str
    """The act, in words of our own."""
