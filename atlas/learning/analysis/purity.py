"""Side effects of code, and whether it may be evaluated at another time.

The analysis is conservative, except for these assumptions. Running a program's tests checks them:

- Operators and builtin functions treat any object as they treat objects of builtin types. Reading an item adds it only
  in a program that uses `defaultdict` or defines `__missing__`.
- Reading an attribute has no side effect if the program itself assigns it, if it is a called method in `MEMBERS`, or if
  it is in `PLAIN_ATTRIBUTES`. Any other attribute may be a property.
- A call with the name and number of arguments of a method in `PURE_METHODS` calls that method. If the program defines
  such a name or imports modules outside `PLAIN_MODULES`, this holds only for objects of evident builtin type.
- An object that is subscripted or passed to `len` is not an iterator, so iterating over it does not consume it. An
  iterator has one name. Iterating over an iterator from outside the program has no other side effect.
- The caller of a program does not depend on which of two exceptions is raised first. Only code with a `try`, or with a
  `with` on anything but a file, does.
- No code inspects its caller. Programs that may do so are excluded beforehand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set

from atlas.learning.analysis.constants import constant_reads
from atlas.learning.terms.scopes import BUILTIN, COMPREHENSIONS, IMPORTS
from atlas.learning.terms.standard import MEMBERS
from atlas.learning.terms.walking import walk

Names = frozenset[str]

# fmt: off
PURE_FUNCTIONS = frozenset({
    "abs", "all", "any", "bin", "bool", "chr", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "hash", "hex", "int", "isinstance", "len", "list", "map", "max", "min", "oct", "ord", "pow",
    "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
})
PLAIN_MODULES = frozenset({
    "__future__", "abc", "bisect", "calendar", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal",
    "enum", "fractions", "functools", "heapq", "itertools", "json", "math", "numbers", "numpy", "operator", "random",
    "re", "statistics", "string", "sys", "textwrap", "time", "typing", "unicodedata",
})
"""Modules whose functions and objects have no side effects in methods named as in `PURE_METHODS`."""

PURE_METHODS = {
    name: numbers
    for numbers, names in {
        (0, 0): "capitalize casefold copy isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle isupper "
        "items keys lower swapcase title upper values",
        (0, 1): "lstrip rstrip splitlines strip",
        (0, 2): "encode rsplit split",
        (0, 99): "difference format intersection union",
        (1, 1): "join partition rpartition translate zfill",
        (1, 2): "get",
        (1, 3): "count endswith find index rfind rindex startswith",
        (2, 3): "replace",
    }.items()
    for name in names.split()
}
"""Methods of builtin types, with their numbers of arguments, which exclude `queue.get()` and `thread.join()`."""

METHODS_WITH_KEYWORDS = frozenset({"encode", "format", "rsplit", "split", "splitlines"})

ITERATING_FUNCTIONS = frozenset({
    "all", "any", "dict", "enumerate", "filter", "frozenset", "list", "map", "max", "min", "set", "sorted", "sum",
    "tuple", "zip", "dist", "fsum", "prod", "sumprod",
})
# fmt: on
"""Functions that iterate over their arguments, and so consume iterators."""

ITERATING_METHODS = frozenset({"difference", "dist", "fsum", "intersection", "join", "prod", "sumprod", "union"})

PLAIN_ATTRIBUTES = frozenset(
    {
        "T",
        "shape",
        "size",
        "ndim",
        "dtype",
        "real",
        "imag",
        "numerator",
        "denominator",
        "__name__",
        "__class__",
    }
)
"""Attributes of numbers, types and numpy's arrays."""

ATTRIBUTE_HOOKS = frozenset({"__getattr__", "__getattribute__", "__get__"})
"""Methods that run when attributes are read."""

REPEATABLE_FUNCTIONS = frozenset({"len", "abs", "int", "float", "str", "ord", "chr"})


DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.JoinedStr, *COMPREHENSIONS)


class Purity:
    """The side effects of code in one program.

    Args:
        symbols: The `id` of every node that names a local variable.
        origins: Where every other name comes from, keyed by the `id` of its node.
    """

    def __init__(self, module: ast.Module, symbols: Set[int], origins: Mapping[int, str]) -> None:
        self._origins = origins
        self._symbols = symbols
        self._defined_attributes = set(_defined_attributes(module))
        self._imports_only_plain_modules = set(_imported_modules(module)) <= PLAIN_MODULES
        self._computed_attributes = frozenset(_computed_attributes(module))
        self._callees = {id(node.func) for node in walk(module) if isinstance(node, ast.Call)}
        self._adds_items = _uses_defaultdict(module) or "__missing__" in self._defined_attributes
        self._constants = constant_reads(module, symbols)
        self._sized_names = set(_sized_names(module))
        self._iteration_may_act = False  # read by `_creates_impure_iterator` in the next line
        self._iteration_may_act = any(map(self._creates_impure_iterator, walk(module)))
        self.distinguishes_exceptions = any(map(_may_suppress_exceptions, walk(module)))
        """True if the program may handle exceptions, and so depend on which exception is raised first."""

    def resolve(self, function: ast.AST) -> str:
        """Return the name of a builtin function, or the import statement of an imported function. Otherwise empty."""
        origin = self._origins.get(id(function), "")
        if isinstance(function, ast.Name) and origin == BUILTIN:
            return function.id
        return origin if origin.startswith(("import ", "from ")) else ""

    def is_pure(self, node: ast.AST) -> bool:
        """Return whether evaluating a node has no side effect, not counting its children.

        Consuming an iterator does not count as a side effect here. See `consumed_iterators`.
        """
        if self._iteration_may_act and self._consumed_names(node):
            return False
        match node:
            case ast.Call(func=ast.Name()):
                return self._is_pure_function(node.func) and all(map(self._may_be_callback, _passed_functions(node)))
            case ast.Call(func=ast.Attribute() as method):
                return self._is_math_function(method) or (
                    self._is_pure_method(method) and _has_matching_arity(node, method.attr)
                )
            case ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr() | ast.withitem():
                return False
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()) | ast.AsyncFor() | ast.AsyncWith():
                return False
            case ast.Attribute():
                return self._is_plain_attribute_read(node)
            case ast.Subscript(slice=index):
                return not self._adds_items or isinstance(index, ast.Slice)
        return True

    def is_atomic(self, node: ast.AST) -> bool:
        """Return whether a node is a constant or a name that other code cannot rebind.

        Such a node may be evaluated at any time. A local variable counts, because only its own function can assign it.
        """
        match node:
            case ast.Constant():
                return True
            case ast.Name():
                return id(node) in self._symbols | self._constants or self._origins.get(id(node)) == BUILTIN
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return True
        return False

    def is_repeatable(self, node: ast.AST) -> bool:
        """Return whether one evaluation of a node may replace several evaluations in a row."""
        mutable_types = (ast.List, ast.Dict, ast.Set, ast.Lambda, *COMPREHENSIONS)
        is_shareable = not any(isinstance(part, mutable_types) or not self._can_be_shared(part) for part in walk(node))
        return is_shareable and not self.consumed_iterators(node)

    def has_side_effects(self, node: ast.AST) -> bool:
        """Return whether evaluating code may have any side effect."""
        return not all(map(self.is_pure, walk(node)))

    def consumed_iterators(self, node: ast.AST) -> Names:
        """Return the variables that may be iterators and over which the code iterates."""
        return frozenset[str]().union(*map(self._consumed_names, walk(node)))

    def _consumed_names(self, node: ast.AST) -> Names:
        """Return the variables that may be iterators and over which a node itself iterates, without its children."""
        parts = [node, *node.generators] if isinstance(node, COMPREHENSIONS) else [node]
        iterables = [
            iterator
            for part in parts
            for expression in _consumed_expressions(part)
            for iterator in _iterators(expression)
        ]
        return names_read_in(*iterables) - self._sized_names

    def _creates_impure_iterator(self, node: ast.AST) -> bool:
        """Return whether iterating over an iterator that this node creates may have side effects."""
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.FunctionDef(name="__iter__" | "__next__"):
                return True
            case ast.GeneratorExp():
                return self.has_side_effects(node)
            case ast.Call(func=function) if self.resolve(function) in ("filter", "iter", "map"):
                return self.has_side_effects(node) and (self.resolve(function) != "iter" or len(node.args) > 1)
        return False

    def is_builtin_method(self, method: ast.Attribute) -> bool:
        """Return whether a method is of a builtin type, and the program defines no attribute of the same name."""
        if method.attr in self._defined_attributes:
            return False
        return (
            self._imports_only_plain_modules
            or isinstance(method.value, DISPLAYS)
            or self._is_text_or_type(method.value)
        )

    def _is_plain_attribute_read(self, node: ast.Attribute) -> bool:
        """Return whether reading an attribute runs no code. Reading a method to call it runs none."""
        if self._computed_attributes & {*ATTRIBUTE_HOOKS, node.attr}:
            return False
        is_builtin_method = node.attr in (MEMBERS if id(node) in self._callees else PLAIN_ATTRIBUTES)
        return is_builtin_method or node.attr in self._defined_attributes or self._belongs_to_module(node)

    def _belongs_to_module(self, node: ast.expr) -> bool:
        """Return whether an attribute is read from an imported module."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return self.resolve(node).startswith(("import ", "from "))

    def _is_text_or_type(self, receiver: ast.AST) -> bool:
        """Return whether a receiver is a constant, a builtin type, or the result of a pure builtin."""
        function = receiver.func if isinstance(receiver, ast.Call) else receiver
        return isinstance(receiver, ast.Constant) or self.resolve(function) in PURE_FUNCTIONS

    def _is_pure_function(self, function: ast.AST) -> bool:
        name = self.resolve(function)
        return name in PURE_FUNCTIONS or (name.startswith("from math import ") and " as " not in name)

    def _is_math_function(self, function: ast.Attribute) -> bool:
        return self.resolve(function.value) == "import math"

    def _is_pure_method(self, method: ast.Attribute) -> bool:
        return method.attr in PURE_METHODS and self.is_builtin_method(method)

    def _may_be_callback(self, function: ast.AST) -> bool:
        """Return whether a function may be called as a callback. The body of a lambda is checked elsewhere."""
        match function:
            case ast.Lambda() | ast.Constant(value=None):
                return True
            case ast.Attribute():
                return self._is_math_function(function) or self._is_pure_method(function)
        return self._is_pure_function(function)

    def _can_be_shared(self, node: ast.AST) -> bool:
        """Return whether the result of a node is immutable, so that several readers may share it."""
        if isinstance(node, ast.Call):
            return self.resolve(node.func) in REPEATABLE_FUNCTIONS
        return self.is_pure(node)


def _defined_attributes(module: ast.Module) -> Iterator[str]:
    """Yield the names of all attributes and methods that a program defines."""
    for node in walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.ClassDef):
            for part in walk(node):
                match part:
                    case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name):
                        yield name
                    case ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                        yield name


def _computed_attributes(module: ast.Module) -> Iterator[str]:
    """Yield the attributes of classes that may run code on access, and hooks such as `__getattr__`."""
    for node in (node for node in walk(module) if isinstance(node, ast.ClassDef)):
        for part in node.body:
            match part:
                case ast.FunctionDef(name=name, decorator_list=decorators):
                    if name in ATTRIBUTE_HOOKS or not all(map(_is_plain_decorator, decorators)):
                        yield name
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                    yield name


def _is_plain_decorator(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod")


def _imported_modules(module: ast.Module) -> Iterator[str]:
    """Yield the top-level module of each import, or an empty string for a relative import."""
    for node in walk(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=name, level=level):
                yield "" if level or name is None else name.partition(".")[0]


def _uses_defaultdict(module: ast.Module) -> bool:
    names = {alias.name for node in walk(module) if isinstance(node, IMPORTS) for alias in node.names}
    return "defaultdict" in names or any(
        isinstance(node, ast.Attribute) and node.attr == "defaultdict" for node in walk(module)
    )


def _has_matching_arity(call: ast.Call, method: str) -> bool:
    """Return whether a call passes as many arguments as a method takes."""
    minimum, maximum = PURE_METHODS[method]
    if call.keywords and method not in METHODS_WITH_KEYWORDS:
        return False
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return maximum > 3
    return minimum <= len(call.args) <= maximum


def is_file(item: ast.withitem) -> bool:
    """Return whether a context manager is a file, which never suppresses exceptions."""
    match item.context_expr:
        case ast.Call(func=ast.Name(id="open")):
            return True
    return False


def _may_suppress_exceptions(node: ast.AST) -> bool:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return not all(map(is_file, node.items))
    return isinstance(node, (ast.Try, ast.TryStar)) and bool(node.handlers)


def names_read_in(*nodes: ast.AST) -> Names:
    """Return the names that code reads."""
    return frozenset(
        part.id
        for node in nodes
        for part in walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Store)
    )


def _passed_functions(call: ast.Call) -> Iterator[ast.AST]:
    """Yield the functions that are passed to a builtin, such as `map`, which calls them."""
    if isinstance(call.func, ast.Name) and call.func.id in ("filter", "map"):
        yield from call.args[:1]
    yield from (keyword.value for keyword in call.keywords if keyword.arg == "key")


def _consumed_expressions(node: ast.AST) -> list[ast.expr]:
    """Return the expressions over which a node iterates."""
    match node:
        case ast.comprehension() | ast.For():
            return [node.iter]
        case ast.Assign(targets=targets) if not all(isinstance(target, ast.Name) for target in targets):
            return [node.value]
        case ast.Starred() | ast.YieldFrom():
            return [node.value]
        case ast.Compare() if any(isinstance(operator, ast.In | ast.NotIn) for operator in node.ops):
            return node.comparators
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_, _, *_]):
            return []
        case ast.Call(func=ast.Name(id=name)) if name in ITERATING_FUNCTIONS:
            return node.args
        case ast.Call(func=ast.Attribute(attr=name)) if name in ITERATING_METHODS:
            return node.args
    return []


def _iterators(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression that may be an existing iterator. Newly created iterators are left out."""
    match node:
        case ast.Name() | ast.Attribute():
            yield node
        case ast.Starred(value=inner):
            yield from _iterators(inner)
        case ast.Call(func=ast.Name(id=name), args=args) if name in ITERATING_FUNCTIONS:
            for argument in args:
                yield from _iterators(argument)


def _sized_names(module: ast.Module) -> Iterator[str]:
    """Yield the names that are subscripted or passed to `len`, and so are not iterators."""
    for node in walk(module):
        match node:
            case ast.Subscript(value=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
                yield name
