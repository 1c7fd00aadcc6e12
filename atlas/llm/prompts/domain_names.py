"""Naming the domains of a map."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

DOMAIN_NAMES = Prompt(
    name="domain_names",
    text="""\
Name groups of tasks for a person who looks at a map of them. Each group is shown by words that are frequent in it and
by its most typical tasks. Give each group one name of two to four plain English words, at most 40 characters: what its
tasks share and those of the other groups do not. Leave out people, ids, codes and file names. Give each name once, and
none that you are shown as taken.

A good answer about the groups 0 and 1:
{"names": [{"group": 0, "name": "Broken exports"}, {"group": 1, "name": "Chart colours"}]}""",
)
