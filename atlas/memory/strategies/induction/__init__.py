"""Induction of strategies from attempts (ArcMemo).

`template` needs no model, and `llm` uses a language model. `slots` turns the specific values of a task into parameters,
and `summaries` summarises the steps of an attempt.
"""

from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.memory.strategies.induction.template import TemplateStrategyAbstractor

__all__ = ["LLMStrategyAbstractor", "TemplateStrategyAbstractor"]
