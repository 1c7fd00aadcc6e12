"""An act that was done, in words, with its way back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompletedAct:
    """One operation on the store."""

    operation_id: str
    sentence: str
    """The act, as trusted text."""
