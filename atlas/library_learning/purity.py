"""What evaluating code may change, and whether it may be evaluated at another time.

Everything errs to the safe side, but for two beliefs: operators and Python's own functions do with any object what they
do with those of Python's own types; and going through what a program asks for its length or its items takes nothing
away, as it would of an iterator.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator, Set

from atlas.library_learning.scopes import COMPREHENSIONS, own_nodes

Names = frozenset[str]

# fmt: off
PURE_FUNCTIONS = frozenset({
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "hash", "hex", "int", "isinstance", "len", "list", "map", "max", "min", "oct", "ord", "pow",
    "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
})
PURE_METHODS = frozenset({
    "capitalize", "casefold", "copy", "count", "difference", "encode", "endswith", "find", "format", "get",
    "index", "intersection", "isalnum", "isalpha", "isdecimal", "isdigit", "islower", "isnumeric", "isspace",
    "istitle", "isupper", "items", "join", "keys", "lower", "lstrip", "partition", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title",
    "translate", "union", "upper", "values", "zfill",
})
NEEDS_ARGUMENTS = frozenset({"count", "get", "index"})
"""Methods that are something else without arguments: `queue.get()` takes an item out."""

GOING_THROUGH = frozenset({
    "all", "any", "dict", "enumerate", "filter", "frozenset", "list", "map", "max", "min", "set", "sorted", "sum",
    "tuple", "zip",
})
# fmt: on
"""Functions that go through what they are given; an iterator is used up by that."""

REPEATABLE = frozenset({"len", "abs", "int", "float", "str", "ord", "chr"})


class Purity:
    """Judges the code of one program.

    Args:
        symbols: The `id` of every node that names a local variable.
    """

    def __init__(self, module: ast.Module, symbols: Set[int]) -> None:
        self._symbols = symbols
        self._methods = {
            part.name
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef)
            for part in node.body
            if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        self._fixed = _bound_once(module)
        self._sized = set(_sized(module))

    def is_pure(self, node: ast.AST) -> bool:
        """Whether evaluating just this, after its parts, changes nothing that other code could see.

        An iterator that is used up is no such thing here; see `changed_by`.
        """
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return self._is_builtin(node.func, PURE_FUNCTIONS) and all(map(self._is_harmless, _functions(node)))
            case ast.Call(func=ast.Attribute(attr=name)):
                return self._is_pure_method(name) and bool(node.args or name not in NEEDS_ARGUMENTS)
            case ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                return False
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return False
        return True

    def is_atomic(self, node: ast.AST) -> bool:
        """Whether it may be evaluated at any time and any number of times: a constant, or a name that keeps its value.

        A local variable does so as far as others than the code around it are concerned.
        """
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return id(node) in self._symbols or name in self._fixed or hasattr(builtins, name)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return True
        return False

    def is_repeatable(self, node: ast.AST) -> bool:
        """Whether evaluating it once instead of twice in a row makes no difference: pure, and nothing new is made."""
        making = (ast.List, ast.Dict, ast.Set, ast.Lambda, *COMPREHENSIONS)
        return not any(isinstance(part, making) or not self._can_be_shared(part) for part in ast.walk(node))

    def changed_by(self, node: ast.AST) -> Names:
        """The names of what evaluating code may change: what it calls with unknown effects, or goes through."""
        impure = [part for part in ast.walk(node) if not self.is_pure(part)]
        through = [one for part in ast.walk(node) for each in _gone_through(part) for one in _iterators(each)]
        return names_in(*impure) | (names_in(*through) - self._sized)

    def _is_builtin(self, function: ast.AST, among: Set[str]) -> bool:
        return isinstance(function, ast.Name) and function.id in among and id(function) not in self._symbols

    def _is_pure_method(self, name: str) -> bool:
        return name in PURE_METHODS and name not in self._methods

    def _is_harmless(self, function: ast.AST) -> bool:
        """A function that is handed on, to be called with whatever there is; a lambda's body is judged by itself."""
        match function:
            case ast.Lambda() | ast.Constant(value=None):
                return True
            case ast.Attribute(attr=name):
                return self._is_pure_method(name)
        return self._is_builtin(function, PURE_FUNCTIONS)

    def _can_be_shared(self, node: ast.AST) -> bool:
        """Numbers and texts may be; what else a call makes may be changed by whoever has it."""
        return self._is_builtin(node.func, REPEATABLE) if isinstance(node, ast.Call) else self.is_pure(node)


def names_in(*nodes: ast.AST) -> Names:
    """The names that code reads."""
    return frozenset(
        part.id
        for node in nodes
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)
    )


def _functions(call: ast.Call) -> Iterator[ast.AST]:
    """The functions that a call of one of Python's own is given to call."""
    if isinstance(call.func, ast.Name) and call.func.id in ("filter", "map"):
        yield from call.args[:1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "key")


def _gone_through(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.comprehension() | ast.For():
            return [node.iter]
        case ast.Starred() | ast.YieldFrom():
            return [node.value]
        case ast.Compare() if any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops):
            return node.comparators
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_]):
            return []
        case ast.Call(func=ast.Name(id=name)) if name in GOING_THROUGH:
            return node.args
        case ast.Call(func=ast.Attribute(attr="join")):
            return node.args
    return []


def _iterators(node: ast.expr) -> Iterator[ast.expr]:
    """What may be an iterator of it, made before; not what it makes itself."""
    match node:
        case ast.Name() | ast.Attribute():
            yield node
        case ast.Starred(value=inner):
            yield from _iterators(inner)
        case ast.Call(func=ast.Name(id=name), args=args) if name in GOING_THROUGH:
            for each in args:
                yield from _iterators(each)


def _bound_once(module: ast.Module) -> Names:
    """The names of a module that mean one thing for good."""
    bound: Counter[str] = Counter()
    changing: set[str] = set()
    for node in own_nodes(module):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                bound[name] += 1
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound[name] += 1
            case ast.alias(name=name, asname=other):
                bound[(other or name).partition(".")[0]] += 1
            case ast.AugAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                changing.add(name)
    for node in ast.walk(module):
        if isinstance(node, ast.Global | ast.Nonlocal):
            changing.update(node.names)
    return frozenset(name for name, n in bound.items() if n == 1) - changing


def _sized(module: ast.Module) -> Iterator[str]:
    """The names that are asked for their length or for items by position or key: no iterators."""
    for node in ast.walk(module):
        match node:
            case ast.Subscript(value=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                yield name
