"""The prompt that names and documents a learned function.

Source:
    Grand et al., LILO, ICLR 2024: AutoDoc.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

AUTODOC = Prompt(
    name="autodoc",
    text="""\
Name and document a Python function that was found in several working programs. You are shown its code, programs that
use it with the tasks that they solved, and other functions with what they do.
- name: a new snake_case identifier of words for what the function does, at most 40 characters. It is no keyword or
  builtin of Python's, and no name that the programs or the other functions have. Where the code does nothing that a
  name could describe, answer null, and leave the other fields empty.
- description: what it does, in one or two sentences, for a programmer who has not seen the code.
- parameters: one entry for each parameter, in the order of the code: a name of its own, which is no keyword, builtin or
  other name of the code, and a type annotation. It has to fit the calls. A type that neither the code nor the programs
  show is empty.
- returns: the type annotation of its result, or empty.
- guidance: when to use it, in one sentence.

A good answer about a function whose code is `def fn(a, b): return [x for x in a if x.count(b) > 1]`:
{"name": "words_with_repeats", "description": "Keeps the words in which a letter occurs more than once.",
 "parameters": [{"name": "words", "type": "list[str]"}, {"name": "letter", "type": "str"}],
 "returns": "list[str]", "guidance": "For word puzzles that ask which words repeat a letter."}""",
)
