"""A comparison: one task answered by the language model with and without memories."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from atlas.core.errors import AtlasError, LLMReplyInvalid
from atlas.infra.bridge import run
from atlas.llm.budget import PRICES_AS_OF, TokenUsage, estimate_tokens, operation
from atlas.llm.prompts.demonstration import DEMONSTRATION
from atlas.llm.structured_output import DATA_RULE, as_data, model_name
from atlas.protocols.infra import LLMClient

MAX_TOKENS = 1_500
"""Maximum tokens of each answer."""

BLOCK_CHARACTERS = 60_000
"""Maximum characters of the block, far above its token budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The model's answer to one request, or the reason why there is none."""

    text: str
    """Untrusted text, or empty if there is no answer."""

    problem: str
    """Reason for a missing or truncated answer, or empty."""

    cost: str
    """Input and output tokens, and their price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The model's answers to a task with and without the context block."""

    model: str
    without: Reply
    with_block: Reply


def run_trial(llm: LLMClient, text: str, block: str) -> Trial:
    """Return the model's answers to a task, without memories and with `block`. Both are requested concurrently.

    One request may fail without the other.

    Args:
        block: The context block from the memories, as an agent receives it.
    """
    return run(_ask_with_and_without(llm, text, block))


async def _ask_with_and_without(llm: LLMClient, text: str, block: str) -> Trial:
    memories = as_data({"memories": block}, limit=BLOCK_CHARACTERS)
    calls = (
        _ask_once(llm, DEMONSTRATION.text, text),
        _ask_once(llm, f"{DEMONSTRATION.text}\n\n{DATA_RULE}", f"{memories}\n\nThe task:\n{text}"),
    )
    without, with_block = await asyncio.gather(*calls)
    return Trial(model=model_name(llm), without=without, with_block=with_block)


async def _ask_once(llm: LLMClient, system: str, prompt: str) -> Reply:
    with operation() as account:
        try:
            text, problem = str(await llm.complete(system, prompt, max_tokens=MAX_TOKENS)), ""
        except LLMReplyInvalid as error:  # the truncated text was paid for
            text, problem = error.reply, str(error)
        except AtlasError as error:
            text, problem = "", str(error)
    return Reply(text=text, problem=problem, cost=_describe_cost(account.spent, system, prompt, text))


def _describe_cost(usage: TokenUsage, system: str, prompt: str, text: str) -> str:
    """Return `1,204 tokens read, 96 written · $0.0017 …`. The numbers are estimates if the model reports no usage."""
    if not usage.n_calls:
        n_read, n_written = estimate_tokens(system, prompt), estimate_tokens(text)
        return f"about {n_read:,} tokens read, {n_written:,} written · estimated, as the model reports no usage"
    n_read = usage.input_tokens + usage.cache_read_tokens + usage.cache_written_tokens
    tokens = f"{n_read:,} tokens read, {usage.output_tokens:,} written"
    if usage.cost_usd is None:
        return f"{tokens} · no price is known for this model"
    if not usage.cost_usd:
        return f"{tokens} · free, as this machine runs the model"
    return f"{tokens} · ${usage.cost_usd:.4f} at the list prices of {PRICES_AS_OF}"
