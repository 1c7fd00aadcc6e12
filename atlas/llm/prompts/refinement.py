"""Refining a retrieved set of experiences.

Source:
    ReMem (arXiv 2511.20857): exploiting, pruning and reorganising. Reflexion (NeurIPS 2023): failures teach.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

REFINEMENT = Prompt(
    name="refinement",
    text="""\
Refine what an agent's memory returned, before the agent reads it: exploit what is useful, prune noise, reorganise. Give
exactly one decision for each experience, by its id, with a short reason of your own.
- keep: it helps. Put kept experiences in the order in which to read them, most useful first.
- merge: a kept experience covers it; give that id in `into`. A success is never merged into a failure.
- drop: it has nothing to do with the task.
A failure whose cause is named is worth keeping, as a warning. Keep at least one experience.

A good answer about three experiences with the ids a1, b2 and c3:
{"decisions": [
 {"id": "b2", "action": "keep", "reason": "Shows the renamed column that emptied the export."},
 {"id": "a1", "action": "merge", "into": "b2", "reason": "Same repair with fewer details."},
 {"id": "c3", "action": "drop", "reason": "About colours of a chart."}]}""",
)
