"""The prompt that decides whether two strategies are equivalent, and combines their advice.

Source:
    ArcMemo (arXiv 2509.04439): a new concept is written in the light of those that exist.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

STRATEGY_MERGE = Prompt(
    name="strategy_merge",
    text="""\
Compare two strategies for alike situations: the stored one and a new one. Use only what they hold.
- same: true if both are for the same situation, so that a task which fits one of them fits the other as well, even if
  their advice differs. Otherwise false.
- reason: why the situations are the same, or how they differ, in one sentence.
- suggestion: only after true: the advice of both in one text. Where they contradict each other, state when each holds.
  Put parameters in braces, and use only those of the two strategies.

A good answer about two strategies for empty exports:
{"same": true,
 "reason": "Both are for a job that ends without an error and writes no rows.",
 "suggestion": "Compare the columns of {export_job} with its table first. Then look at its date filter."}""",
)
