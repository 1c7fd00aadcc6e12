"""The prompt that summarises an attempt for search."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

ATTEMPT_SUMMARY = Prompt(
    name="attempt_summary",
    text="""\
Sum up an attempt at a task, so that somebody with a similar task finds it again. Use only what the attempt shows, in
your own words.
- task: the goal in one or two sentences, with the words that a person with such a task would search for.
- key_steps: the few steps that decided how it went, one short line for each.
- outcome: how it ended and why, in one sentence. For a failure, name its cause where the attempt shows it,
  so that the next reader avoids it.

A good answer about an attempt to repair a nightly export:
{"task": "Repair a nightly CSV export that stopped writing rows after a schema change.",
 "key_steps": ["Compared the list of the export's columns with the table",
  "Found a column that had been renamed the day before", "Mapped the old name of the column to its new one"],
 "outcome": "Succeeded: the renamed column had made every row invalid, and mapping it brought the rows back."}""",
)
