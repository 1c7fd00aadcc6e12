"""The prompt that composes a function from others."""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

COMPOSITION = Prompt(
    name="composition",
    text="""\
Write one Python function that combines given ones into something useful that none of them does alone. You are shown
their code, signatures, descriptions and examples.
- name: a new snake_case identifier of at most 40 characters, which is no keyword or builtin of Python's and no name of
  a given function. Where nothing useful can be made of the functions, answer null, and leave the other fields empty.
- description: what it does, in one or two sentences.
- code: one function of that name with type annotations and nothing beside it: no decorators, imports, classes or
  `global`. It calls at least two of the given functions. Beside them it may call only itself and builtins that compute
  with values, such as `len` and `sorted`: none that reads or prints, runs code, makes a type, or looks a name or an
  attribute up by text. It uses no attribute with an underscore in front, and no `format`.
- examples: one to five calls of it, whose arguments are literals, and the literal that each returns, as `repr` writes
  it and as the annotations declare it. They are run, and together they call each given function that the code calls.
- guidance: when to use it, in one sentence.

A good answer about the functions `strip_vowels(word)` and `capitalise(word)`:
{"name": "short_label", "description": "Shortens a word to its consonants and starts it with a capital letter.",
 "code": "def short_label(word: str) -> str:\\n    return capitalise(strip_vowels(word))",
 "examples": [{"call": "short_label('table')", "result": "'Tbl'"}],
 "guidance": "For heads of columns that are too narrow for whole words."}""",
)
