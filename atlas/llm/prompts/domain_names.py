"""The prompt that names the domains of a map."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

DOMAIN_NAMES = Prompt(
    name="domain_names",
    text="""\
Name groups of tasks for a person who looks at a map of them. Each group is shown by words that are frequent in it and
by its most typical tasks. Give each group exactly one name.
- group: the number of the group.
- name: what the group's tasks share and those of the other groups do not, in two to four plain English words on one
  line, at most 40 characters. Leave out people, ids, codes, file names and words of this question, such as "task". Two
  groups never have the same name, and none has a name that is shown as taken.

A good answer about the groups 901 and 902:
{"names": [{"group": 901, "name": "Broken exports"}, {"group": 902, "name": "Chart colours"}]}""",
)
