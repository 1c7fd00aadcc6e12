"""A prompt with a name and version, which are stored with the model's results."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from atlas.llm.structured_output import model_name
from atlas.protocols.infra import LLMClient

VERSION_CHARACTERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The name and text of the instructions for one task of a language model."""

    name: str
    text: str

    @property
    def version(self) -> str:
        """The prompt's name with a digest of its text, such as `strategy-1f3a09bc`."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        return f"{self.name}-{digest[:VERSION_CHARACTERS]}"


def authorship(llm: LLMClient, prompt: Prompt) -> str:
    """Return the provenance of a model's result: the model and the prompt's version, `smollm2, strategy-1f3a09bc`."""
    return f"{model_name(llm)}, {prompt.version}"
