"""The baseline of compressing: plain pairwise anti-unification (Plotkin, 1970) of Python's expressions.

What two expressions have in common becomes a function of what they differ in, and it is kept while programs and
library become shorter. There are no sorts, no variables closed over, no data flow and no running: what comes of that is
what the figures show beside ours.
"""

from __future__ import annotations

import ast
import builtins
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from atlas.learning.terms.description_length import n_tokens

MAX_HOLES = 3
MAX_BUCKET = 60
"""Different expressions of one kind that are compared pair by pair, the most frequent ones."""

SECONDS = 60.0
"""Seconds for the search. What was found by then counts."""

MIN_NODES, MAX_NODES = 4, 80
HOLE = "hole_"


@dataclass(slots=True)
class SharedCode:
    """Functions found in programs."""

    functions: list[str] = field(default_factory=list)
    n_valid: int = 0
    """Number of functions whose names are their parameters' or Python's own. The others end with a NameError."""

    sources: dict[str, str] = field(default_factory=dict)
    """The rewritten programs by id, each after all functions."""

    tokens_before: int = 0
    tokens_after: int = 0
    """Of programs and library."""

    is_stopped: bool = False

    @property
    def saved(self) -> float:
        """Percent of the tokens."""
        return 100 * (1 - self.tokens_after / self.tokens_before)


def anti_unify(programs: Mapping[str, ast.Module], seconds: float = SECONDS) -> SharedCode:
    """Return functions that programs share, the most promising first. The trees are changed."""
    until = time.monotonic() + seconds
    lengths = {name: n_tokens(ast.unparse(tree)) for name, tree in programs.items()}
    result = SharedCode(tokens_before=sum(lengths.values()), tokens_after=sum(lengths.values()))
    for body in _ranked(list(programs.values()), until):
        if time.monotonic() > until:
            result.is_stopped = True
            break
        name = f"shared_{len(result.functions)}"
        code = f"def {name}({', '.join(_holes(body))}):\n    return {ast.unparse(body)}"
        rewritten = {
            program_name: _CallInserter(name, body).visit(_copy(tree))
            for program_name, tree in programs.items()
            if _uses(body, tree)
        }
        shorter = {program_name: n_tokens(ast.unparse(tree)) for program_name, tree in rewritten.items()}
        gain = sum(lengths[program_name] - length for program_name, length in shorter.items()) - n_tokens(code)
        if gain > 0:
            programs = {**programs, **rewritten}
            lengths |= shorter
            result.functions.append(code)
            result.n_valid += _is_closed(body)
            result.tokens_after -= gain
            result.sources |= dict.fromkeys(rewritten, "")
    for program_name in result.sources:
        result.sources[program_name] = "\n\n".join([*result.functions, ast.unparse(programs[program_name])])
    return result


def _ranked(trees: Sequence[ast.Module], until: float) -> list[ast.expr]:
    """Return common parts of pairs of expressions, the one that would save most by itself first."""
    saved: dict[str, tuple[int, ast.expr]] = {}
    for bucket in _buckets(trees):
        for body in _generalisations([expression for expression, _ in bucket]):
            if time.monotonic() > until:
                break
            n_uses = sum(n for expression, n in bucket if _match(body, expression, {}))
            length = n_tokens(ast.unparse(body))
            gain = n_uses * (length - 3 - 2 * len(_holes(body))) - length
            if gain > 0:
                saved[ast.dump(body)] = (gain, body)
    return [body for _, body in sorted(saved.values(), key=lambda expression: -expression[0])]


def _buckets(trees: Sequence[ast.Module]) -> Iterator[list[tuple[ast.expr, int]]]:
    """Yield expressions of one kind, with how often each occurs."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    of: dict[str, ast.expr] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        if isinstance(node, ast.FormattedValue):  # no expression by itself
            continue
        if MIN_NODES <= sum(isinstance(part, ast.expr) for part in ast.walk(node)) <= MAX_NODES:
            of.setdefault(ast.dump(node), node)
            kinds[_kind(node)][ast.dump(node)] += 1
    for counts in kinds.values():
        yield [(of[text], n) for text, n in counts.most_common(MAX_BUCKET)]


def _kind(node: ast.expr) -> str:
    """Return its type, with the function that it calls or the operator that it applies."""
    part = getattr(node, "func", None) or getattr(node, "op", None) or getattr(node, "ops", [None])[0]
    return f"{type(node).__name__} {ast.unparse(part) if isinstance(part, ast.expr) else type(part).__name__}"


def _generalisations(expressions: Sequence[ast.expr]) -> Iterator[ast.expr]:
    bodies = set()
    for left, right in [*combinations(expressions, 2), *((expression, expression) for expression in expressions)]:
        holes: dict[tuple[str, str], str] = {}
        body = _common(left, right, holes)
        if isinstance(body, ast.expr) and not isinstance(body, ast.Name) and len(holes) <= MAX_HOLES:
            text = ast.dump(body)
            if text not in bodies:
                bodies.add(text)
                yield body


def _common(left: Any, right: Any, holes: dict[tuple[str, str], str]) -> Any:
    """Return the most special expression that both are uses of, or None if there is none."""
    if type(left) is type(right) and isinstance(left, ast.AST) and not isinstance(left, ast.JoinedStr):
        fields = {name: _common(getattr(left, name), getattr(right, name), holes) for name in left._fields}
        if all((fields[name] is None) == (getattr(left, name) is None) for name in fields):
            return type(left)(**fields)
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        items = [_common(*pair, holes) for pair in zip(left, right, strict=True)]
        return None if None in items else items
    if isinstance(left, ast.JoinedStr) and isinstance(right, ast.JoinedStr) and ast.dump(left) == ast.dump(right):
        return left
    if isinstance(left, ast.expr) and isinstance(right, ast.expr):
        hole = holes.setdefault((ast.dump(left), ast.dump(right)), f"{HOLE}{len(holes)}")
        return ast.Name(id=hole, ctx=ast.Load())
    return left if not isinstance(left, (ast.AST, list)) and type(left) is type(right) and left == right else None


def _match(body: Any, node: Any, bindings: dict[str, ast.expr]) -> bool:
    """Return whether an expression is a use of a body, and note what fills its holes."""
    if body.__class__ is not node.__class__ and not (isinstance(body, ast.Name) and body.id.startswith(HOLE)):
        return False
    if isinstance(body, ast.Name) and body.id.startswith(HOLE):
        return isinstance(node, ast.expr) and ast.dump(bindings.setdefault(body.id, node)) == ast.dump(node)
    if isinstance(body, ast.AST):
        return all(_match(getattr(body, name), getattr(node, name), bindings) for name in body._fields)
    if isinstance(body, list):
        return len(body) == len(node) and all(map(_match, body, node, [bindings] * len(body)))
    return bool(body == node)


class _CallInserter(ast.NodeTransformer):
    """Puts calls of a function where expressions are uses of its body."""

    def __init__(self, name: str, body: ast.expr) -> None:
        self._name, self._body = name, body

    def visit(self, node: ast.AST) -> Any:
        bindings: dict[str, ast.expr] = {}
        if not _match(self._body, node, bindings):
            return node if isinstance(node, ast.JoinedStr) else self.generic_visit(node)
        arguments = [self.visit(bindings[hole]) for hole in _holes(self._body)]
        return ast.Call(func=ast.Name(id=self._name, ctx=ast.Load()), args=arguments, keywords=[])


def _uses(body: ast.expr, tree: ast.Module) -> bool:
    return any(isinstance(node, ast.expr) and _match(body, node, {}) for node in ast.walk(tree))


def _holes(body: ast.expr) -> list[str]:
    return sorted({node.id for node in ast.walk(body) if isinstance(node, ast.Name) and node.id.startswith(HOLE)})


def _is_closed(body: ast.expr) -> bool:
    names = [node for node in ast.walk(body) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(body) if isinstance(node, ast.arg)}
    return all(node.id.startswith(HOLE) or node.id in bound or hasattr(builtins, node.id) for node in names)


def _copy(tree: ast.Module) -> ast.Module:
    return ast.parse(ast.unparse(tree))
