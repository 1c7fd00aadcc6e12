"""The prompt that abstracts a warning from a failed attempt.

Source:
    Reflexion (NeurIPS 2023): what an agent learns from a failure helps its next attempts. ArcMemo (arXiv 2509.04439):
    situation, suggestion and typed parameters, written in the light of what is known.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

WARNING_PROMPT = Prompt(
    name="warning",
    text="""\
Turn one failed attempt at a task into a warning that spares other tasks of the same kind this failure. Write at the
level of the situation: replace what belongs to this attempt alone by a parameter in braces. Use only what the attempt
shows, in your own words.
- reusable: whether the attempt shows what made it fail, and other tasks of the kind could fail in the same way. Answer
  false where the cause is not shown or was chance.
- reason: why it is reusable, or why not, in one sentence. After false, leave out all that follows.
- known: only if you are shown warnings that the memory has, and the suggestion of one of them would have spared this
  failure: its id as shown, such as known 2. Then leave out all that follows.
- title: one line that names what to avoid.
- situation: when the warning applies, so that somebody with a new task can tell whether it does.
- suggestion: what not to do, how to notice in time that it goes wrong and, where the attempt shows it, what to do
  instead.
- rationale: what this attempt did, and how that led to its failure.
- parameters: each parameter that stands in braces above, with its name, its type and what it is.

A good answer about a failed attempt to bring an export back to life:
{"reusable": true,
 "reason": "Whoever repairs an export is tempted to restart it first.",
 "title": "Do not restart an empty export before its columns are compared",
 "situation": "The job {export_job} ends without an error but writes no rows.",
 "suggestion": "Do not restart it again and again. If one run changes nothing, compare its columns with the table's.",
 "rationale": "Three restarts wrote no rows either, as the renamed column stayed, and no time was left for the repair.",
 "parameters": [{"name": "export_job", "type": "str", "description": "Name of the job that writes the export."}]}""",
)
