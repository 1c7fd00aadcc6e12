"""Source code of functions made from abstractions, and of the programs that call them."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.learning.analysis.dataflow import Interface, Parameter, find_imports
from atlas.learning.analysis.occurrences import Occurrence
from atlas.learning.terms.codec import Decoder
from atlas.learning.terms.heads import END, SYMBOL_SORT, THEN, read_head, unescape
from atlas.learning.terms.imports import merge_imports, remove_unread_imports
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import SYMBOL, Term, hole_number, is_call


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """An abstraction that is a Python function."""

    pattern: Pattern
    interface: Interface
    name: str
    """The function's identifier in the code."""

    names: Mapping[int, str] = field(default_factory=dict)
    """Name of each hole in the function's source code, keyed by the number of the hole."""

    is_async: bool = False
    """True if the code awaits, so that the function is an `async def` and its calls are awaited."""


def name_holes(pattern: Pattern, interface: Interface, occurrences: Sequence[Occurrence]) -> dict[int, str]:
    """Return a name for each hole, keyed by the hole's number: the name that the programs use most often."""
    reserved = {*_global_names(pattern.body), *keyword.kwlist, *dir(builtins)}
    names: dict[int, str] = {}
    for index, sort in enumerate(pattern.hole_sorts):
        if sort == SYMBOL_SORT:
            candidates = Counter(occurrence.symbols[index] for occurrence in occurrences if index in occurrence.symbols)
            names[index] = _reserve_name(candidates.most_common(1)[0][0] if candidates else "variable", reserved)
    for parameter in interface.parameters:
        if parameter.hole not in names:
            names[parameter.hole] = _reserve_name(_preferred_name(parameter, pattern.body, occurrences), reserved)
    return names


def _preferred_name(parameter: Parameter, body: Term, occurrences: Sequence[Occurrence]) -> str:
    """Return the name of the variable that at least half of the uses pass, otherwise `function` or `value`."""
    if parameter.callback_holes is not None or _is_called(parameter.hole, body):
        return "function"
    candidates = Counter[str]()
    for occurrence in occurrences:
        for term in occurrence.holes[parameter.hole][:1]:
            symbols = [child.head for child in term.children[:1] if child.head.startswith(SYMBOL)]
            if symbols and read_head(term.head).name == "Name":
                candidates[unescape(symbols[0].removeprefix(SYMBOL))] += 1
    name, count = candidates.most_common(1)[0] if candidates else ("", 0)
    return name if 2 * count >= len(occurrences) else "value"


def _is_called(hole: int, body: Term) -> bool:
    """Return whether the code calls the value of a hole."""
    return any(term.head.startswith("e:Call/") and hole_number(term.children[0].head) == hole for term in body.walk())


def _reserve_name(base: str, reserved: set[str]) -> str:
    """Return a free name, which is the base or the base with a number, and reserve it."""
    name, number = base, 2
    while name in reserved:
        name, number = f"{base}_{number}", number + 1
    reserved.add(name)
    return name


def _global_names(body: Term) -> set[str]:
    """Return the names in a body that are not local variables."""
    return {
        str(read_head(term.head).parts[0].scalars[0])
        for term in body.walk()
        if term.head.startswith(("e:Name/=", "lvalue:Name/="))
    }


class Renderer(Decoder):
    """A decoder of terms that call abstractions.

    Args:
        functions: Functions, keyed by the head of their calls.
        function: The function whose body is decoded, or None for a program.
    """

    def __init__(self, functions: Mapping[str, Function], function: Function | None = None) -> None:
        self._functions = functions
        self._function = function
        self._parameters = (
            {} if function is None else {parameter.hole: parameter for parameter in function.interface.parameters}
        )

    def node(self, term: Term) -> Any:
        """Return the node, as `Decoder.node` does."""
        index = hole_number(term.head)
        if index is not None:
            return self._render_hole(index)
        return self._render_call(term) if is_call(term) else super().node(term)

    def symbol(self, term: Term) -> str:
        """Return the name of a variable, as `Decoder.symbol` does."""
        index = hole_number(term.head)
        if index is None or self._function is None:
            return super().symbol(term)
        return self._function.names[index]

    def statements(self, term: Term) -> list[ast.stmt]:
        """Return the statements, as `Decoder.statements` does."""
        return self._render_call_statements(term) if is_call(term) else super().statements(term)

    def rest(self, term: Term) -> list[ast.stmt]:
        """Return the statements, as `Decoder.rest` does. A hole for the rest of the block gives no statements."""
        if hole_number(term.head) is not None:
            return []
        return self._render_call_statements(term) if is_call(term) else super().rest(term)

    def _render_hole(self, index: int) -> ast.expr:
        assert self._function is not None
        name = ast.Name(self._function.names[index], ast.Load())
        callback_holes = self._parameters[index].callback_holes
        if callback_holes is None:
            return name
        return ast.Call(name, [self._variable_node(number) for number in callback_holes], [])

    def _variable_node(self, index: int) -> ast.Name:
        assert self._function is not None
        return ast.Name(self._function.names[index], ast.Load())

    def _render_call(self, term: Term) -> ast.Call | ast.Await:
        function = self._functions[term.head]
        arguments = [self._render_argument(parameter, term, function) for parameter in function.interface.parameters]
        call = ast.Call(ast.Name(function.name, ast.Load()), arguments, [])
        return ast.Await(call) if function.is_async else call

    def _render_argument(self, parameter: Parameter, term: Term, function: Function) -> ast.expr:
        child = term.children[parameter.hole]
        if function.pattern.hole_sorts[parameter.hole] == SYMBOL_SORT:
            return ast.Name(self.symbol(child), ast.Load())
        expression: ast.expr = self.node(child)
        if parameter.callback_holes is None:
            return expression
        names = [ast.arg(self.symbol(term.children[index])) for index in parameter.callback_holes]
        arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(arguments, expression)

    def _render_call_statements(self, term: Term) -> list[ast.stmt]:
        """Return the statement that calls a function, and the statements that follow it in the block."""
        interface = self._functions[term.head].interface
        call = self._render_call(term)
        rest = None if interface.rest is None else term.children[interface.rest]
        targets: list[ast.expr] = [
            ast.Name(self.symbol(term.children[index]), ast.Store()) for index in interface.outputs
        ]
        statement: ast.stmt
        if interface.returns:
            statement = ast.Return(call)
        elif (
            len(targets) == 1 and rest is not None and (following := self._inline_into_next_statement(term, rest, call))
        ):
            return [*following, *self.block(rest.children[1])]
        elif targets:
            statement = ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], call)
        else:
            statement = ast.Expr(call)
        return [statement] if rest is None else [statement, *self.block(rest)]

    def _inline_into_next_statement(self, term: Term, rest: Term, call: ast.expr) -> list[ast.stmt] | None:
        """Return the statement after a call, with the call in place of the variable to which its result is assigned.

        The result is None unless three conditions are met. The statement has the only read of the variable. The
        statement evaluates nothing before that read. The block always leaves its function, because otherwise a loop
        around the block could read the variable again.
        """
        output = term.children[self._functions[term.head].interface.outputs[0]]
        if not rest.head.startswith(THEN):
            return None
        statement = rest.children[0]
        if _first_evaluated_part(statement) != Term(_NAME_HEAD, [output]):
            return None
        if sum(part == output for part in rest.walk()) > 1 or not self._always_returns(rest):
            return None
        replacement = _Replacement(self.symbol(output), call)
        return [replacement.visit(node) for node in self.statements(statement)]

    def _always_returns(self, rest: Term) -> bool:
        """Return whether the rest of a block always returns or raises, without `break` or `continue`."""
        if _may_leave_loop(rest):
            return False
        last_link = rest
        while rest.head.startswith(THEN):
            last_link, rest = rest.children
        if not is_call(rest):
            return rest.head == END and last_link.head.startswith(_EXITS)
        interface = self._functions[rest.head].interface
        return interface.returns or (interface.rest is not None and self._always_returns(rest.children[interface.rest]))


_NAME_HEAD = "e:Name/sym"
_EXITS, _JUMPS = ("s:Return/", "s:Raise/"), ("s:Break", "s:Continue")
_LOOPS = {"s:For/": 3, "s:AsyncFor/": 3, "s:While/": 2}
"""Number of a loop's children before its `else` block, keyed by the beginning of the loop's head."""

_CONSTANT, _ATTRIBUTE, _NAME = "e:Constant/", "e:Attribute/", "e:Name/"
_FIRST_EVALUATED = {
    **dict.fromkeys(("s:Return/e", "s:Expr/e", "s:If/e"), slice(0, 1)),
    **dict.fromkeys(("e:UnaryOp/", _ATTRIBUTE, "e:BoolOp/", "e:IfExp/"), slice(0, 1)),
    **dict.fromkeys(("e:BinOp/", "e:Compare/", "e:Subscript/"), slice(0, 2)),
    **dict.fromkeys(("e:Tuple/", "e:List/"), slice(0, None)),
    "s:Assign/": slice(-1, None),
    **dict.fromkeys(("s:For/", "gen:comprehension/"), slice(1, 2)),
    **dict.fromkeys(("e:ListComp/", "e:SetComp/", "e:GeneratorExp/"), slice(1, 2)),
    "e:DictComp/": slice(2, 3),
}
"""Children that are always evaluated, in order, keyed by the beginning of the head of a statement or expression."""


def _may_leave_loop(term: Term) -> bool:
    """Return whether code contains a `break` or `continue` of an enclosing loop."""
    n_loop_parts = next((n_parts for head, n_parts in _LOOPS.items() if term.head.startswith(head)), 0)
    return term.head.startswith(_JUMPS) or any(map(_may_leave_loop, term.children[n_loop_parts:]))


def _first_evaluated_part(term: Term) -> Term | None:
    """Return the innermost part of a term that is evaluated first. Constants do not count. None if it is unknown."""
    part: Term | None = term
    while part is not None and part.head != _NAME_HEAD and not part.has_holes:
        part = next((child for child in _parts_in_order(part) if not child.head.startswith(_CONSTANT)), None)
    return part


def _parts_in_order(term: Term) -> Sequence[Term]:
    """Return the children of a term that are always evaluated, in order. Empty if the order is unknown."""
    if term.head.startswith("e:Call/"):
        function, *arguments = term.children
        if function.head.startswith(_ATTRIBUTE) and not function.children[0].head.startswith(_CONSTANT):
            return [function]
        return arguments if function.head.startswith((_ATTRIBUTE, _NAME)) else []
    return next((term.children[parts] for head, parts in _FIRST_EVALUATED.items() if term.head.startswith(head)), [])


class _Replacement(ast.NodeTransformer):
    """A transformer that replaces each read of a variable by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name = name
        self._value = value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value if the name is that of the variable."""
        return self._value if node.id == self._name else node


def program_source(term: Term, functions: Mapping[str, Function], removable: frozenset[str] = frozenset()) -> str:
    """Return the source of a program that calls functions. The functions themselves are not included.

    Args:
        removable: Names whose imports are left out if the program does not use them.
    """
    return _unparse(remove_unread_imports(Renderer(functions).node(term), removable))


def function_source(function: Function, functions: Mapping[str, Function]) -> str:
    """Return the source of a function. The functions that it calls are not included."""
    arguments = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(function.names[parameter.hole]) for parameter in function.interface.parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    imports = ast.parse("\n".join(merge_imports(find_imports(function.pattern.body)))).body
    node_type = ast.AsyncFunctionDef if function.is_async else ast.FunctionDef
    definition = node_type(
        name=function.name,
        args=arguments,
        body=[*imports, *function_body(function, functions)],
        decorator_list=[],
        lineno=1,
    )
    return _unparse(ast.Module(body=[definition], type_ignores=[]))


def function_body(function: Function, functions: Mapping[str, Function]) -> list[ast.stmt]:
    """Return the statements of a function, without imports."""
    renderer = Renderer(functions, function)
    if function.interface.is_expression:
        return [ast.Return(renderer.node(function.pattern.body))]
    body = function.pattern.body
    statements = renderer.statements(body) if function.pattern.sort == "s" else renderer.block(body)
    outputs = [function.names[index] for index in function.interface.outputs]
    match statements, outputs:
        case _, []:
            return statements
        case [*preceding, ast.Assign(targets=[ast.Name(id=target)], value=value)], [output] if target == output:
            return [*preceding, ast.Return(value)]
    names: list[ast.expr] = [ast.Name(output, ast.Load()) for output in outputs]
    return [*statements, ast.Return(names[0] if len(names) == 1 else ast.Tuple(names, ast.Load()))]


def body_source(function: Function, functions: Mapping[str, Function]) -> str:
    """Return the source of a function's body, for counting its tokens."""
    return _unparse(ast.Module(body=function_body(function, functions), type_ignores=[]))


def _unparse(module: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(module))
