"""Induction: a strategy from a successful attempt (ArcMemo).

`template` works by pattern, and `llm` asks a language model. `slots` turns particulars of a task into parameters, and
`summaries` describes in a few lines what was done.
"""

from atlas.memory.strategies.induction.llm import LLMStrategyAbstractor
from atlas.memory.strategies.induction.template import TemplateStrategyAbstractor

__all__ = ["LLMStrategyAbstractor", "TemplateStrategyAbstractor"]
