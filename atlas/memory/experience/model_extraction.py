"""An attempt as a language model sums it up, to be embedded."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from atlas.core.errors import InvalidInput, LLMError
from atlas.core.types import Trajectory
from atlas.infra.bridge import run
from atlas.llm.prompts import told_attempt
from atlas.llm.structured_output import ask
from atlas.memory.experience.extraction import SimpleExperienceExtractor
from atlas.protocols.infra import LLMClient
from atlas.protocols.strategies import ExperienceExtractor

logger = logging.getLogger(__name__)

FAILURES_KEPT = 100

SYSTEM = """\
You sum up an attempt at a task, so that it can be found again by somebody who has a similar task.
- task: what was to be done, in one or two sentences, with the words that such a person would use.
- key_steps: the few steps that decided how it went, one short line each.
- outcome: how it ended and why, in one sentence."""

_LINE = {"type": "string", "minLength": 1, "maxLength": 1_000}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "task": _LINE,
        "key_steps": {"type": "array", "items": _LINE, "minItems": 1, "maxItems": 12},
        "outcome": _LINE,
    },
    "required": ["task", "key_steps", "outcome"],
    "additionalProperties": False,
}


class LLMSummarizingExtractor:
    """Task, key steps and outcome, as a language model summarises them.

    Without an answer of the model, the text of `fallback` is embedded, and `failures` contains the reason. It waits for
    the model, so memories call it in a thread.
    """

    def __init__(self, llm_client: LLMClient, *, fallback: ExperienceExtractor | None = None) -> None:
        self.llm = llm_client
        self._fallback = fallback or SimpleExperienceExtractor()
        self.failures: deque[str] = deque(maxlen=FAILURES_KEPT)
        """Why the latest attempts that no model summed up were not, oldest first."""

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed for similarity search."""
        try:
            return run(self._summary(trajectory))
        except LLMError as error:
            logger.warning("%s is embedded without a summary: %s", trajectory.task.id, error)
            self.failures.append(f"{trajectory.task.id}: {error}")
            return self._fallback.extract(trajectory)

    async def _summary(self, trajectory: Trajectory) -> str:
        prompt = f"The attempt:\n{told_attempt(trajectory)}"
        answer = await ask(self.llm, SYSTEM, prompt, schema=SCHEMA, validate=_with_words, max_tokens=1_024)
        return "\n".join([answer["task"], *answer["key_steps"], answer["outcome"]])


def _with_words(answer: dict[str, Any]) -> dict[str, Any]:
    if not any(character.isalnum() for character in answer["task"]):
        raise InvalidInput("task should say what was to be done, in words")
    return answer
