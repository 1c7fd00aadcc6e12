"""A check of the configured language model: reachability, structured output, speed and cost."""

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
from atlas.llm.structured_output import check_conforms

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
    """The result of a small test request to a model."""

    address: str
    """Base URL of the server."""

    api: str
    """Display name of the protocol."""

    model: str
    problem: str = ""
    """Why there is no answer, or empty."""

    fault: str = ""
    """Reason why the answer does not match the schema. Empty for a matching answer, and without an answer."""

    spent: TokenUsage = field(default_factory=TokenUsage)
    seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """Output tokens per second, including the latency of the first, or None if the server reports no usage."""
        return self.spent.output_tokens / self.seconds if self.spent.output_tokens and self.seconds else None

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """The result as pairs of a label and a value, to print. Values may contain text of the server."""
        model = (("Server", self.address), ("Protocol", self.api), ("Model", self.model))
        if self.problem:
            return (*model, ("Answer", self.problem))
        speed = "the server reports no token usage"
        if self.tokens_per_second is not None:
            speed = f"{self.tokens_per_second:.1f}"
        return (
            *model,
            ("Holds a schema", f"no: {self.fault}" if self.fault else "yes"),
            ("Tokens a second", speed),
            ("Took", f"{self.spent}, at the list prices of {PRICES_AS_OF}" if self.spent.cost_usd else f"{self.spent}"),
        )


def check_model(client: ModelClient) -> ModelCheck:
    """Send a small test request to a model and return the result."""
    problem = fault = ""
    started_at = time.perf_counter()
    with operation() as account:
        try:
            answer = run(client.complete(CHECK.text, "Answer.", schema=SCHEMA, max_tokens=ANSWER_TOKENS))
            check_conforms(answer, SCHEMA)
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
        seconds=time.perf_counter() - started_at,
    )
