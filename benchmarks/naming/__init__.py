"""Names of functions judged by a table: what may be said of well-known ones, and what not of those that look alike."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator

from atlas.core.settings import Settings
from atlas.learning.naming.autodoc import LLMAutoDocumenter
from atlas.learning.naming.documenter import HeuristicDocumenter
from atlas.llm.anthropic import KEY, AnthropicLLM
from atlas.protocols.strategies import ConceptDocumenter
from benchmarks.measuring import Figure
from benchmarks.naming.judging import FITTING, SAYING_NOTHING, WRONG, on_near_misses, on_table


def figures() -> Iterator[Figure]:
    """Yield the judgement of the names that are derived, and of a language model's where there is a key for one."""
    yield from judged("derived", HeuristicDocumenter)
    if os.environ.get(KEY):
        llm = AnthropicLLM(Settings())
        yield from judged(llm.model_name, lambda: LLMAutoDocumenter(llm))


def judged(by: str, documenter: Callable[[], ConceptDocumenter]) -> Iterator[Figure]:
    """Yield how many of a documenter's names fit, how many say nothing, and how many are wrong.

    Args:
        documenter: Makes a fresh one for each function.
    """
    for what, verdicts in (("well-known functions", on_table(documenter)), ("near misses", on_near_misses(documenter))):
        counts = Counter(one.verdict for one in verdicts)
        n = sum(counts.values())
        for verdict, aim in ((FITTING, "most"), (SAYING_NOTHING, ""), (WRONG, "0")):
            name = f"{n} {what}, named by {by}: {verdict}"
            yield Figure(what=name, ours=100 * counts[verdict] / n, baseline=None, unit="%", aim=aim)
