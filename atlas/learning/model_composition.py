"""Composition of concepts by a language model, whose code is checked against a list of allowed operations."""

from __future__ import annotations

import ast
import asyncio
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput, LLMError
from atlas.core.types import CodeConcept
from atlas.learning.annotations import contradicts
from atlas.learning.composition import (
    MAX_EXAMPLES,
    MAX_RESULT_CHARACTERS,
    Find,
    code_with_callees,
    composition_problem,
    find_nothing,
    global_names,
    read_result,
    run_calls,
    strip_annotations,
)
from atlas.learning.naming.autodoc import MAX_CODE_CHARACTERS, one_line, shorten
from atlas.learning.naming.documenter import MAX_NAME_CHARACTERS, signature
from atlas.learning.sandbox.runner import RunLimits
from atlas.learning.terms.names import Function, is_available
from atlas.learning.terms.parsing import can_compile, try_parse
from atlas.learning.terms.walking import walk
from atlas.llm.prompts.composition import COMPOSITION
from atlas.llm.prompts.records import as_fields
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.protocols.infra import LLMClient
from atlas.protocols.strategies import ComposedConcept

MAX_PROMPT_EXAMPLES = 3

_FORBIDDEN = frozenset(
    "breakpoint compile delattr dir eval exec exit getattr globals help input locals memoryview open print quit".split()  # noqa: SIM905
) | {"setattr", "type", "vars", "__import__", "__build_class__", "__loader__", "__spec__"}
BUILTINS = frozenset(dir(builtins)) - _FORBIDDEN
"""Builtins that a composed function may call. `type` is excluded, because it can create arbitrary classes."""

_INDIRECT_ACCESS = frozenset({"format", "format_map", "gi_frame", "cr_frame", "ag_frame", "tb_frame"})
"""Attributes that give access to other attributes by name, or to the frame of a function."""

OBSERVER = """
def __observed__(code, call, names):
    called = set()

    def observed(name, function):
        def calling(*given, **named):
            called.add(name)
            return function(*given, **named)

        return calling

    scope = {**globals(), **{name: observed(name, globals()[name]) for name in names}}
    exec(code, scope)
    called.clear()
    return eval(call, scope), sorted(called)
"""
"""Code that records the result of a call, and the named functions that it called directly."""

_TEXT = {"type": "string"}
_EXAMPLE = {
    "type": "object",
    "properties": {"call": _TEXT, "result": _TEXT},
    "required": ["call", "result"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"]},
        "description": _TEXT,
        "code": _TEXT,
        "examples": {"type": "array", "items": _EXAMPLE},
        "guidance": _TEXT,
    },
    "required": ["name", "description", "code", "examples", "guidance"],
    "additionalProperties": False,
}


class LLMCompositionStrategy:
    """A strategy that has a language model write a function. The function is accepted only if its examples pass."""

    def __init__(
        self,
        llm_client: LLMClient,
        find: Find = find_nothing,
        *,
        limits: RunLimits | None = None,
        path: Sequence[Path] = (),
    ) -> None:
        """Store the settings. `compose` does the work.

        Args:
            find: Looks up called concepts. By default, the library that uses the strategy sets its own function.
            path: Directories of modules that the concepts import.
        """
        self.llm = llm_client
        self.find = find
        self._limits = limits
        self._path = path

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """Return the model's function, or None if it is invalid or missing."""
        return (await self.compose_with_reason(concepts)).concept

    async def compose_with_reason(self, concepts: list[CodeConcept]) -> ComposedConcept:
        """Return the model's function, or the reason why there is none."""
        if len({concept.id for concept in concepts}) < 2:
            return ComposedConcept(why_not="Composing takes at least two different concepts.")
        if problem := await asyncio.to_thread(composition_problem, concepts, self.find):
            return ComposedConcept(why_not=problem)
        question = Question(
            system=COMPOSITION.text,
            prompt=_prompt(concepts),
            schema=SCHEMA,
            validate=lambda answer: self._parse_and_run(answer, concepts),
            prose=frozenset({"description", "guidance"}),
            declines=_declines,
        )
        try:
            composed = await ask(self.llm, question)
        except LLMError as error:
            return ComposedConcept(why_not=str(error))
        if composed is None:
            return ComposedConcept(why_not=f"{model_name(self.llm)} found no meaningful composition of these concepts.")
        made_by = {"model": model_name(self.llm), "prompt": COMPOSITION.version}
        return ComposedConcept(concept=replace(composed, metadata={**composed.metadata, **made_by}))

    def _parse_and_run(self, answer: Mapping[str, Any], concepts: Sequence[CodeConcept]) -> CodeConcept | None:
        """Return a model's answer as a concept after running the examples in it, or None if the model declined."""
        if _declines(answer):
            return None
        composed = _parse_answer(answer, concepts)
        self._run_examples(composed, concepts)
        return composed

    def _run_examples(self, composed: CodeConcept, concepts: Sequence[CodeConcept]) -> None:
        """Run the examples of a composed concept.

        Raises:
            InvalidInput: An example returns another result, or no example calls one of the concepts.
        """
        source = f"{code_with_callees(concepts, self.find)}\n\n{OBSERVER}"
        used_names = [concept.name for concept in concepts if concept.id in composed.calls]
        calls = [f"__observed__({composed.code!r}, {call!r}, {used_names!r})" for call, _ in composed.examples]
        called: set[str] = set()
        runs = run_calls(source, calls, self._limits, self._path)
        for (call, expected), result in zip(composed.examples, runs, strict=True):
            text = read_result(result)
            returned, names = ast.literal_eval(text) if text is not None else (None, [])
            if text is None or not _is_same_literal(returned, ast.literal_eval(expected.strip())):
                reason = (
                    f"{result.outcome}, {result.detail}"
                    if result.outcome != "passed"
                    else f"got {result.output.strip()[:120]}"
                )
                raise InvalidInput(f"the example {call} does not return {expected}: {reason}")
            called.update(names)
        if uncalled := sorted(set(used_names) - called):
            raise InvalidInput(
                f"no example calls {uncalled}; each concept that the code uses must be called in an example"
            )


def _is_same_literal(value: object, other: object) -> bool:
    """Return whether two literal values have the same value and type. For example, 1 equals neither True nor 1.0."""
    return value == other and sorted(repr(value)) == sorted(repr(other))  # the order of a set's items may differ


def _declines(answer: Mapping[str, Any]) -> bool:
    return answer["name"] is None


def _prompt(concepts: Sequence[CodeConcept]) -> str:
    functions = {f"function {number}": _describe_concept(concept) for number, concept in enumerate(concepts, start=1)}
    return f"The functions:\n{as_data(functions, limit=sum(map(len, functions.values())))}"


def _describe_concept(concept: CodeConcept) -> str:
    examples = [f"{call} == {result}" for call, result in concept.examples[:MAX_PROMPT_EXAMPLES]]
    return as_fields(
        {
            "signature": concept.signature,
            "description": concept.description,
            "examples": "\n".join(examples),
            "code": f"\n{shorten(concept.code, MAX_CODE_CHARACTERS)}",
        }
    )


def _parse_answer(answer: Mapping[str, Any], concepts: Sequence[CodeConcept]) -> CodeConcept:
    """Return the answer as a concept, validated without running it.

    Raises:
        InvalidInput: The answer breaks a rule. The message is for the model.
    """
    by_name = {concept.name: concept for concept in concepts}
    name, code = answer["name"], answer["code"]
    if name in by_name:
        raise InvalidInput(f"expected a new name, got that of a given function: {name[:80]!r}; choose another one")
    if not is_available(name):
        raise InvalidInput(
            f"expected an identifier that is not a keyword or builtin for `name`, got {name[:80]!r}; choose another one"
        )
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInput(f"expected at most {MAX_NAME_CHARACTERS} characters for `name`, got {len(name)}; shorten it")
    function = _parse_function(code, name)
    unannotated = strip_annotations(function)
    used_names = _used_concepts(unannotated, by_name)
    examples = _parse_examples(answer["examples"], name)
    _check_types(function, examples)
    ids = tuple(by_name[concept_name].id for concept_name in by_name if concept_name in used_names)
    return CodeConcept(
        name=name,
        description=one_line(answer["description"]),
        code=ast.unparse(unannotated) + "\n",
        signature=signature(function),
        examples=examples,
        source="composed",
        guidance=one_line(answer["guidance"]),
        calls=ids,
        composed_of=ids,
        metadata={"composed_by": "model"},
    )


def _parse_function(code: str, name: str) -> Function:
    """Return the function that code of a model defines. Raise `InvalidInput` if the code is not accepted."""
    if len(code) > MAX_CODE_CHARACTERS:
        raise InvalidInput(
            f"expected code of at most {MAX_CODE_CHARACTERS:,} characters, got {len(code):,}; shorten it"
        )
    if not can_compile(code):
        raise InvalidInput("expected code that compiles, got code that does not; correct its syntax")
    tree = try_parse(code)
    function = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    if not isinstance(function, ast.FunctionDef) or function.name != name or function.decorator_list:
        raise InvalidInput(f"expected code that defines only the function {name!r}, got other statements; remove them")
    for node in walk(function):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.ClassDef):
            raise InvalidInput(
                "expected code without imports, classes and global statements, got at least one; remove it"
            )
        attributes = [node.attr] if isinstance(node, ast.Attribute) else getattr(node, "kwd_attrs", [])  # of a pattern
        for attribute in attributes:
            if attribute.startswith("_") or attribute in _INDIRECT_ACCESS:
                raise InvalidInput(
                    f"expected code without private or reflective attributes, got the attribute {attribute!r}; drop it"
                )
    return function


def _used_concepts(function: Function, by_name: Mapping[str, CodeConcept]) -> set[str]:
    """Return the names of the concepts that the function calls.

    Raises:
        InvalidInput: The function uses other names as well, or fewer than two concepts.
    """
    global_names_read = global_names(ast.Module([function], type_ignores=[])) - {function.name}
    unknown = global_names_read - set(by_name) - BUILTINS
    if unknown:
        raise InvalidInput(f"code may call only the given functions and harmless builtins, not {sorted(unknown)}")
    used = global_names_read & set(by_name)
    if len(used) < 2:
        raise InvalidInput(f"code should call at least two of the given functions, got {sorted(used) or 'none'}")
    return used


def _parse_examples(value: Sequence[Mapping[str, str]], name: str) -> tuple[tuple[str, str], ...]:
    """Return the examples: calls of the function with literal arguments, and their literal results.

    Raises:
        InvalidInput: There are no examples, or an example has another form.
    """
    if not 0 < len(value) <= MAX_EXAMPLES:
        raise InvalidInput(f"expected 1 to {MAX_EXAMPLES} examples, got {len(value)}")
    examples = tuple((example["call"], example["result"]) for example in value)
    for call, result in examples:
        if not _is_call(call, name) or not _is_literal(result):
            raise InvalidInput(
                f"expected an example that calls {name} with literal arguments, and a literal result, got "
                f"{call[:120]!r} and {result[:120]!r}"
            )
    return examples


def _check_types(function: Function, examples: Sequence[tuple[str, str]]) -> None:
    """Raise `InvalidInput` if the examples' values do not have the declared types."""
    parameters = [*function.args.posonlyargs, *function.args.args]
    for call, result in examples:
        expression = ast.parse(call, mode="eval").body
        arguments = expression.args if isinstance(expression, ast.Call) else []
        pairs = [(parameter.annotation, argument) for parameter, argument in zip(parameters, arguments, strict=False)]
        for annotation, value in [*pairs, (function.returns, ast.parse(result.strip(), mode="eval").body)]:
            value_type = type(ast.literal_eval(value)).__name__
            if annotation is not None and contradicts(ast.unparse(annotation), value_type):
                raise InvalidInput(
                    f"code declares the type {ast.unparse(annotation)}, but the example {call} has {ast.unparse(value)}"
                )


def _is_call(text: str, name: str) -> bool:
    tree = try_parse(text) if len(text) <= MAX_RESULT_CHARACTERS else None
    value = tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(value, ast.Call) or getattr(value.func, "id", "") != name:
        return False
    arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
    return all(_is_literal(ast.unparse(argument)) for argument in arguments)


def _is_literal(text: str) -> bool:
    if len(text) > MAX_RESULT_CHARACTERS:
        return False
    try:
        ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
