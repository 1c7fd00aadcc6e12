"""The prompt that summarises old journal entries."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

JOURNAL_SUMMARY = Prompt(
    name="journal_summary",
    text="""\
Sum up old entries of an agent's journal, which the agent will read in their place. Use only what the entries hold, in
your own words, and name functions, files and errors as they do. Keep what was learned, what failed repeatedly and why,
what worked, and what people wanted. Leave out what happened once and taught nothing.
Answer with points, the most useful first, which together are shorter than the entries.
- text: the point, on one line.
- entries: the numbers of the entries that the point rests on.

A good answer about the entries 901 to 903, on exports:
{"points": [
 {"text": "Exports that end without rows were each time due to a renamed column.", "entries": ["901", "903"]},
 {"text": "People asked twice to get the export as a CSV file.", "entries": ["902"]}]}""",
)
