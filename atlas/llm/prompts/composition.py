"""Composing a function of others."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

COMPOSITION = Prompt(
    name="composition",
    text="""\
Write one Python function that combines given ones into something useful that none of them does alone. You are shown
their code, signatures, descriptions and examples.
- name: a new snake_case identifier of at most 40 characters; null where nothing meaningful can be made of them.
- description: what it does, in one or two sentences.
- code: one function of that name with type annotations and nothing beside it: no imports, no classes, no globals. It
  calls at least two of the given functions, and else only builtins that touch no files, names or attributes by text.
- examples: one to five calls of it with literal arguments, and the result of each as Python writes it. They are run.
- guidance: when to use it, in one sentence.

A good answer about the functions `strip_vowels(word)` and `capitalise(word)`:
{"name": "short_label", "description": "Shortens a word to its consonants and starts it with a capital letter.",
 "code": "def short_label(word: str) -> str:\\n    return capitalise(strip_vowels(word))",
 "examples": [{"call": "short_label('table')", "result": "'Tbl'"}],
 "guidance": "For narrow column heads."}""",
)
