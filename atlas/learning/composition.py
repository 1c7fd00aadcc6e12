"""Composition of concepts into a chain of functions, each of which takes the result of the previous function."""

from __future__ import annotations

import ast
import asyncio
import builtins
import copy
import itertools
import symtable
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.learning.annotations import TypedConcept, fits, typed_concept
from atlas.learning.naming.documenter import MAX_NAME_CHARACTERS
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.terms.names import Function, bound_names, function_of, parameters_of, unused_name
from atlas.learning.terms.normalisation import strip
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.walking import walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

Tree = TypeVar("Tree", bound=ast.AST)

Find = Callable[[str], CodeConcept | None]
"""Function that returns a concept by its id, or None if there is none."""

MAX_REORDERED = 5
"""Largest number of concepts for which all orders are tried. More concepts are only tried in the given order."""

MODULE_NAMES = frozenset({"__file__", "__path__", "__cached__"})
"""Names that are defined in every module, besides Python's builtins."""


MAX_EXAMPLES = 5
MAX_RESULT_CHARACTERS = 2_000


def find_nothing(_: str) -> None:
    """Return None. This is the default of `find`, for concepts that call no other concepts."""


class PipelineCompositionStrategy:
    """A strategy without a model: each function takes the result of the previous function."""

    def __init__(
        self, find: Find = find_nothing, *, limits: RunLimits | None = None, path: Sequence[Path] = ()
    ) -> None:
        """Store the settings. `compose` does the work.

        Args:
            find: Looks up called concepts. By default, the library that uses the strategy sets its own function.
            path: Directories of modules that the concepts import.
        """
        self.find = find
        self._limits = limits
        self._path = path

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """Return one function that chains these concepts, or None if their types do not fit.

        The result of each function is passed to the first parameter of the next function whose type fits. All other
        parameters become parameters of the composition. The examples of the functions are combined to examples of the
        composition, which are run. If there are examples and none runs, the result is None.
        """
        if len({concept.id for concept in concepts}) < 2:
            return None
        problem = await asyncio.to_thread(composition_problem, concepts, self.find)
        if problem:
            return None
        typed_concepts = [typed_concept(concept) for concept in concepts]
        n_orders = None if len(typed_concepts) <= MAX_REORDERED else 1
        for order in itertools.islice(itertools.permutations(typed_concepts), n_orders):
            chain = _try_chain(order)
            if chain is not None:
                return await asyncio.to_thread(self._with_run_examples, chain)
        return None

    def _with_run_examples(self, chain: _Chain) -> CodeConcept | None:
        """Run the example calls of a chain. Return its concept with those that gave a value, or None if none did."""
        calls = _example_calls(chain)
        source = (
            code_with_callees([link.typed_concept.concept for link in chain.links], self.find) + "\n\n" + chain.code
        )
        values = [read_result(result) for result in run_calls(source, calls, self._limits, self._path)]
        examples = tuple((call, value) for call, value in zip(calls, values, strict=True) if value is not None)
        return None if calls and not examples else _concept_of_chain(chain, examples)


def code_with_callees(concepts: Iterable[CodeConcept], find: Find) -> str:
    """Return the code of concepts and of all that they call, at any depth, each once and callees first."""
    return "\n\n".join(concept.code for concept in call_closure(concepts, find))


def call_closure(concepts: Iterable[CodeConcept], find: Find) -> list[CodeConcept]:
    """Return concepts with all that they call, at any depth, each once and callees first."""
    concepts_by_id: dict[str, CodeConcept] = {}
    entered: set[str] = set()

    def add(concept: CodeConcept) -> None:
        if concept.id in entered:
            return
        entered.add(concept.id)
        for callee_id in concept.calls:
            if (callee := find(callee_id)) is not None:
                add(callee)
        concepts_by_id[concept.id] = concept

    for concept in concepts:
        add(concept)
    return list(concepts_by_id.values())


def composition_problem(concepts: Sequence[CodeConcept], find: Find) -> str:
    """Return the reason why these concepts cannot be composed. Empty if they can."""
    with_callees = call_closure(concepts, find)
    other_languages = [concept.name for concept in with_callees if concept.language != "python"]
    if other_languages:
        return f"Only Python can be composed, but {', '.join(other_languages)} is written in another language."
    for concept in concepts:
        try:
            function = function_of(concept.code, concept.name)
        except InvalidInput:
            return f"{concept.name} defines no function."
        if isinstance(function, ast.AsyncFunctionDef):
            return f"{concept.name} is async, so its callers have to await it. Only plain functions can be composed."
        if function.name != concept.name:
            return f"{concept.name} is called {function.name} in its code. Use the same name for both, then try again."
    return _conflict_problem(with_callees) or _undefined_name_problem(with_callees)


def _conflict_problem(concepts: Iterable[CodeConcept]) -> str:
    """Return a message about two concepts that define the same name differently, or an empty string."""
    first_definitions: dict[str, tuple[str, str]] = {}
    for concept in concepts:
        for name, definition in _definitions(concept.code):
            first_owner, first_definition = first_definitions.setdefault(name, (concept.name, definition))
            if first_definition != definition:
                owners = (
                    f"{first_owner} and {concept.name}"
                    if first_owner != concept.name
                    else f"Two concepts named {first_owner}"
                )
                return f"{owners} define {name} in different ways. Rename one of these functions, then try again."
    return ""


def _undefined_name_problem(concepts: Sequence[CodeConcept]) -> str:
    """Return a message about the first concept that uses an undefined name, or an empty string."""
    defined = {name for concept in concepts for name, _ in _definitions(concept.code)}
    for concept in concepts:
        undefined = sorted(global_names(strip(concept.code)) - defined - set(dir(builtins)) - MODULE_NAMES)
        if undefined:
            return (
                f"{concept.name} needs {', '.join(undefined)}, but none of the concepts that it calls defines it. "
                "Restore the missing concept or change the code, then try again."
            )
    return ""


def _definitions(code: str) -> Iterator[tuple[str, str]]:
    """Yield each name that code defines at its top level, with a text that is equal for equal definitions."""
    for node in strip(code).body:
        names = {node.name} if isinstance(node, Definition) else bound_names(node)
        for name in names:
            yield name, ast.dump(node)


def global_names(tree: ast.Module) -> set[str]:
    """Return the global and builtin names that code reads. Names in annotations are left out.

    Names that a function declares `global` are left out, because the function assigns them.
    """
    unannotated = strip_annotations(tree)
    for node in walk(unannotated):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    declared = {name for node in walk(unannotated) if isinstance(node, ast.Global) for name in node.names}
    return set(_global_names(symtable.symtable(ast.unparse(unannotated), "<concept>", "exec"))) - declared


def _global_names(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _global_names(child)


def strip_annotations(tree: Tree) -> Tree:
    """Return a copy without the annotations of parameters and results.

    Python would evaluate the annotations, whose names may be undefined.
    """
    copied: Tree = copy.deepcopy(tree)
    for node in walk(copied):
        if isinstance(node, Function):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return copied


def run_calls(
    source: str, calls: Sequence[str], limits: RunLimits | None, path: Sequence[Path] = ()
) -> list[RunResult]:
    """Run each call separately, after the source. Return results from which `read_result` reads the returned value."""
    if not calls:
        return []
    with Sandbox(limits, path=path) as sandbox:
        return sandbox.run_all([(source, f"print(repr({call}))") for call in calls])


def read_result(result: RunResult) -> str | None:
    """Return the literal that a call returned, or None if it raised or returned no literal."""
    text = result.output.strip().rpartition("\n")[2]
    if result.outcome != "passed" or not text or len(text) > MAX_RESULT_CHARACTERS:
        return None
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    typed_concept: TypedConcept
    position: int
    """Position of the parameter that takes the previous result, -1 in the first link."""

    names: tuple[str, ...]
    """Names of the function's parameters in the composition. Empty for the one that takes the previous result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    links: tuple[_Link, ...]
    name: str
    code: str
    """Code. Its annotations are quoted, because names in them may be undefined where the code runs."""

    signature: str
    parameters: tuple[str, ...]


def _try_chain(order: Sequence[TypedConcept]) -> _Chain | None:
    """Return the chain in this order, or None if a function cannot take the result of the one before it."""
    reserved = {typed.concept.name for typed in order}
    links: list[_Link] = []
    for previous, typed in zip([None, *order], order, strict=False):
        position = _first_parameter_index(typed) if previous is None else _parameter_index(previous, typed)
        if position is None:
            return None
        parameters = []
        for index, parameter in enumerate(typed.parameters):
            parameters.append("" if index == position else unused_name(parameter.name, reserved))
            reserved.add(parameters[-1])
        links.append(_Link(typed_concept=typed, position=position, names=tuple(parameters)))
    return _build_chain(tuple(links), reserved)


def _first_parameter_index(concept: TypedConcept) -> int | None:
    """Return -1 (see `_Link.position`) if a concept can be the first in a chain, otherwise None.

    A function whose parameters are all optional cannot be the first.
    """
    parameters = parameters_of(function_of(concept.concept.code, concept.concept.name))
    return -1 if concept.parameters or not parameters else None


def _parameter_index(previous: TypedConcept, concept: TypedConcept) -> int | None:
    """Return the index of the first parameter that can take the result of the previous function."""
    positions = (index for index, parameter in enumerate(concept.parameters) if fits(previous.returns, parameter.type))
    return next(positions, None)


def _build_chain(links: tuple[_Link, ...], reserved: set[str]) -> _Chain:
    """Return the chain of these links as one function, with a name that is not reserved."""
    parameters = tuple(
        (name, parameter.type)
        for link in links
        for name, parameter in zip(link.names, link.typed_concept.parameters, strict=True)
        if name
    )
    concept_names = [link.typed_concept.concept.name for link in links]
    long_name = "_then_".join(concept_names)
    short_name = long_name if len(long_name) <= MAX_NAME_CHARACTERS else f"{concept_names[0]}_to_{concept_names[-1]}"
    name = unused_name(short_name[:MAX_NAME_CHARACTERS].rstrip("_"), reserved)
    returns = links[-1].typed_concept.returns
    quoted_line = _definition_line(
        name,
        [(parameter_name, _quote_annotation(annotation)) for parameter_name, annotation in parameters],
        _quote_annotation(returns),
    )
    return _Chain(
        links=links,
        name=name,
        code=f"def {quoted_line}:\n    return {_nested_call(links)}\n",
        signature=_definition_line(name, parameters, returns),
        parameters=tuple(parameter_name for parameter_name, _ in parameters),
    )


def _definition_line(name: str, parameters: Iterable[tuple[str, ast.expr | None]], returns: ast.expr | None) -> str:
    """Return a signature: the name, the parameters with their types, and the type of the result."""
    parameter_list = ", ".join(
        f"{parameter}: {ast.unparse(annotation)}" if annotation else parameter for parameter, annotation in parameters
    )
    return f"{name}({parameter_list}){f' -> {ast.unparse(returns)}' if returns else ''}"


def _quote_annotation(annotation: ast.expr | None) -> ast.expr | None:
    return ast.Constant(ast.unparse(annotation)) if annotation is not None else None


def _nested_call(links: Sequence[_Link]) -> str:
    """Return the call of the last function with the calls of the previous ones nested in it."""
    link = links[-1]
    arguments = [
        f"{parameter.name}={name or _nested_call(links[:-1])}"
        if parameter.is_keyword
        else name or _nested_call(links[:-1])
        for name, parameter in zip(link.names, link.typed_concept.parameters, strict=True)
    ]
    return f"{link.typed_concept.concept.name}({', '.join(arguments)})"


def _example_calls(chain: _Chain) -> list[str]:
    """Return calls of the composition, with arguments from the examples of its functions."""
    calls = []
    later_arguments = [_arguments_of_examples(link)[:1] for link in chain.links[1:]]
    for first_arguments in _arguments_of_examples(chain.links[0])[:MAX_EXAMPLES]:
        arguments = [*first_arguments]
        for link, examples in zip(chain.links[1:], later_arguments, strict=True):
            link_arguments = examples[0] if examples else []
            arguments += [text for index, text in enumerate(link_arguments) if index != link.position]
        if len(arguments) == len(chain.parameters):
            calls.append(f"{chain.name}({', '.join(arguments)})")
    return calls


def _arguments_of_examples(link: _Link) -> list[list[str]]:
    """Return the arguments of each example that passes all required parameters, as source code."""
    arguments = []
    for call, _ in link.typed_concept.concept.examples:
        tree = try_parse(call)
        value = tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == link.typed_concept.concept.name:
            required = _required_arguments(value, link)
            arguments += [required] if required is not None else []
    return arguments


def _required_arguments(call: ast.Call, link: _Link) -> list[str] | None:
    """Return the argument of each required parameter, or None if the call passes too few or other arguments."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    positional = [parameter for parameter in link.typed_concept.parameters if not parameter.is_keyword]
    by_name |= {parameter.name: value for parameter, value in zip(positional, call.args, strict=False)}
    names = [parameter.name for parameter in link.typed_concept.parameters]
    if len(call.args) + len(call.keywords) != len(names) or set(by_name) != set(names):
        return None
    return [ast.unparse(by_name[name]) for name in names]


def _concept_of_chain(chain: _Chain, examples: tuple[tuple[str, str], ...]) -> CodeConcept:
    concepts = [link.typed_concept.concept for link in chain.links]
    steps = ". Then: ".join(_first_sentence(concept) for concept in concepts)
    note = "" if examples else " No example was run, because no examples of its functions fit together."
    ids = tuple(concept.id for concept in concepts)
    return CodeConcept(
        name=chain.name,
        description=f"{steps}. Composed by types, not written by a person or a model.{note}",
        code=chain.code,
        signature=chain.signature,
        examples=examples,
        source="composed",
        calls=ids,
        composed_of=ids,
        metadata={"composed_by": "types", "n_examples_run": len(examples)},
    )


def _first_sentence(concept: CodeConcept) -> str:
    return concept.description.partition(". ")[0].strip().rstrip(".") or concept.name
