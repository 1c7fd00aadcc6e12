"""New concepts made of several: one function after the other, where one returns what the next one takes."""

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
from atlas.learning.annotations import Typed, fits, typed
from atlas.learning.naming.documenter import MAX_NAME_CHARACTERS
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.terms.names import Function, bound_names, function_of, parameters_of, unused
from atlas.learning.terms.normalisation import stripped
from atlas.learning.terms.parsing import parsed

Defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

Tree = TypeVar("Tree", bound=ast.AST)

Find = Callable[[str], CodeConcept | None]
"""Function that returns a concept by its id, or None where there is none."""

MAX_REORDERED = 5
"""Number of concepts above which only the order in which they are given is tried."""

MODULE_NAMES = frozenset({"__file__", "__path__", "__cached__"})
"""Names that a module has, besides those of Python's builtins."""

MAX_EXAMPLES = 5
MAX_RESULT_CHARACTERS = 2_000


def nothing_found(_: str) -> None:
    """Find no concept, for concepts that call no others."""


class PipelineCompositionStrategy:
    """A chain of functions, made without a model: each result goes to the next, in the given order or one that fits."""

    def __init__(
        self, find: Find = nothing_found, *, limits: RunLimits | None = None, path: Sequence[Path] = ()
    ) -> None:
        """Use `find` for the concepts that others call. A library that gets the strategy without one asks itself.

        Args:
            path: Directories of modules that the concepts import.
        """
        self.find = find
        self._limits = limits
        self._path = path

    async def compose(self, concepts: list[CodeConcept]) -> CodeConcept | None:
        """Return the functions as one, with the results of their examples, or None where they do not fit.

        Of a next function, the first parameter that takes what comes is given it; others become parameters of the
        whole. The examples are those of the first function, with the other arguments from the examples of theirs.
        Where there are some and none runs, the functions do not fit either.
        """
        if len({concept.id for concept in concepts}) < 2:
            return None
        why_not = await asyncio.to_thread(obstacle, concepts, self.find)
        if why_not:
            return None
        given = [typed(concept) for concept in concepts]
        n_tried = None if len(given) <= MAX_REORDERED else 1
        for order in itertools.islice(itertools.permutations(given), n_tried):
            chain = _chain(order)
            if chain is not None:
                return await asyncio.to_thread(self._tried, chain)
        return None

    def _tried(self, chain: _Chain) -> CodeConcept | None:
        calls = _example_calls(chain)
        source = sources([link.typed.concept for link in chain.links], self.find) + "\n\n" + chain.code
        values = [written(result) for result in run_calls(source, calls, self._limits, self._path)]
        examples = tuple((call, value) for call, value in zip(calls, values, strict=True) if value is not None)
        return None if calls and not examples else _concept(chain, examples)


def sources(concepts: Iterable[CodeConcept], find: Find) -> str:
    """Return the code of concepts and of all that they call, each once, those called before those that call them."""
    return "\n\n".join(concept.code for concept in needed(concepts, find))


def needed(concepts: Iterable[CodeConcept], find: Find) -> list[CodeConcept]:
    """Return concepts and all that they call, each once, those called before those that call them."""
    found: dict[str, CodeConcept] = {}
    entered: set[str] = set()

    def add(concept: CodeConcept) -> None:
        if concept.id in entered:
            return
        entered.add(concept.id)
        for called in concept.calls:
            if (callee := find(called)) is not None:
                add(callee)
        found[concept.id] = concept

    for concept in concepts:
        add(concept)
    return list(found.values())


def obstacle(concepts: Sequence[CodeConcept], find: Find) -> str:
    """Return why no function can call all of these, with their names in it, or an empty text where one can."""
    together = needed(concepts, find)
    others = [concept.name for concept in together if concept.language != "python"]
    if others:
        return f"Only Python is composed, but {', '.join(others)} is written in something else."
    for concept in concepts:
        try:
            function = function_of(concept.code, concept.name)
        except InvalidInput:
            return f"{concept.name} defines no function."
        if isinstance(function, ast.AsyncFunctionDef):
            return f"{concept.name} is async: what calls it has to wait for it. Only plain functions are composed."
        if function.name != concept.name:
            return f"{concept.name} is called {function.name} in its code. Give the two one name, then try again."
    return _clash(together) or _lack(together)


def _clash(concepts: Iterable[CodeConcept]) -> str:
    """Return which two of them give one name different meanings, empty where all can stand in one program."""
    defined: dict[str, tuple[str, str]] = {}
    for concept in concepts:
        for name, meaning in _meanings(concept.code):
            other, there = defined.setdefault(name, (concept.name, meaning))
            if there != meaning:
                both = f"{other} and {concept.name}" if other != concept.name else f"Two concepts named {other}"
                return f"{both} define {name} in different ways. Rename one of these functions, then try again."
    return ""


def _lack(concepts: Sequence[CodeConcept]) -> str:
    """Return which of them reads a name that none of them gives a meaning, empty where all can run."""
    defined = {name for concept in concepts for name, _ in _meanings(concept.code)}
    for concept in concepts:
        lacking = sorted(outer_names(stripped(concept.code)) - defined - set(dir(builtins)) - MODULE_NAMES)
        if lacking:
            return (
                f"{concept.name} needs {', '.join(lacking)}, which no concept that it calls defines any more. "
                "Bring that concept back, or change the code, then try again."
            )
    return ""


def _meanings(code: str) -> Iterator[tuple[str, str]]:
    """Yield the names that code defines at its top, each with what it stands for."""
    for node in stripped(code).body:
        for name in bound_names(node) if not isinstance(node, Defining) else {node.name}:
            yield name, ast.dump(node)


def outer_names(tree: ast.Module) -> set[str]:
    """Return the names that code reads and leaves to its module, or to Python, to give a meaning.

    Annotations aside, and names that a function declares global: it gives them a meaning itself.
    """
    bare = without_annotations(tree)
    for node in ast.walk(bare):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    bound = {name for node in ast.walk(bare) if isinstance(node, ast.Global) for name in node.names}
    return set(_outer_names(symtable.symtable(ast.unparse(bare), "<concept>", "exec"))) - bound


def _outer_names(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _outer_names(child)


def without_annotations(tree: Tree) -> Tree:
    """Return a copy without annotations, whose names need not be there, and which Python would run."""
    bare: Tree = copy.deepcopy(tree)
    for node in ast.walk(bare):
        if isinstance(node, Function):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return bare


def run_calls(
    source: str, calls: Sequence[str], limits: RunLimits | None, path: Sequence[Path] = ()
) -> list[RunResult]:
    """Return how each call after the source ends. The last line that it prints is its result, which `written` reads."""
    if not calls:
        return []
    with Sandbox(limits, path=path) as sandbox:
        return sandbox.run_all([(source, f"print(repr({call}))") for call in calls])


def written(result: RunResult) -> str | None:
    """Return a call's result as Python writes it, or None where it raised, or gave what cannot be written down."""
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
    typed: Typed
    position: int
    """Position of the parameter that is given what comes, -1 in the first link, which takes all of its own."""

    names: tuple[str, ...]
    """Names of its parameters in the whole, but for the one that is given what comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain:
    links: tuple[_Link, ...]
    name: str
    code: str
    """Code with quoted annotations, because what they name need not be there where the code is run."""

    signature: str
    parameters: tuple[str, ...]


def _chain(order: Sequence[Typed]) -> _Chain | None:
    """Return the functions in this order, where each takes what the one before it returns."""
    taken = {one.concept.name for one in order}
    links: list[_Link] = []
    for before, one in zip([None, *order], order, strict=False):
        position = _beginning(one) if before is None else _position(before, one)
        if position is None:
            return None
        own = []
        for place, parameter in enumerate(one.parameters):
            own.append("" if place == position else unused(parameter.name, taken))
            taken.add(own[-1])
        links.append(_Link(typed=one, position=position, names=tuple(own)))
    return _written_down(tuple(links), taken)


def _beginning(one: Typed) -> int | None:
    """Return -1 where it can begin a chain. It cannot if all that it takes, such as `*args`, would be left out."""
    takes = parameters_of(function_of(one.concept.code, one.concept.name))
    return -1 if one.parameters or not takes else None


def _position(before: Typed, after: Typed) -> int | None:
    places = (place for place, parameter in enumerate(after.parameters) if fits(before.returns, parameter.type))
    return next(places, None)


def _written_down(links: tuple[_Link, ...], taken: set[str]) -> _Chain:
    parameters = tuple(
        (name, parameter.type)
        for link in links
        for name, parameter in zip(link.names, link.typed.parameters, strict=True)
        if name
    )
    names = [link.typed.concept.name for link in links]
    long = "_then_".join(names)
    short = long if len(long) <= MAX_NAME_CHARACTERS else f"{names[0]}_to_{names[-1]}"
    name = unused(short[:MAX_NAME_CHARACTERS].rstrip("_"), taken)
    returns = links[-1].typed.returns
    quoted = _head(name, [(one, _quoted(kind)) for one, kind in parameters], _quoted(returns))
    return _Chain(
        links=links,
        name=name,
        code=f"def {quoted}:\n    return {_call(links)}\n",
        signature=_head(name, parameters, returns),
        parameters=tuple(one for one, _ in parameters),
    )


def _head(name: str, parameters: Iterable[tuple[str, ast.expr | None]], returns: ast.expr | None) -> str:
    shown = ", ".join(f"{one}: {ast.unparse(kind)}" if kind else one for one, kind in parameters)
    return f"{name}({shown}){f' -> {ast.unparse(returns)}' if returns else ''}"


def _quoted(annotation: ast.expr | None) -> ast.expr | None:
    return ast.Constant(ast.unparse(annotation)) if annotation is not None else None


def _call(links: Sequence[_Link]) -> str:
    """Return the call of the last function, with that of those before it inside."""
    last = links[-1]
    arguments = [
        f"{parameter.name}={name or _call(links[:-1])}" if parameter.is_keyword else name or _call(links[:-1])
        for name, parameter in zip(last.names, last.typed.parameters, strict=True)
    ]
    return f"{last.typed.concept.name}({', '.join(arguments)})"


def _example_calls(chain: _Chain) -> list[str]:
    """Return calls of the whole, with the arguments of its functions' examples."""
    calls = []
    others = [_arguments(link)[:1] for link in chain.links[1:]]
    for first in _arguments(chain.links[0])[:MAX_EXAMPLES]:
        arguments = [*first]
        for link, examples in zip(chain.links[1:], others, strict=True):
            given = examples[0] if examples else []
            arguments += [text for place, text in enumerate(given) if place != link.position]
        if len(arguments) == len(chain.parameters):
            calls.append(f"{chain.name}({', '.join(arguments)})")
    return calls


def _arguments(link: _Link) -> list[list[str]]:
    """Return the arguments of each example that passes as many as the function needs, as they are written."""
    found = []
    for call, _ in link.typed.concept.examples:
        tree = parsed(call)
        value = tree.body[0].value if tree and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
        if isinstance(value, ast.Call) and getattr(value.func, "id", "") == link.typed.concept.name:
            given = _given(value, link)
            found += [given] if given is not None else []
    return found


def _given(call: ast.Call, link: _Link) -> list[str] | None:
    """Return the argument of each required parameter, or None where a call passes anything else, or too few."""
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    in_order = [parameter for parameter in link.typed.parameters if not parameter.is_keyword]
    by_name |= {parameter.name: value for parameter, value in zip(in_order, call.args, strict=False)}
    names = [parameter.name for parameter in link.typed.parameters]
    if len(call.args) + len(call.keywords) != len(names) or set(by_name) != set(names):
        return None
    return [ast.unparse(by_name[name]) for name in names]


def _concept(chain: _Chain, examples: tuple[tuple[str, str], ...]) -> CodeConcept:
    concepts = [link.typed.concept for link in chain.links]
    steps = ". Then: ".join(_first_sentence(concept) for concept in concepts)
    ran = "" if examples else " No example of it was run: its functions have none that fit."
    ids = tuple(concept.id for concept in concepts)
    return CodeConcept(
        name=chain.name,
        description=f"{steps}. Composed by types, not written by a person or a model.{ran}",
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
