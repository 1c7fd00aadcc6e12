"""A prompt with its name and version, which are kept with what a model made of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

VERSION_CHARACTERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Instructions to a language model."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """The name with a digest of the text, such as `strategy-1f3a09bc`. It changes with every word."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return f"{self.name}-{digest[:VERSION_CHARACTERS]}"
