"""Code that may call its enclosing function recursively. Such code is not moved into a function of its own.

The new function would add a stack frame to each level of the recursion, so that a program that ran at a depth of 900
might exceed Python's recursion limit.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set

from atlas.learning.terms.scopes import BUILTIN, FUNCTIONS, TOOL
from atlas.learning.terms.standard import MEMBERS
from atlas.learning.terms.walking import walk

CONSTRUCTION_METHODS = frozenset(
    {"__init__", "__new__", "__post_init__", "__call__", "__init_subclass__", "__class_getitem__"}
)
"""Methods that run when the class is used. Other special methods are called by operators anywhere."""

CALLING_FIRST = frozenset({
    "map", "filter", "reduce", "partial", "starmap", "takewhile", "dropwhile", "filterfalse", "cmp_to_key",
    "vectorize", "apply_along_axis", "fromfunction", "frompyfunc", "defaultdict", "iter", "setdefault",
})  # fmt: skip
CALLING_SECOND = frozenset({"sub", "subn", "accumulate", "groupby"})
CALLING_KEYWORDS = frozenset({"key", "default", "default_factory", "func", "function"})
"""Keywords of callable arguments. The sets above name the functions that call their first or second argument."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


class CallGraph:
    """The functions of a program, and the functions that each may call.

    Args:
        symbols: The `id` of every node that names a local variable.
        origins: Where every other name comes from, keyed by the `id` of its node.
        parents: The parent of each node, and the field that contains the node, keyed by the node's `id`.
    """

    def __init__(
        self,
        module: ast.Module,
        symbols: Set[int],
        origins: Mapping[int, str],
        parents: Mapping[int, tuple[ast.AST, str]],
    ) -> None:
        self._symbols = symbols
        self._origins = origins
        self._parents = parents
        self._functions: dict[str, list[_Definition]] = defaultdict(list)
        self._classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for node in walk(module):
            if isinstance(node, _Definition):
                self._functions[node.name].append(node)
            elif isinstance(node, ast.ClassDef):
                self._classes[node.name].append(node)
        self._implicit_methods = [
            definition for name in self._functions if _is_implicit_method(name) for definition in self._functions[name]
        ]

    def may_recurse(self, nodes: Iterable[ast.AST], arguments: Set[int] = frozenset()) -> bool:
        """Return whether evaluating code may call a function that contains the code.

        Args:
            arguments: The `id` of each node in the code that would be evaluated before the call, as an argument.
        """
        code = list(nodes)
        enclosing = {id(function) for function in self._enclosing_functions(code[0])}
        if not enclosing:
            return False
        reached = dict.fromkeys(map(id, self._implicit_methods))
        queue: list[ast.AST] = list(self._implicit_methods)
        while True:
            for node in code:
                callees = self._callees(node, arguments)
                if callees is None:
                    return True
                queue += [callee for callee in callees if id(callee) not in reached]
                reached |= dict.fromkeys(map(id, callees))
            if enclosing & reached.keys():
                return True
            if not queue:
                return False
            code, queue, arguments = queue, [], frozenset()

    def _enclosing_functions(self, node: ast.AST) -> Iterator[ast.AST]:
        while id(node) in self._parents:
            node = self._parents[id(node)][0]
            if isinstance(node, FUNCTIONS):
                yield node

    def _callees(self, node: ast.AST, arguments: Set[int]) -> list[_Definition] | None:
        """Return the functions of the program that code may call, or None if it may call any function."""
        callees: list[_Definition] = []
        for part, is_early in _parts(node, arguments):
            if isinstance(part, ast.Call) and not is_early and self._may_run_unknown_code(part):
                return None
            if is_early and self._is_callee(part):
                callees += [definition for definition in self._definitions(part) if _is_generator(definition)]
            else:
                callees += self._definitions(part)
        return callees

    def _is_callee(self, node: ast.AST) -> bool:
        parent, field = self._parents.get(id(node), (None, ""))
        return isinstance(parent, ast.Call) and field == "func"

    def _definitions(self, node: ast.AST) -> list[_Definition]:
        """Return the functions of the program that a name or an attribute may refer to."""
        match node:
            case ast.Name(id=name) if id(node) not in self._symbols:
                pass
            case ast.Attribute(attr=name):
                pass
            case _:
                return []
        constructors = [
            method
            for definition in self._classes.get(name, ())
            for method in definition.body
            if _is_construction_method(method)
        ]
        bases = [
            method
            for definition in self._classes.get(name, ())
            for base in definition.bases
            for method in self._definitions(base)
        ]
        return [*self._functions.get(name, ()), *constructors, *bases]

    def _may_run_unknown_code(self, call: ast.Call) -> bool:
        """Return whether a call may run unknown code, because the function or a callback is unknown."""
        if not self._is_known_function(call.func):
            return True
        return any(not self._is_known_function(argument, is_callback=True) for argument in _callable_arguments(call))

    def _is_known_function(self, function: ast.expr, *, is_callback: bool = False) -> bool:
        """Return whether a function is known: a builtin, imported, or defined by the program.

        Args:
            is_callback: True for an argument of a call. An argument may also be a literal, which is never called.
        """
        match function:
            case ast.Lambda():
                return True  # its own calls are analysed with its body
            case ast.Constant() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
                return is_callback
            case ast.Name(id=name):
                origin = self._origins.get(id(function), "")
                if id(function) in self._symbols:
                    return False
                is_defined = name in self._functions or name in self._classes
                return is_defined or origin == BUILTIN or _is_defined_elsewhere(origin)
            case ast.Attribute(attr=name):
                return name in self._functions or name in MEMBERS or self._belongs_to_module(function)
        return False

    def _belongs_to_module(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and _is_defined_elsewhere(self._origins.get(id(node), ""))


def _parts(node: ast.AST, arguments: Set[int]) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the parts of code, each with whether it would be evaluated early, as an argument of the call.

    The bodies of lambdas and generators in an argument, and functions passed as callbacks, are evaluated later.
    """
    stack = [(node, id(node) in arguments)]
    while stack:
        part, is_early = stack.pop()
        yield part, is_early
        is_early = is_early and not isinstance(part, (ast.Lambda, ast.GeneratorExp))
        callee = part.func if isinstance(part, ast.Call) else None
        stack += [
            (child, is_early or (id(child) in arguments and child is not callee))
            for child in ast.iter_child_nodes(part)
        ]


def _callable_arguments(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the arguments of a call that the called function may call, judged by the function's name."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in CALLING_FIRST:
        yield from call.args[:1]
    if name in CALLING_SECOND:
        yield from call.args[1:2]
    yield from (keyword.value for keyword in call.keywords if keyword.arg in CALLING_KEYWORDS)


def _is_defined_elsewhere(origin: str) -> bool:
    """Return whether a name is defined outside the program: it is imported or a tool."""
    return origin == TOOL or origin.startswith(("import ", "from "))


def _is_implicit_method(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in CONSTRUCTION_METHODS


def _is_construction_method(method: ast.stmt) -> bool:
    return isinstance(method, _Definition) and method.name in CONSTRUCTION_METHODS


def _is_generator(function: _Definition) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in walk(function))
