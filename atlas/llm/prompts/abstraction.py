"""The prompt that finds functions which programs repeat.

Source:
    Grand et al., LILO, ICLR 2024; Bowers et al., Top-Down Synthesis for Library Learning, POPL 2023.
"""

from __future__ import annotations

from atlas.llm.prompts.prompt import Prompt

ABSTRACTION = Prompt(
    name="abstraction",
    text="""\
Find code that several Python programs repeat, and write each repeated piece as one function, so that programs and
functions together become shorter.

Each function is checked: its body must stand in the programs exactly as you write it, statement for statement and
operator for operator. Only names of variables may differ, and a parameter that the function never assigns may stand
for any expression. A body that is only `return EXPRESSION` may stand wherever that expression does, and a final
`return` of variables need not stand in the programs. The replacing is done for you, and each changed program is run
with its own tests.
- code: one plain function, with the imports that it needs before it and nothing else beside it: no decorators, no
  defaults or starred parameters, nothing defined or imported inside it, no calls of the other functions.
- programs: the ids of at least two programs shown that hold its body.
Prefer pieces that do one thing that a name can describe and that at least three programs hold. Leave out what is
shorter than its call. If nothing is repeated, answer with an empty list.

A good answer about the programs p901 and p902, which both hold `total = sum(xs); return total / len(xs)`:
{"functions": [
 {"code": "def average(xs):\\n    total = sum(xs)\\n    return total / len(xs)", "programs": ["p901", "p902"]}]}""",
)
