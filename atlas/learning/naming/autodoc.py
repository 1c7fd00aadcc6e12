"""Names and descriptions for functions that were found in programs, written by a language model (LILO's AutoDoc).

Source:
    Grand et al., LILO: Learning Interpretable Libraries by Compressing and Documenting Code, ICLR 2024.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from atlas.core.errors import AtlasError, InvalidInput
from atlas.core.types import RULES_AUTHOR, CodeConcept
from atlas.learning.analysis.uses import MAX_USES
from atlas.learning.annotations import contradicts
from atlas.learning.naming.documenter import (
    MAX_NAME_CHARACTERS,
    Documentation,
    apply_documentation,
    derive_documentation,
    is_placeholder_name,
)
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.terms.names import Function, function_of, identifiers, is_available, parameters_of
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.walking import walk
from atlas.llm.prompts.autodoc import AUTODOC
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.protocols.infra import LLMClient

MAX_TEXT_CHARACTERS = 600
"""Longest description, and longest guidance."""

NOTHING_TO_NAME = "the language model found no meaningful name"

MAX_TYPE_CHARACTERS = 80
MAX_PROMPT_NAMES = 50
MAX_CODE_CHARACTERS, MAX_TASK_CHARACTERS, MAX_PROGRAM_CHARACTERS = 4_000, 500, 1_500
"""Longest code, task and program in the prompt."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": ["string", "null"]},
        "description": {"type": "string"},
        "parameters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                "required": ["name", "type"],
                "additionalProperties": False,
            },
        },
        "returns": {"type": "string"},
        "guidance": {"type": "string"},
    },
    "required": ["name", "description", "parameters", "returns", "guidance"],
    "additionalProperties": False,
}

_ANNOTATION_SYNTAX = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.BinOp)
"""Syntax of type annotations: `list[int]`, `Callable[[str], None]`, `int | None`."""


class LLMAutoDocumenter:
    """A documenter that has a language model name functions one by one. The prompt contains the earlier names.

    If the model does not answer, or no answer fits the code, the name is derived as in `HeuristicDocumenter`. The
    reason is stored in the concept's metadata, as `undocumented_because`.
    """

    def __init__(self, llm_client: LLMClient, reserved: Iterable[str] = ()) -> None:
        """Create a documenter.

        Args:
            reserved: Names that no function may get: names of other concepts, and names that the programs define.
        """
        self.llm = llm_client
        self._reserved = set(reserved)
        self._descriptions: dict[str, str] = {}

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        """Return the concept with name, description, signature and guidance. Only names in its code change.

        Args:
            usage_examples: Pairs of a task's text and a program that calls the function; up to ten are shown.

        Raises:
            InvalidInput: The code does not parse, or defines no function.
        """
        function = function_of(concept.code, concept.name)
        uses = usage_examples[:MAX_USES]
        reserved = self._reserved | _names_in_programs(uses) - {function.name}
        derived = derive_documentation(concept, uses, reserved=reserved)
        question = Question(
            system=AUTODOC.text,
            prompt=_prompt(concept.code, uses, self._descriptions),
            schema=SCHEMA,
            validate=partial(
                _parse_documentation, code=concept.code, function=function, reserved=reserved, types=derived.types
            ),
            prose=frozenset({"description", "guidance"}),
            declines=_declines,
        )
        try:
            reply = await ask(self.llm, question)
            reason = "" if reply else NOTHING_TO_NAME
        except (AtlasError, OSError) as error:
            reply, reason = None, str(error)
        if reply is None:
            result = apply_documentation(concept, derived, by=RULES_AUTHOR)
            result = replace(result, metadata={**result.metadata, "undocumented_because": reason})
        else:
            result = apply_documentation(concept, reply, by="model")
            made_by = {"model": model_name(self.llm), "prompt": AUTODOC.version}
            result = replace(result, metadata={**result.metadata, **made_by})
        self._reserved.add(result.name)
        self._descriptions[result.name] = result.description
        return result


def _declines(answer: Any) -> bool:
    return answer["name"] is None


def _prompt(code: str, uses: Sequence[tuple[str, str]], names: Mapping[str, str]) -> str:
    parts = {"code": shorten(code, MAX_CODE_CHARACTERS)}
    for number, (task, program) in enumerate(uses, start=1):
        parts[f"task {number}"] = shorten(task, MAX_TASK_CHARACTERS)
        parts[f"program {number}"] = shorten(program, MAX_PROGRAM_CHARACTERS)
    latest_names = list(names.items())[-MAX_PROMPT_NAMES:]
    parts["other functions"] = "\n".join(f"{name}: {description}" for name, description in latest_names)
    texts = {name: text for name, text in parts.items() if text}
    return f"The function, and programs that use it:\n{as_data(texts, limit=sum(map(len, texts.values())))}"


def shorten(text: str, characters: int) -> str:
    """Return a text, truncated with an ellipsis if it has more than `characters`."""
    return text if len(text) <= characters else text[:characters] + "…"


def _names_in_programs(uses: Iterable[tuple[str, str]]) -> set[str]:
    trees = (try_parse(program) for _, program in uses)
    return {name for tree in trees if tree is not None for name in identifiers(tree)}


def _parse_documentation(
    answer: Mapping[str, Any], *, code: str, function: Function, reserved: set[str], types: Sequence[str]
) -> Documentation | None:
    """Return the answer as documentation that fits the code, or None if the answer contains no name.

    Args:
        answer: Conforms to the schema.
        code: Source of the function.
        function: The parsed function.
        reserved: Names that are taken.
        types: Types of the parameters in the recorded calls. Empty if unknown.

    Raises:
        InvalidInput: The answer does not fit. The message is for the model.
    """
    name = answer["name"]
    if name is None:
        return None
    if not is_available(name):
        raise InvalidInput(f"expected an identifier that is not a keyword or builtin for name, got {name[:80]!r}")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInput(f"expected at most {MAX_NAME_CHARACTERS} characters for name, got {len(name)}; shorten it")
    if is_placeholder_name(name):
        raise InvalidInput(f"expected a name that describes what the function does, got {name!r}")
    if name in reserved:
        raise InvalidInput(f"the name {name!r} is taken; choose another one")
    parameters, declared_types = _parse_parameters(answer["parameters"], function)
    for parameter, declared_type, recorded_type in zip(parameters, declared_types, types, strict=False):
        if contradicts(declared_type, recorded_type):
            declaration = f"parameter {parameter} is declared as {declared_type}"
            raise InvalidInput(f"{declaration}, but calls pass {recorded_type}")
    old_parameters = parameters_of(function)
    rename_identifiers(code, {function.name: name, **dict(zip(old_parameters, parameters, strict=True))})
    return Documentation(
        name=name,
        description=one_line(answer["description"]),
        parameters=parameters,
        types=declared_types,
        returns=_parse_type(answer["returns"], "returns"),
        guidance=one_line(answer["guidance"]),
    )


def _parse_parameters(
    answers: Sequence[Mapping[str, str]], function: Function
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the parameters and their types, in two tuples."""
    n_expected = len(parameters_of(function))
    if len(answers) != n_expected:
        raise InvalidInput(f"the function has {n_expected} parameters, but the answer names {len(answers)}")
    names = tuple(parameter["name"] for parameter in answers)
    for name in names:
        if not is_available(name):
            raise InvalidInput(
                f"expected an identifier that is not a keyword or builtin for each parameter, got {name[:80]!r}"
            )
        if names.count(name) > 1:
            raise InvalidInput(f"expected a unique identifier for each parameter, got {name[:80]!r} twice")
    return names, tuple(_parse_type(parameter["type"], f"the type of {parameter['name']}") for parameter in answers)


def _parse_type(value: str, field: str) -> str:
    """Return a model's type annotation in normal form, or '' if it is empty."""
    text = value.strip()
    if not text:
        return ""
    tree = try_parse(f"_: {text}") if len(text) <= MAX_TYPE_CHARACTERS and "\n" not in text else None
    match tree.body if tree is not None else []:
        case [ast.AnnAssign(annotation=annotation, value=None)] if _is_pure_type(annotation):
            return ast.unparse(annotation)
    raise InvalidInput(f"expected a Python type annotation for {field}, got {text[:MAX_TYPE_CHARACTERS]!r}")


def _is_pure_type(annotation: ast.expr) -> bool:
    """Return whether an annotation, which may be quoted, consists of types only and contains no call."""
    for node in walk(annotation):
        match node:
            case ast.Constant(value=str(quoted)):
                tree = try_parse(quoted)
                inner = tree.body[0] if tree is not None and len(tree.body) == 1 else None
                if not isinstance(inner, ast.Expr) or not _is_pure_type(inner.value):
                    return False
            case ast.BinOp(op=operator) if not isinstance(operator, ast.BitOr):
                return False
            case ast.expr() if not isinstance(node, _ANNOTATION_SYNTAX):
                return False
    return True


def one_line(value: str) -> str:
    """Return a model's text as one line, without control characters, truncated to the maximum length."""
    text = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return text[: MAX_TEXT_CHARACTERS - 1].rstrip() + "…"
