"""The prompt that abstracts a strategy from a successful attempt.

Source:
    ArcMemo (arXiv 2509.04439): situation, suggestion and typed parameters, above instances, and written in the light of
    the strategies that exist.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

STRATEGY = Prompt(
    name="strategy",
    text="""\
Turn one successful attempt at a task into a strategy that helps with other tasks of the same kind. Write at the level
of the situation: replace what belongs to this attempt alone by a parameter in braces. Use only what the attempt shows,
in your own words.
- reusable: whether the attempt holds advice by which other tasks of the kind could go better. Answer false where
  it is too specific, trivial, or succeeded by chance.
- reason: why it is reusable, or why not, in one sentence. After false, leave out all that follows.
- known: only if you are shown strategies that the memory has, and the suggestion of one of them already gives this
  advice for this situation: its id as shown, such as known 2. Then leave out all that follows.
- title: one line to know it by.
- situation: when to apply it, so that somebody with a new task can tell whether it fits.
- suggestion: what to do, as steps that hold for every such task: what to check first, and what to avoid.
- rationale: why it works, judged by this attempt.
- parameters: each parameter that stands in braces above, with its name, its type and what it is.

A good answer about an attempt to bring an export back to life:
{"reusable": true,
 "reason": "Exports break in this way whenever a table is changed without them.",
 "title": "Trace an empty export to a renamed column",
 "situation": "The job {export_job} ends without an error but writes no rows, and its table was changed lately.",
 "suggestion": "Compare the job's columns with the table's, map renamed ones, then run it once. Avoid mere restarts.",
 "rationale": "Rows that lack an expected column are dropped silently, so a rename looks like missing data.",
 "parameters": [{"name": "export_job", "type": "str", "description": "Name of the job that writes the export."}]}""",
)
