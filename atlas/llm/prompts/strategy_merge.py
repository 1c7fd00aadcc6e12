"""Deciding whether two strategies are the same, and combining their advice.

Source:
    ArcMemo (arXiv 2509.04439): a new concept is written in the light of those that exist.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

STRATEGY_MERGE = Prompt(
    name="strategy_merge",
    text="""\
Compare two strategies for alike situations: the stored one and a new one. Use only what they hold.
- same: whether every task that fits either of them fits the other as well.
- reason: why they are the same, or what parts them, in one sentence.
- suggestion: only where they are the same: the advice of both in one text. Where they contradict each other, state
  when each holds. Name parameters in braces, and only those that the two have.

A good answer about two strategies for empty exports:
{"same": true,
 "reason": "Both are for a job that ends without an error and writes no rows.",
 "suggestion": "Compare the columns of {export_job} with its table first. Then look at its date filter."}""",
)
