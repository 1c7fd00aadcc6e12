"""Names derived from code: what a function does, as the verb of its name, from the shape of what it returns."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from atlas.core.words import words
from atlas.learning.terms.names import Function, parameters_of

TELLS, MAKES, CHANGES = "tells", "makes", "changes"

_CALLS = {
    **{"sum": "sum", "len": "count", "sorted": "sort", "max": "largest", "min": "smallest", "set": "distinct"},
    **{"zip": "pair", "reversed": "reverse", "enumerate": "number", "abs": "distance", "round": "round", "ord": "code"},
    **{"int": "whole", "float": "number", "str": "text", "bin": "binary", "hex": "hexadecimal", "Counter": "count"},
    **{"join": "join", "split": "split", "replace": "replace", "lower": "lowercase", "upper": "uppercase"},
    **{"strip": "strip", "count": "count", "index": "position", "find": "position", "get": "look_up", "sqrt": "root"},
    **{"findall": "find", "sub": "substitute", "filter": "select", "map": "map", "range": "range", "dict": "map"},
    **{"gcd": "divisor", "pow": "power", "prod": "product", "most_common": "most_common", "sort": "sort"},
    **{"title": "title", "items": "items", "keys": "keys", "values": "values", "append": "append", "extend": "extend"},
    **{
        "combinations": "combine",
        "permutations": "permute",
        "product": "combine",
        "chain": "join",
        "accumulate": "sum",
    },
}
_UNWRAPPED = ("list", "tuple", "next", "iter")
_TELLING = ("all", "any", "isinstance", "bool", "hasattr", "callable", "issubset", "issuperset", "match", "fullmatch")
_OPERATORS: dict[type[ast.operator], str] = {
    **{ast.Add: "add", ast.Sub: "difference", ast.Mult: "product", ast.Div: "ratio", ast.FloorDiv: "quotient"},
    **{ast.Mod: "remainder", ast.Pow: "power", ast.BitAnd: "common", ast.BitOr: "join", ast.BitXor: "xor"},
    **{ast.LShift: "shift", ast.RShift: "shift", ast.MatMult: "product"},
}
_SAID = {
    **{"sum": "Adds up", "count": "Counts", "sort": "Sorts", "largest": "Finds the largest of"},
    **{"smallest": "Finds the smallest of", "distinct": "Keeps the distinct ones of", "reverse": "Reverses"},
    **{"select": "Selects from", "collect": "Collects from", "map": "Maps each of", "join": "Joins", "split": "Splits"},
    **{"product": "Multiplies", "remainder": "Computes the remainder of", "difference": "Computes the difference of"},
    **{"ratio": "Computes the ratio of", "power": "Raises to a power", "first": "Takes the first of"},
    **{"last": "Takes the last of", "item": "Takes one of", "part": "Takes a part of", "pair": "Pairs up"},
    **{"replace": "Replaces in", "find": "Finds in", "position": "Finds the position in", "update": "Changes"},
    **{"print": "Prints"},
}
_INGREDIENTS = {
    **{"len": "length", "bin": "binary", "hex": "hexadecimal", "range": "range", "set": "distinct"},
    **{"int": "whole", "str": "text", "ord": "code", "chr": "letter", "zip": "pairs", "enumerate": "positions"},
    **{"abs": "distance", "sum": "sum", "max": "largest", "min": "smallest", "round": "rounded", "list": "items"},
    **{"pow": "power", "divmod": "digits", "filter": "selected", "map": "mapped", "dict": "mapping"},
}
VAGUE = frozenset(
    "add choose combine compute difference item make number product set text whole".split()  # noqa: SIM905
)
"""Verbs that say less than a word which the uses share."""
_METHOD = re.compile(r"^(?:is|has|starts|ends)([a-z]+)$")


@dataclass(frozen=True, slots=True)
class Doing:
    """The work of a function."""

    kind: str
    """One of `tells` (true or false), `makes` (a value) and `changes` (what it is given)."""

    verb: str
    """Verb such as `sum` or `select`. Of one that tells, an adjective where the code has one, else empty."""

    returned: str = ""
    """Expression that it returns, where it does nothing else."""

    @property
    def is_noun(self) -> bool:
        """True if the verb rather names what is made, as in `range of`."""
        return self.kind == MAKES and self.verb not in _SAID and self.verb not in VAGUE

    def said(self, of: str, name: str) -> str:
        """Return one sentence, without the stop, on the function of this name."""
        if self.kind == TELLS:
            return f"Tells whether {of} is {name.removeprefix('is_').replace('_', ' ')}"
        if self.verb in _SAID:
            return f"{_SAID[self.verb]} {of}"
        is_told = not name.startswith(self.verb)
        if self.verb in VAGUE and not is_told:
            return f"Computes a value from {of}"
        return f"Computes the {(name if is_told else self.verb).replace('_', ' ')} of {of}"


def doing(function: Function) -> Doing:
    """Return what a function does, as far as the shape of its code says it."""
    returns = [node.value for node in _own(function) if isinstance(node, ast.Return) and node.value is not None]
    only = function.body[0] if len(function.body) == 1 else None
    returned = ast.unparse(only.value) if isinstance(only, ast.Return) and only.value is not None else ""
    if not returns:
        return Doing(CHANGES, _changing(function))
    if all(map(_is_telling, returns)):
        return Doing(TELLS, _adjective(returns), returned)
    return Doing(MAKES, _made(returns[-1], function), returned)


def called(function: Function) -> list[str]:
    """Return the functions and methods that the code calls, builtins and their methods aside, in order, each once."""
    names = [_callee(node) for node in ast.walk(function) if isinstance(node, ast.Call)]
    own = {function.name, *parameters_of(function)}
    common = {*own, *dir(builtins), *(name for kind in (str, list, dict, set) for name in dir(kind))}
    return list(dict.fromkeys(name for name in names if name and name not in common))


def changed(function: Function) -> str:
    """Return the first parameter that the code puts something into, empty where there is none."""
    given = parameters_of(function)
    for node in _own(function):
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) | ast.Attribute(value=ast.Name(id=name)):
                if name in given:
                    return name
    return ""


def ingredients(function: Function) -> list[str]:
    """Return words for the builtins that the code calls, in order, each once."""
    names = [_callee(node) for node in ast.walk(function) if isinstance(node, ast.Call)]
    return list(dict.fromkeys(_INGREDIENTS[name] for name in names if name in _INGREDIENTS))


def _own(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of the functions in it."""
    waiting: list[ast.AST] = list(reversed(function.body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _callee(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _is_telling(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=bool()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return any(map(_is_telling, values))
        case ast.Call():
            name = _callee(value)
            return name in _TELLING or bool(_METHOD.match(name) or re.match(r"(is|has)_", name))
    return False


def _adjective(returns: list[ast.expr]) -> str:
    """Return what something is told to be, where the code has a word for it."""
    nodes = (node for value in returns for node in ast.walk(value))
    told = (_of_telling_call(node) if isinstance(node, ast.Call) else _of_comparison(node) for node in nodes)
    return next((word for word in told if word), "")


def _of_telling_call(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id=kind)]):
            return kind.lower()
        case ast.Call(func=ast.Attribute(attr=name)) if found := _METHOD.match(name):
            return found[1] if name.startswith(("is", "has")) else name.replace("with", "_with")
    return ""


def _of_comparison(node: ast.AST) -> str:
    match node:
        case ast.Compare(comparators=[ast.Subscript(slice=ast.Slice(step=ast.UnaryOp()))]):
            return "palindrome"
        case ast.Compare(left=ast.BinOp(op=ast.Mod()), ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return "multiple"
        case ast.Compare(comparators=[ast.Call(func=ast.Name(id="sorted"))]):
            return "sorted"
        case ast.Compare(ops=[ast.LtE() | ast.Lt(), ast.LtE() | ast.Lt()]):
            return "between"
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return "member"
    return ""


_DISPLAYS: dict[type[ast.expr], str] = {
    **{ast.SetComp: "distinct", ast.Set: "distinct", ast.Dict: "map", ast.DictComp: "map"},
    **{ast.IfExp: "choose", ast.Tuple: "make", ast.List: "make", ast.JoinedStr: "text"},
}


def _made(value: ast.expr, function: Function) -> str:
    """Return the verb for making a value."""
    match value:
        case ast.Name(id=name):
            return _gathered(name, function)
        case ast.Call(args=[inner, *_]) if _callee(value) in _UNWRAPPED:
            return _made(inner, function)
        case ast.Call():
            return _of_call(value, function)
        case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
            return "select" if any(generator.ifs for generator in generators) else "map"
        case ast.BinOp(op=operator):
            return _OPERATORS.get(type(operator), "combine")
        case ast.Subscript(slice=position):
            return _taken(position)
    return _DISPLAYS.get(type(value), "compute")


def _of_call(call: ast.Call, function: Function) -> str:
    name = _callee(call)
    inner = call.args[0] if call.args else None
    if name in ("sum", "len") and isinstance(inner, ast.ListComp | ast.GeneratorExp):
        is_ones = isinstance(inner.elt, ast.Constant)
        return "count" if name == "len" or is_ones else "sum"
    if name == function.name:
        return "compute"
    return _CALLS.get(name, "_".join(name.strip("_").lower().split("_")[:2]) or "compute")


def _taken(position: ast.expr) -> str:
    match position:
        case ast.Slice(step=ast.UnaryOp(op=ast.USub())):
            return "reverse"
        case ast.Slice():
            return "part"
        case ast.Constant(value=0):
            return "first"
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return "last"
    return "item"


def _gathered(name: str, function: Function) -> str:
    """Return the verb for a variable that is returned, by how it came to its value."""
    assigned: ast.expr | None = None
    for node in _own(function):
        match node:
            case ast.AugAssign(target=ast.Name(id=target), op=operator, value=value) if target == name:
                if isinstance(operator, ast.Add):
                    return "count" if isinstance(value, ast.Constant) and value.value == 1 else "sum"
                return _OPERATORS.get(type(operator), "combine")
            case ast.Call(func=ast.Attribute(value=ast.Name(id=target), attr="append" | "add" | "extend")):
                if target == name:
                    return "select" if any(isinstance(held, ast.If) for held in _own(function)) else "collect"
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=target))], value=value) if target == name:
                return "count" if isinstance(value, ast.BinOp) else "map"
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                assigned = value
    is_other = assigned is not None and not isinstance(assigned, ast.Name | ast.Constant)
    return _made(assigned, function) if assigned is not None and is_other else _noun(name) or "compute"


def _noun(name: str) -> str:
    """Return a variable's own name where it is a word."""
    return "_".join(name.lower().split("_")[:2]) if words(name) else ""


def _changing(function: Function) -> str:
    calls = [node for node in _own(function) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    names = [_callee(node.value) for node in calls if isinstance(node.value, ast.Call)]
    if "print" in names:
        return "print"
    return next((_CALLS[name] for name in names if name in _CALLS), "update")
