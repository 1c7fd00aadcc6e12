"""A check of the configured language model: what answers, whether it holds a schema, how fast and at what price."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from atlas.core.errors import AtlasError, LLMReplyInvalid
from atlas.infra.bridge import run
from atlas.llm.budget import PRICES_AS_OF, TokenUsage, operation
from atlas.llm.client import ModelClient
from atlas.llm.prompts.check import CHECK
from atlas.llm.structured_output import conforming

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green", "blue"]},
        "numbers": {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 3},
    },
    "required": ["colour", "numbers"],
    "additionalProperties": False,
}
ANSWER_TOKENS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """The result of asking a language model one small question."""

    address: str
    """The server's."""

    api: str
    """The protocol that it speaks, for people."""

    model: str
    problem: str = ""
    """Why there is no answer. Empty otherwise."""

    fault: str = ""
    """Why the answer has not the form that was asked for. Empty if it has, or if there is none."""

    spent: TokenUsage = field(default_factory=TokenUsage)
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens written in a second, with the wait for the first, or None if the server does not count them."""
        return self.spent.output_tokens / self.seconds if self.spent.output_tokens and self.seconds else None

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The result as pairs of a label and a string, which may hold the server's words."""
        model = (("Server", self.address), ("Protocol", self.api), ("Model", self.model))
        if self.problem:
            return (*model, ("Answer", self.problem))
        speed = f"{self.tokens_per_second:.1f}" if self.tokens_per_second is not None else "the server counts no tokens"
        return (
            *model,
            ("Holds a schema", f"no: {self.fault}" if self.fault else "yes"),
            ("Tokens a second", speed),
            ("Took", f"{self.spent}, at the list prices of {PRICES_AS_OF}" if self.spent.cost_usd else f"{self.spent}"),
        )


def check_model(client: ModelClient) -> ModelCheck:
    """Return what comes of asking a model one small question."""
    problem = fault = ""
    began = time.perf_counter()
    with operation() as account:
        try:
            answer = run(client.complete(CHECK.text, "Answer.", schema=SCHEMA, max_tokens=ANSWER_TOKENS))
            conforming(answer, SCHEMA)
        except LLMReplyInvalid as error:
            fault = str(error)
        except AtlasError as error:
            problem = str(error)
    return ModelCheck(
        address=client.address,
        api=client.api_title,
        model=client.model_name,
        problem=problem,
        fault=fault,
        spent=account.spent,
        seconds=time.perf_counter() - began,
    )
