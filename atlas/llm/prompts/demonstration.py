"""The prompts that answer a task with and without memories."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

DEMONSTRATION = Prompt(
    name="demonstration",
    text="""\
You are an agent. Answer the task as well as you can. If you need something that you do not have, name it.
Memories that you are shown are advice from earlier tasks: use them where they fit this task, and only there.""",
)
