"""Refining a retrieved set of experiences.

Source:
    ReMem (arXiv 2511.20857): exploiting, pruning and reorganising. Reflexion (NeurIPS 2023): failures teach.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

REFINEMENT = Prompt(
    name="refinement",
    text="""\
Refine what an agent's memory returned, before the agent reads it: put what is useful first, and take out repetitions
and noise. Give exactly one decision for each experience, by its id, with a short reason in your own words.
- keep: it helps. The order of the kept ones is that in which they are read, so give the most useful first.
- merge: one that you keep covers it; give the id of that one in `into`. Never merge an experience into one that ended
  worse: a success into any other, or one of unknown outcome into a failure.
- drop: it has nothing to do with the task.
A failure whose cause is named is worth keeping, as a warning. Keep at least one experience.

A good answer about three experiences with the ids a1, b2 and c3:
{"decisions": [
 {"id": "b2", "action": "keep", "reason": "Shows the renamed column that emptied the export."},
 {"id": "a1", "action": "merge", "into": "b2", "reason": "Same repair with fewer details."},
 {"id": "c3", "action": "drop", "reason": "About colours of a chart."}]}""",
)
