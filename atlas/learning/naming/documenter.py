"""Names and descriptions for functions that were found in programs, derived from the code and its uses alone."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.core.errors import InvalidInput
from atlas.core.types import CodeConcept
from atlas.core.words import words
from atlas.learning.analysis.uses import Uses, returned_type, uses_of
from atlas.learning.naming.heuristics import CHANGES, TELLS, VAGUE, Doing, called, changed, doing, ingredients
from atlas.learning.rewrite.rename import renamed
from atlas.learning.terms.names import Function, function_of, identifiers, is_free, parameters_of, unused

DERIVED = "Derived from its code and uses, not written by a person or a model."
MAX_NAME_CHARACTERS = 40
MAX_RETURNED_CHARACTERS = 80
MAX_TASK_CHARACTERS = 120
SHARED_BY = 0.5
"""Share of the programs, and at least two of them, whose words name a function."""

SECOND_WORD = 0.75
"""Ratio to the most shared word's count from which a second word is in the name as well."""

_MADE_UP = re.compile(
    r"_*[a-z]{0,2}_?\d+|_+|(?:fn|func|function|concept|abstraction|arg|argument|param|parameter|value|var|v|x)_?\d*"
)
_IN_PLACE_OF = {
    **{"list": "items", "str": "text", "string": "text", "dict": "mapping", "int": "number", "float": "number"},
    **{"set": "members", "tuple": "parts", "sum": "total", "max": "largest", "min": "smallest", "len": "length"},
    **{"input": "given", "range": "numbers", "type": "kind", "id": "key", "iter": "items", "object": "value"},
    **{"all": "items", "bytes": "content", "lambda": "function", "bool": "flag", "next": "following", "map": "mapping"},
}
_GENERIC = frozenset(
    """
    answer arr array arrays calculate cal check code compute count element elements find func function functions get
    helper index input integer integers item items list lists lst main max maximum min minimum nth num number numbers
    nums output print program python recursive ref remove represents res result results ret set solution solve sort
    sorted specified string strings sub sum temp test text tmp total tuple tuples util validate val variable verify
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""Words that every other program could be named with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """The name, description and types of a function."""

    name: str
    description: str
    parameters: tuple[str, ...]
    """New names, in the order of the code's own."""

    types: tuple[str, ...] = ()
    """Annotations of the parameters, empty where nobody knows."""

    returns: str = ""
    guidance: str = ""


class HeuristicDocumenter:
    """A namer of functions after what they do and what their uses have in common. No name is given twice."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        """Give no name of those taken: of other concepts, and of whatever the programs to be rewritten define."""
        self._taken = set(taken)

    async def document(self, concept: CodeConcept, usage_examples: list[tuple[str, str]]) -> CodeConcept:
        """Return the concept with name, description, signature and guidance. Of its code, only names change.

        Args:
            usage_examples: Pairs of a task's text and a program that calls the function.

        Raises:
            InvalidInput: The code does not parse, or defines no function.
        """
        derived = derive(concept, usage_examples, taken=self._taken)
        self._taken.add(derived.name)
        return documented(concept, derived, by="heuristic")


def derive(concept: CodeConcept, examples: Sequence[tuple[str, str]], *, taken: Iterable[str] = ()) -> Documentation:
    """Return what can be said of a concept's function from its code and its uses."""
    function = function_of(concept.code, concept.name)
    n_positional = len(function.args.posonlyargs) + len(function.args.args)
    uses = uses_of(function.name, n_positional, examples)
    does = doing(function)
    parameters = _parameters(function, uses)
    held = set(taken) | uses.names | identifiers(function) | set(parameters)
    shared = _shared(uses)
    name = _name(function, does, shared, parameters, held - {function.name})
    return Documentation(
        name=name,
        description=_description(function, does, name, uses.n_programs, parameters, list(shared)),
        parameters=parameters,
        types=_types(function, uses),
        returns=returned_type(function, uses) or ("bool" if does.kind == TELLS else ""),
        guidance=_guidance(examples, list(shared)),
    )


def documented(concept: CodeConcept, said: Documentation, *, by: str) -> CodeConcept:
    """Return the concept with what is said of it, but for a name that the code fixes.

    Args:
        by: Kept as `documented_by` in the concept's metadata, with the `original_name`.
    """
    function = function_of(concept.code, concept.name)
    old = parameters_of(function)
    names = {function.name: said.name}
    names |= {was: new for was, new in zip(old, said.parameters, strict=False) if new not in names.values()}
    code = _renamed_as_far_as_possible(concept.code, names)
    now = next((held for held in (said.name, function.name) if _has(code, held)), function.name)
    return replace(
        concept,
        name=now,
        description=said.description,
        code=code,
        signature=signature(function_of(code, now), said.types, said.returns),
        guidance=said.guidance,
        metadata={**concept.metadata, "documented_by": by, "original_name": function.name},
    )


def signature(function: Function, types: Sequence[str] = (), returns: str = "") -> str:
    """Return for example `crop(grid: Grid, size: int) -> Grid`. Its own annotations count before the given ones."""
    shown: Function = ast.parse(ast.unparse(function)).body[0]  # type: ignore[assignment]  # a copy
    for arg, given in zip([*shown.args.posonlyargs, *shown.args.args], types, strict=False):
        arg.annotation = arg.annotation or _annotation(given)
    result = shown.returns or _annotation(returns)
    return f"{shown.name}({ast.unparse(shown.args)}){f' -> {ast.unparse(result)}' if result else ''}"


def _annotation(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def _has(code: str, name: str) -> bool:
    return function_of(code, name).name == name


def _renamed_as_far_as_possible(code: str, names: dict[str, str]) -> str:
    """Return the code with all of the names at once, or else with those that it lets go one by one."""
    try:
        return renamed(code, names)
    except InvalidInput:
        for old, new in names.items():
            try:
                code = renamed(code, {old: new})
            except InvalidInput:  # this one stays as it is
                continue
    return code


def _shared(uses: Uses) -> dict[str, int]:
    """Return the words that enough of the programs share in names or tasks, the most shared first, with how often."""
    enough = max(2, SHARED_BY * uses.n_programs)
    results = Counter({word: n for name, n in uses.results.items() for word in words(name)})
    counts: Counter[str] = Counter()
    for one in (uses.owners, uses.tasks, results):
        counts.update({word: n for word, n in one.items() if n >= enough and word not in _GENERIC})
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return {word: counts[word] for word in ordered if not (word.endswith("s") and word[:-1] in counts)}


def _name(
    function: Function, does: Doing, shared: Mapping[str, int], parameters: Sequence[str], taken: set[str]
) -> str:
    if not _MADE_UP.fullmatch(function.name) and is_free(function.name) and function.name not in taken:
        return function.name
    most = max(shared.values(), default=0)
    telling = [word for word, n in shared.items() if n >= SECOND_WORD * most][: 1 if does.kind == TELLS else 2]
    candidates = list(_candidates(function, does, telling, parameters))
    fitting = [name for name in candidates if is_free(name) and name not in taken and len(name) <= MAX_NAME_CHARACTERS]
    return fitting[0] if fitting else unused(candidates[0][:MAX_NAME_CHARACTERS].strip("_"), taken)


def _candidates(function: Function, does: Doing, shared: Sequence[str], parameters: Sequence[str]) -> Iterator[str]:
    """Yield names, best first: what it does, to what, and what its uses share, then more of it."""
    start = f"is_{does.verb}".rstrip("_") if does.kind == TELLS else does.verb
    nouns = [name for name in parameters if words(name)]
    calls = [word for name in called(function) for word in sorted(words(name))]
    if does.kind == TELLS and does.verb:
        yield start
    if does.verb in VAGUE and shared:
        yield shared[0]
        yield "_".join(shared)
        yield "_".join([does.verb, *shared])
    known = set(start.split("_"))
    inside = [word for word in ingredients(function) if word not in known]
    qualifiers = dict.fromkeys([*shared, *calls[:1], *inside[:1], *nouns, *calls[1:], *inside[1:]])
    fresh = [word for word in qualifiers if not set(word.split("_")) & known]
    for n in (len(shared) or 1, 1, 2, 3, 4):
        if len(fresh) >= n:
            yield "_".join(dict.fromkeys("_".join([start, *fresh[:n]]).split("_")))
    if parameters and does.is_noun:
        yield f"{start.removesuffix('_of')}_of_{parameters[0]}"
    yield f"{start}_value"


def _parameters(function: Function, uses: Uses) -> tuple[str, ...]:
    """Return names for the parameters: their own words, else what most uses pass, else what the code needs."""
    held = identifiers(function) | {function.name}
    names: list[str] = []
    for position, own in enumerate(parameters_of(function)):
        wanted = list(_wanted(function, own, position, uses))
        taken = (held - {own}) | set(names)
        free = (name for name in [*wanted, f"other_{wanted[0]}"] if name not in taken and is_free(name))
        names.append(next(free, unused(wanted[0], taken)))
    return tuple(names)


def _wanted(function: Function, own: str, position: int, uses: Uses) -> Iterator[str]:
    """Yield names for a parameter, best first."""
    if not _MADE_UP.fullmatch(own) and is_free(own):
        yield own
    if position < len(uses.arguments):
        passed = uses.arguments[position]
        by_share = sorted(passed, key=lambda name: (-passed[name], len(name), name))
        ordered = [name.strip("_").lower() for name in by_share]
        telling = [name for name in ordered if not _MADE_UP.fullmatch(name) and len(name) > 1]
        yield from (_IN_PLACE_OF.get(name, name) for name in telling[:2])
        yield from (name for name, _ in uses.kinds[position].most_common(1) if _needed(function, own) == "value")
        yield from (name for name in ordered if len(name) == 1)
    yield _needed(function, own)


def _needed(function: Function, own: str) -> str:
    """Return what the code does with a parameter, as a name for it."""
    told = (_need(node, own) for node in ast.walk(function))
    return next((name for name in told if name), "value")


def _need(node: ast.AST, own: str) -> str:
    """Return what one node takes the name for, empty where it is about something else."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name == own:
            return "function"
        case (
            ast.Call(func=ast.Name(id="len" | "sorted" | "sum" | "max" | "min"), args=[ast.Name(id=name)])
            | ast.For(iter=ast.Name(id=name))
            | ast.comprehension(iter=ast.Name(id=name))
            | ast.Subscript(value=ast.Name(id=name))
        ) if name == own:
            return "items"
        case ast.Attribute(value=ast.Name(id=name), attr="split" | "lower" | "upper" | "strip") if name == own:
            return "text"
        case ast.BinOp(left=ast.Name(id=left), right=right) if own in (left, getattr(right, "id", "")):
            return "number"
    return ""


def _types(function: Function, uses: Uses) -> tuple[str, ...]:
    """Return the annotation that the uses agree on, for each positional parameter."""
    return tuple(
        next(iter(counts)) if len(counts) == 1 else "" for counts in uses.types[: len(parameters_of(function))]
    )


def _description(
    function: Function, does: Doing, name: str, n_programs: int, parameters: Sequence[str], shared: Sequence[str]
) -> str:
    new = dict(zip(parameters_of(function), parameters, strict=False))
    of = new.get(changed(function), "") if does.kind == CHANGES else next(iter(parameters), "")
    said = does.said(f"`{of}`" if of else "what it is given", name)
    exactly = does.returned if len(does.returned) <= MAX_RETURNED_CHARACTERS else ""
    exactly = re.sub(r"(?<![\w.])[^\W\d]\w*", lambda found: new.get(found[0], found[0]), exactly)
    calls = called(function)[:4]
    about = f", about {', '.join(shared[:5])}" if shared else ""
    sentences = [
        f"{said}: `{exactly}`." if exactly else f"{said}.",
        f"Calls {', '.join(calls)}." if calls and not exactly else "",
        f"Found in {n_programs} programs{about}." if n_programs > 1 else "",
        DERIVED,
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _guidance(examples: Sequence[tuple[str, str]], shared: Sequence[str]) -> str:
    tasks = list(dict.fromkeys(_first_line(task) for task, _ in examples if task.strip()))[:3]
    about = f"For tasks about {', '.join(shared[:3])}. " if shared else ""
    return f"{about}Used for: {'; '.join(f'“{task}”' for task in tasks)}." if tasks else about.strip()


def _first_line(task: str) -> str:
    line = " ".join(task.strip().partition("\n\n")[0].split())
    return line if len(line) <= MAX_TASK_CHARACTERS else line[: MAX_TASK_CHARACTERS - 1].rstrip() + "…"
