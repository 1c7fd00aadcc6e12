"""What a language model answers on every path: valid replies, refusals by reason, faithfulness, tokens and seconds.

The model is that of the settings. Where they name no server, `smollm2` is the small model of the dependency group
`real-model`, which is served on this machine:

    python -m benchmarks language_model --model smollm2
    ATLAS_LLM_BASE_URL=http://127.0.0.1:8080/v1 python -m benchmarks language_model --model qwen3

Summaries, strategies and warnings are asked for of sample attempts, ATLAS_BENCHMARK_COPIES of each (3 by default).
The other questions are those of the tests. Faithfulness is the share of an answer's telling words that its data
contain, also in refused answers.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from atlas.core.codec import decode_trajectory
from atlas.core.errors import LLMError, LLMReplyInvalid
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.infra.bridge import run
from atlas.llm.budget import TokenUsage
from atlas.llm.client import ModelClient, is_configured
from atlas.llm.structured_output import split_data
from atlas.llm.substance import significant_words
from atlas.memory.experience.model_extraction import LLMSummarizingExtractor
from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from benchmarks.measuring import Figure
from tests.support.model_paths import PATHS, prepared
from tests.support.real_model import CONTEXT_TOKENS, MISSING, serving_model

SMALL = "smollm2"
SAMPLES = Path(__file__).parent.parent / "sample_data" / "customer_support.jsonl"
N_ATTEMPTS = int(os.environ.get("ATLAS_BENCHMARK_COPIES", "3"))
OF_ATTEMPTS = ("attempt_summary", "strategy", "warning")

REASONS: Mapping[str, str] = {
    "does not fit into": "it is wrong, and leaves no room for a repair",
    "cut off": "it was cut off",
    "did not answer within|nothing answers|does not answer": "it was not there in time",
    "not a JSON object|match the schema|is empty$": "it has another form",
    "repeats itself": "it repeats itself",
    "repeats the question": "it repeats the question",
    "copies a long part": "it copies its data",
    "names that are not|shares no words": "it names what its data do not",
    "should say something|hold the same text": "it has empty or equal fields",
}
"""Kinds of refusals by what their reasons contain. The last reason of a refusal counts."""

OTHER = "it breaks another rule, such as an unknown id"


@dataclass(slots=True, kw_only=True)
class Replies:
    """What came of the questions of one path."""

    n_asked: int = 0
    n_at_once: int = 0
    """Answers that were usable without a repair."""

    n_usable: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    shares: list[float] = field(default_factory=list)
    """Of each answer, the share of its telling words that its data contain."""

    spent: TokenUsage = field(default_factory=TokenUsage)
    seconds: float = 0.0


class MeasuredLLM:
    """A model whose questions and answers are counted."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client
        self.model_name = client.model_name
        self.n_corrections = 0
        self.shares: list[float] = []

    async def complete(self, system: str, prompt: str, **options: Any) -> Any:
        """Return the model's reply."""
        return self._counted(prompt, await self._noting(prompt, self._client.complete(system, prompt, **options)))

    async def correct(self, system: str, prompt: str, answer: Any, fault: str, **options: Any) -> Any:
        """Return the model's other reply."""
        self.n_corrections += 1
        asking = self._client.correct(system, prompt, answer, fault, **options)
        return self._counted(prompt, await self._noting(prompt, asking))

    async def _noting(self, prompt: str, asking: Any) -> Any:
        try:
            return await asking
        except LLMReplyInvalid as error:
            self._counted(prompt, error.reply)
            raise

    def _counted(self, prompt: str, answer: Any) -> Any:
        written = significant_words(" ".join(_texts(answer)))
        words, data = split_data(prompt)
        if written:
            self.shares.append(len(written & significant_words(" ".join(data or [words]))) / len(written))
        return answer


def figures() -> Iterator[Figure]:
    """Yield the figures of each path, and those of all of them."""
    with _model() as client:
        if client is None:
            return
        every: list[Replies] = []
        for path, questions in groupby(_questions(), key=itemgetter(0)):
            every.append(Replies())
            for _, ask in questions:
                _ask(client, ask, every[-1])
            yield from _figures(path, every[-1])
        yield from _figures("all", _together(every))


@contextmanager
def _model() -> Iterator[ModelClient | None]:
    settings = Settings.from_environment()
    if settings.llm_model == SMALL and not settings.llm_base_url and not MISSING:
        with serving_model() as served:
            small = replace(
                settings,
                llm_base_url=served.url,
                llm_api="openai",
                llm_context_tokens=CONTEXT_TOKENS,
                llm_thinking_tokens=0,
                llm_retries=0,
            )
            with closing(ModelClient(small, api_key="")) as client:
                yield client
    elif is_configured(settings):
        with closing(ModelClient(settings)) as client:
            yield client
    else:
        print("language_model: no model is configured; see benchmarks/language_model.py", file=sys.stderr)
        yield None


Asking = Callable[[MeasuredLLM], str]
"""Asks one question, and returns the reason of its refusal, or an empty string."""


def _questions() -> Iterator[tuple[str, Asking]]:
    """Yield the questions with the name of their path, path by path."""
    attempts = [decode_trajectory(json.loads(line)["trajectory"]) for line in SAMPLES.read_text("utf-8").splitlines()]
    succeeded = [attempt for attempt in attempts if attempt.outcome.success is True][:N_ATTEMPTS]
    failed = [attempt for attempt in attempts if attempt.outcome.success is False][:N_ATTEMPTS]
    summary, strategy, warning = OF_ATTEMPTS
    yield from ((summary, partial(_summarise, attempt)) for attempt in (*succeeded, *failed))
    yield from ((strategy, partial(_abstract, attempt)) for attempt in succeeded)
    yield from ((warning, partial(_abstract, attempt)) for attempt in failed)
    for name in PATHS:
        if name not in OF_ATTEMPTS:
            yield name, partial(_follow, name)


def _summarise(trajectory: Trajectory, llm: MeasuredLLM) -> str:
    extractor = LLMSummarizingExtractor(llm)
    extractor.extract(trajectory)
    return "".join(extractor.failures)


def _abstract(trajectory: Trajectory, llm: MeasuredLLM) -> str:
    try:
        run(LLMStrategyAbstractor(llm).abstract_beside(trajectory, ()))
    except LLMError as error:
        return str(error)
    return ""


def _follow(name: str, llm: MeasuredLLM) -> str:
    with tempfile.TemporaryDirectory() as scratch, prepared(PATHS[name], Path(scratch), llm) as memory:
        return PATHS[name].ask(memory, llm).reason


def _ask(client: ModelClient, ask: Asking, replies: Replies) -> None:
    llm, before, began = MeasuredLLM(client), client.spent, time.perf_counter()
    reason = ask(llm)
    replies.seconds += time.perf_counter() - began
    replies.spent = _sum(replies.spent, client.spent, before)
    replies.n_asked += 1
    replies.n_usable += not reason
    replies.n_at_once += not reason and not llm.n_corrections
    replies.shares += llm.shares
    if reason:
        replies.refusals[_kind(reason)] += 1


def _sum(total: TokenUsage, now: TokenUsage, before: TokenUsage) -> TokenUsage:
    return replace(
        total,
        n_calls=total.n_calls + now.n_calls - before.n_calls,
        input_tokens=total.input_tokens + now.input_tokens - before.input_tokens,
        output_tokens=total.output_tokens + now.output_tokens - before.output_tokens,
    )


def _kind(reason: str) -> str:
    last = reason.rpartition("; then ")[2]
    return next((kind for pattern, kind in REASONS.items() if re.search(pattern, last)), OTHER)


def _texts(answer: Any) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, Mapping):
        for value in answer.values():
            yield from _texts(value)
    elif isinstance(answer, Sequence):
        for value in answer:
            yield from _texts(value)


def _together(every: Sequence[Replies]) -> Replies:
    return Replies(
        n_asked=sum(replies.n_asked for replies in every),
        n_at_once=sum(replies.n_at_once for replies in every),
        n_usable=sum(replies.n_usable for replies in every),
        refusals=sum((replies.refusals for replies in every), Counter()),
        shares=[share for replies in every for share in replies.shares],
        spent=sum((replies.spent for replies in every), TokenUsage()),
        seconds=sum(replies.seconds for replies in every),
    )


def _figures(path: str, replies: Replies) -> Iterator[Figure]:
    def figure(what: str, ours: float, unit: str, baseline: float | None = None) -> Figure:
        return Figure(what=f"{path}: {what}", ours=ours, baseline=baseline, unit=unit, aim="")

    n = replies.n_asked
    yield figure("usable, of questions asked", replies.n_usable, "", n)
    yield figure("usable without a repair", replies.n_at_once, "", n)
    for reason, count in replies.refusals.most_common():
        yield figure(f"refused as {reason}", count, "", n)
    if replies.shares:
        yield figure("telling words that are in the data", fmean(replies.shares), "")
    yield figure("tokens read, a question", replies.spent.input_tokens / n, "")
    yield figure("tokens written, a question", replies.spent.output_tokens / n, "")
    yield figure("seconds, a question", replies.seconds / n, "s")
