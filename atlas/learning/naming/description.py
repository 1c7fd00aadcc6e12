"""English descriptions of code, operation by operation."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence

from atlas.learning.rewrite.rename import Renamer
from atlas.learning.search.forms.nodes import count_names, is_nested_deeply

MAX_STEPS = 4
"""Operations that are described one by one."""

MAX_CHARACTERS = 60
"""Longest piece of code that is quoted."""

MAX_SENTENCE_CHARACTERS = 400

DisplayName = Callable[[str], str]
"""Function that returns the display name of a parameter."""

Show = Callable[[ast.AST], str]

_ADDITION_PHRASES = {
    "append": "adds {} to {}",
    "add": "adds {} to {}",
    "extend": "adds each of {} to {}",
    "remove": "removes {} from {}",
}


def describe(body: Sequence[ast.stmt], display_name: DisplayName) -> str:
    """Return a sentence on the operations of a function, without its full stop."""
    if is_nested_deeply(body):
        return "Does too much to be described step by step"
    shown_names = {name: display_name(name) for name in count_names(body)}

    def show(node: ast.AST) -> str:
        renamed = Renamer(shown_names).visit(copy.deepcopy(node))
        text = " ".join(ast.unparse(ast.fix_missing_locations(renamed)).split())
        return f"`{text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + '…'}`"

    sentence = _describe_steps(body, show)
    shortened = sentence if len(sentence) <= MAX_SENTENCE_CHARACTERS else f"{sentence[: MAX_SENTENCE_CHARACTERS - 1]}…"
    return shortened[:1].upper() + shortened[1:]


def _describe_steps(body: Sequence[ast.stmt], show: Show) -> str:
    steps = [step for step in (_describe_step(statement, show) for statement in body) if step]
    rest = (
        [f"{len(steps) - MAX_STEPS} more steps, and {steps[-1]}"] if len(steps) > MAX_STEPS + 1 else steps[MAX_STEPS:]
    )
    return ", ".join([*steps[:MAX_STEPS], *rest])


def _describe_step(statement: ast.stmt, show: Show) -> str:
    return _describe_simple_statement(statement, show) or _describe_compound_statement(statement, show)


def _describe_simple_statement(statement: ast.stmt, show: Show) -> str:
    match statement:
        case ast.Return(value=value):
            return f"returns {show(value)}" if value is not None else "returns"
        case ast.Assign(targets=[target, *_], value=value):
            return f"sets {show(target)} to {show(value)}"
        case ast.AugAssign(target=target, op=operator, value=value):
            if isinstance(operator, ast.Add):
                return f"adds {show(value)} to {show(target)}"
            return f"changes {show(target)} by {show(statement)}"
        case ast.Expr(value=value):
            return _describe_call(value, show)
        case ast.Raise(exc=ast.expr() as error):
            return f"raises {show(error)}"
        case ast.Continue() | ast.Break():
            return "stops" if isinstance(statement, ast.Break) else "goes on with the next"
    return ""


def _describe_compound_statement(statement: ast.stmt, show: Show) -> str:
    match statement:
        case ast.For(target=target, iter=items, body=body):
            return f"for each {show(target)} of {show(items)} {_describe_steps(body, show)}"
        case ast.While(test=test, body=body):
            return f"as long as {show(test)} {_describe_steps(body, show)}"
        case ast.If(test=test, body=body, orelse=else_body):
            otherwise = f", else {_describe_steps(else_body, show)}" if else_body else ""
            return f"if {show(test)} {_describe_steps(body, show)}{otherwise}"
        case ast.With(items=[first, *_], body=body):
            return f"with {show(first.context_expr)} {_describe_steps(body, show)}"
        case ast.Try(body=body):
            return f"tries: {_describe_steps(body, show)}"
        case ast.FunctionDef(name=name):
            return f"defines a function `{name}`"
    return ""


def _describe_call(value: ast.expr, show: Show) -> str:
    match value:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[argument], keywords=[]) if (
            method in _ADDITION_PHRASES
        ):
            return _ADDITION_PHRASES[method].format(show(argument), show(owner))
        case ast.Constant():
            return ""
    return f"calls {show(value)}"
