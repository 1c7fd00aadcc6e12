"""The prompt that checks whether a language model answers in the requested form."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

CHECK = Prompt(
    name="check",
    text="""\
Answer with the colour of a ripe tomato and with the numbers one to three, in ascending order.

A good answer about the colour of the sky and the numbers seven to nine:
{"colour": "blue", "numbers": [7, 8, 9]}""",
)
