"""Descriptions, signatures and guidance for functions that were found in programs, derived from code and uses alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import InvalidInput
from atlas.core.types import RULES_AUTHOR, CodeConcept
from atlas.learning.analysis.uses import Uses, find_uses, returned_type
from atlas.learning.naming.description import describe
from atlas.learning.naming.roles import role_of
from atlas.learning.naming.subjects import distinctive_words
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.search.forms.canonical import canonical_body
from atlas.learning.search.forms.nodes import is_boolean
from atlas.learning.terms.names import (
    Function,
    defined_name,
    defines_class,
    function_of,
    identifiers,
    is_available,
    parameters_of,
    unused_name,
)
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.walking import walk

DERIVATION_NOTE = "Derived from its code and uses, not written by a person or a model."
MAX_NAME_CHARACTERS = 40
MAX_TASK_CHARACTERS = 120
MIN_AGREEING_CALLS = 2
"""Number of calls that must pass a variable of the same name before a parameter is given that name."""

_NUMBERED_CONCEPT = re.compile(r"concept_\d+")
_PLACEHOLDER_NAME = re.compile(
    r"_*[a-z]{0,2}_?\d+|_+|(?:fn|func|function|concept|abstraction|arg|argument|param|parameter|value|var|v|x)_?\d*"
)
_NAMES_FOR_BUILTINS = {
    **{"list": "items", "str": "text", "string": "text", "dict": "mapping", "int": "number", "float": "number"},
    **{"set": "members", "tuple": "parts", "sum": "total", "max": "largest", "min": "smallest", "len": "length"},
    **{"input": "given", "range": "numbers", "type": "kind", "id": "key", "iter": "items", "object": "value"},
    **{"all": "items", "bytes": "content", "lambda": "function", "bool": "flag", "next": "following", "map": "mapping"},
}
_NUMBER_ROLES = frozenset({"n", "number", "index"})
"""Roles for which a parameter may be named by a single letter, if the programs use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """The name, description and types of a function."""

    name: str
    description: str
    parameters: tuple[str, ...]
    """New names, in the order of the parameters in the code."""

    types: tuple[str, ...] = ()
    """Annotations of the parameters, empty if unknown."""

    returns: str = ""
    guidance: str = ""


class HeuristicDocumenter:
    """A documenter that keeps a function's own name, or gives it a numbered name. No name is used twice."""

    def __init__(
        self, reserved: Iterable[str] = (), tasks: Iterable[str] = (), placeholders: Iterable[str] = ()
    ) -> None:
        """Create a documenter for functions of the same programs.

        Args:
            reserved: Names that no function may get: names of other concepts, and names that the programs define.
            tasks: Texts of all tasks, from which a function's guidance distinguishes the function's own tasks.
            placeholders: Provisional names of the functions, which no other function may get.
        """
        self._reserved = set(reserved)
        self._tasks = tuple(tasks)
        self._placeholders = set(placeholders)

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        """Return the concept with name, description, signature and guidance. Only names in its code change.

        Args:
            usage_examples: Pairs of a task's text and a program that calls the function.

        Raises:
            InvalidInput: The code does not parse, or defines no function.
        """
        if defines_class(concept.code):
            return document_class(concept, usage_examples, self._tasks)
        reserved = self._reserved | (self._placeholders - {concept.name})
        derived = derive_documentation(concept, usage_examples, reserved=reserved, tasks=self._tasks)
        self._reserved.add(derived.name)
        return apply_documentation(concept, derived, by="heuristic")


def derive_documentation(
    concept: CodeConcept,
    examples: Sequence[tuple[str, str]],
    *,
    reserved: Iterable[str] = (),
    tasks: Iterable[str] = (),
) -> Documentation:
    """Return documentation of a concept's function, derived from its code and its uses.

    Args:
        tasks: Texts of all tasks, including those of the function.
    """
    function = function_of(concept.code, concept.name)
    n_positional = len(function.args.posonlyargs) + len(function.args.args)
    uses = find_uses(function.name, n_positional, examples)
    unavailable = set(reserved) | ((uses.names | identifiers(function)) - {function.name})
    parameters = _name_parameters(function, uses)
    subjects = distinctive_words((task for task, _ in examples), tasks)
    return Documentation(
        name=_own_or_numbered_name(function, unavailable | set(parameters)),
        description=_describe_function(function, len(concept.found_in) or uses.n_programs, parameters),
        parameters=parameters,
        types=_agreed_types(function, uses),
        returns=returned_type(function, uses) or ("bool" if _returns_boolean(concept.code, function) else ""),
        guidance=_write_guidance(examples, subjects),
    )


def _returns_boolean(code: str, function: Function) -> bool:
    """Return whether a function always returns True or False."""
    tree = try_parse(code)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)] if tree else []
    body = canonical_body(function, imports)
    nodes = [node for statement in body for node in walk(statement)]
    if not body or not isinstance(body[-1], ast.Return) or any(isinstance(node, ast.FunctionDef) for node in nodes):
        return False
    return all(node.value is not None and is_boolean(node.value) for node in nodes if isinstance(node, ast.Return))


def document_class(concept: CodeConcept, examples: Sequence[tuple[str, str]], tasks: Iterable[str] = ()) -> CodeConcept:
    """Return the documented concept of a class, under the same name.

    Args:
        examples: Pairs of a task's text and a program that uses the class.
        tasks: Texts of all tasks, including those of the class.
    """
    name = defined_name(concept.code, concept.name)
    node = next(part for part in ast.parse(concept.code).body if isinstance(part, ast.ClassDef) and part.name == name)
    methods = {part.name: part for part in node.body if isinstance(part, Function)}
    public = [method for method in methods if not method.startswith("_")]
    constructor = methods.get("__init__")
    parameters = ast.unparse(constructor.args).partition(", ")[2] if constructor is not None else ""
    sentences = [
        f"Class with the {'method' if len(public) == 1 else 'methods'} {', '.join(public)}." if public else "Class.",
        f"Found in {len(concept.found_in)} programs." if len(concept.found_in) > 1 else "",
        DERIVATION_NOTE,
    ]
    return replace(
        concept,
        name=name,
        description=" ".join(filter(None, sentences)),
        signature=f"{name}({parameters})",
        guidance=_write_guidance(examples, distinctive_words((task for task, _ in examples), tasks)),
        metadata={**concept.metadata, "documented_by": RULES_AUTHOR, "original_name": name},
    )


def apply_documentation(concept: CodeConcept, documentation: Documentation, *, by: str) -> CodeConcept:
    """Return the concept with the documentation. Names that cannot be changed in the code are kept.

    Args:
        by: Author of the documentation, stored as `documented_by` in the metadata, beside `original_name`.
    """
    function = function_of(concept.code, concept.name)
    old_parameters = parameters_of(function)
    names = {function.name: documentation.name}
    names |= {
        old: new
        for old, new in zip(old_parameters, documentation.parameters, strict=False)
        if new not in names.values()
    }
    code = _rename_if_possible(concept.code, names)
    new_names = (documentation.name, function.name)
    name = next((name for name in new_names if _defines_function(code, name)), function.name)
    return replace(
        concept,
        name=name,
        description=documentation.description,
        code=code,
        signature=signature(function_of(code, name), documentation.types, documentation.returns),
        guidance=documentation.guidance,
        metadata={**concept.metadata, "documented_by": by, "original_name": function.name},
    )


def signature(function: Function, types: Sequence[str] = (), returns: str = "") -> str:
    """Return a signature such as `crop(grid: Grid, size: int) -> Grid`. Existing annotations take precedence."""
    copy: Function = ast.parse(ast.unparse(function)).body[0]  # type: ignore[assignment]  # a copy
    for arg, annotation in zip([*copy.args.posonlyargs, *copy.args.args], types, strict=False):
        arg.annotation = arg.annotation or _parse_annotation(annotation)
    result = copy.returns or _parse_annotation(returns)
    return f"{copy.name}({ast.unparse(copy.args)}){f' -> {ast.unparse(result)}' if result else ''}"


def _parse_annotation(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _defines_function(code: str, name: str) -> bool:
    return function_of(code, name).name == name


def _rename_if_possible(code: str, names: dict[str, str]) -> str:
    """Return the code with all names changed. If they cannot all be changed, change one name after another."""
    try:
        return rename_identifiers(code, names)
    except InvalidInput:
        for old, new in names.items():
            try:
                code = rename_identifiers(code, {old: new})
            except InvalidInput:  # this name stays as it is
                continue
    return code


def _own_or_numbered_name(function: Function, reserved: set[str]) -> str:
    """Return the function's own name if it is neither reserved nor a placeholder, otherwise a numbered name."""
    name = function.name
    is_meaningful = is_available(name) and not _PLACEHOLDER_NAME.fullmatch(name)
    if name not in reserved and (is_meaningful or _NUMBERED_CONCEPT.fullmatch(name)):
        return name
    return _numbered_name(reserved)


def is_placeholder_name(name: str) -> bool:
    """Return whether a name is a placeholder, such as `fn_0`, `concept_12` or `x`."""
    return _NUMBERED_CONCEPT.fullmatch(name) is not None or _PLACEHOLDER_NAME.fullmatch(name) is not None


def _numbered_name(reserved: set[str]) -> str:
    """Return the first free name of `concept_1`, `concept_2` and so on."""
    return next(
        name for name in (f"concept_{number}" for number in range(1, len(reserved) + 2)) if name not in reserved
    )


def _name_parameters(function: Function, uses: Uses) -> tuple[str, ...]:
    """Return a name for each parameter.

    The first choice is the name of the variable that all uses pass. The second is the role of the parameter in the
    code, and the last is its existing name.
    """
    used_names = identifiers(function) | {function.name}
    names: list[str] = []
    for position, parameter in enumerate(parameters_of(function)):
        candidates = list(_candidate_names(parameter, position, uses, role_of(function, parameter)))
        reserved = (used_names - {parameter}) | set(names)
        fallback = "another" if candidates[0] == "other" else f"other_{candidates[0]}"
        free = (name for name in [*candidates, fallback] if name not in reserved and is_available(name))
        names.append(next(free, unused_name(candidates[0], reserved)))
    return tuple(names)


def _candidate_names(parameter: str, position: int, uses: Uses, role: str) -> Iterator[str]:
    """Yield names for a parameter, best first."""
    is_own_name_usable = not _PLACEHOLDER_NAME.fullmatch(parameter) and is_available(parameter)
    if is_own_name_usable and not uses.n_programs:
        yield parameter
    arguments = uses.arguments[position] if position < len(uses.arguments) else {}
    if len(arguments) == 1 and sum(arguments.values()) >= MIN_AGREEING_CALLS:
        (name,) = arguments
        if _PLACEHOLDER_NAME.fullmatch(name) is None and (len(name) > 1 or role in _NUMBER_ROLES):
            yield _NAMES_FOR_BUILTINS.get(name.lower(), name.strip("_"))
    if role != "value":
        yield role
        yield "another" if role == "other" else f"other_{role}"
    if is_own_name_usable:
        yield parameter
    yield "value"


def _agreed_types(function: Function, uses: Uses) -> tuple[str, ...]:
    """Return the annotation that the uses agree on, for each positional parameter."""
    return tuple(
        next(iter(counts)) if len(counts) == 1 else "" for counts in uses.types[: len(parameters_of(function))]
    )


def _describe_function(function: Function, n_programs: int, parameters: Sequence[str]) -> str:
    new_names = dict(zip(parameters_of(function), parameters, strict=False))
    sentences = [
        f"{describe(function.body, lambda name: new_names.get(name, name))}.",
        f"Found in {n_programs} programs." if n_programs > 1 else "",
        DERIVATION_NOTE,
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _write_guidance(examples: Sequence[tuple[str, str]], subjects: Sequence[str]) -> str:
    tasks = list(dict.fromkeys(_first_line(task) for task, _ in examples if task.strip()))[:3]
    introduction = f"For tasks about {', '.join(subjects[:3])}. " if subjects else ""
    return f"{introduction}Used for: {'; '.join(f'“{task}”' for task in tasks)}." if tasks else introduction.strip()


def _first_line(task: str) -> str:
    line = " ".join(task.strip().partition("\n\n")[0].split())
    if len(line) <= MAX_TASK_CHARACTERS:
        return line
    return line[: MAX_TASK_CHARACTERS - 1].rstrip() + "…"
