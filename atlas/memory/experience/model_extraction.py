"""Summaries of attempts by a language model, to be embedded."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

from atlas.core.errors import LLMError
from atlas.core.types import Trajectory
from atlas.infra.bridge import run
from atlas.llm.prompts.attempt_summary import ATTEMPT_SUMMARY
from atlas.llm.prompts.prompt import authorship
from atlas.llm.prompts.records import attempt_as_data
from atlas.llm.structured_output import Question, ask
from atlas.memory.experience.extraction import SimpleExperienceExtractor
from atlas.protocols.infra import LLMClient
from atlas.protocols.strategies import ExperienceExtractor, ExtractedText

logger = logging.getLogger(__name__)

MAX_FAILURES = 100

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
    """An extractor that returns a language model's summary of the task, key steps and outcome as the text to embed.

    If the model fails, the text of `fallback` is returned, and the reason is added to `failures`. Calls block, so
    memories run them in a thread.
    """

    def __init__(self, llm_client: LLMClient, *, fallback: ExperienceExtractor | None = None) -> None:
        self.llm = llm_client
        self._fallback = fallback or SimpleExperienceExtractor()
        self.failures: deque[str] = deque(maxlen=MAX_FAILURES)
        """Reasons for the latest failed summaries, oldest first."""

    def extract(self, trajectory: Trajectory) -> str:
        """Return the text to embed."""
        return self.extract_recorded(trajectory).text

    def extract_recorded(self, trajectory: Trajectory) -> ExtractedText:
        """Return the text to embed. `made_by` names the model, and is empty for a text of the fallback."""
        try:
            text = run(self._ask_for_summary(trajectory))
            return ExtractedText(text=text, made_by=authorship(self.llm, ATTEMPT_SUMMARY))
        except LLMError as error:
            logger.warning("%s is embedded without a summary: %s", trajectory.task.id, error)
            self.failures.append(f"{trajectory.task.id}: {error}")
            return ExtractedText(text=self._fallback.extract(trajectory))

    async def _ask_for_summary(self, trajectory: Trajectory) -> str:
        question = Question(
            system=ATTEMPT_SUMMARY.text,
            prompt=f"The attempt:\n{attempt_as_data(trajectory)}",
            schema=SCHEMA,
            validate=lambda answer: "\n".join([answer["task"], *answer["key_steps"], answer["outcome"]]),
            prose=frozenset({"task", "key_steps", "outcome"}),
            is_grounded=lambda answer: True,
            max_tokens=1_024,
        )
        return await ask(self.llm, question)
