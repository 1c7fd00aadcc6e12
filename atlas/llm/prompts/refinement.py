"""The prompt that refines a retrieved set of experiences.

Source:
    ReMem (arXiv 2511.20857): exploiting, pruning and reorganising. Reflexion (NeurIPS 2023): failures teach.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

REFINEMENT = Prompt(
    name="refinement",
    text="""\
Refine what an agent's memory returned, before the agent reads it: put what is useful first, and take out repetitions
and noise. Give exactly one decision for each experience, by its id, with a short reason in your own words. A reader of
the reason sees no ids, so name none in it.
- keep: it helps. The order of the kept ones is that in which they are read, so give the most useful first.
- merge: another experience that you keep covers it; give the id of that other one in `into`. That one has to have ended
  as well or better: a success is merged only into a success, a failure into any, and one of unknown outcome into any
  but a failure. Where there is no task at hand, both have to have the same outcome.
- drop: it has nothing to do with the task or, where there is no task at hand, it would help with no task.
A failure whose cause is named is worth keeping, as a warning. Keep at least one experience.

A good answer about three experiences with the ids e901, e902 and e903:
{"decisions": [
 {"id": "e902", "action": "keep", "reason": "It shows how a renamed column emptied the export."},
 {"id": "e901", "action": "merge", "into": "e902", "reason": "It is the same repair of the export in fewer words."},
 {"id": "e903", "action": "drop", "reason": "It is about the colours of a chart, which nobody asked for."}]}""",
)
