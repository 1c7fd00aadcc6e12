"""Checking that a language model answers in the form that is asked for."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

CHECK = Prompt(
    name="check",
    text="""\
Answer with the colour of a ripe tomato and with the first three whole numbers from one on.

A good answer about the sky and counting down from nine:
{"colour": "blue", "numbers": [9, 8, 7]}""",
)
