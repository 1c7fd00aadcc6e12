"""Side issues of functions: an answer of its own for an empty argument, and the handing back of what was changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from atlas.learning.naming.forms.canonical import Form


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A function's work, told apart from the rest of what it does."""

    form: Form
    say: Callable[[Callable[[str], str]], str]
    """End of a sentence that tells the rest, from the names of the parameters."""


def asides_of(form: Form) -> Iterator[Aside]:
    """Yield the function as it is, then without what it does beside its work."""
    yield Aside(form=form, say=lambda names: "")
    without = _without_guard(form)
    if without is not None:
        yield without
    handing = _without_handing_back(form if without is None else without.form)
    if handing is not None:
        yield Aside(form=handing.form, say=_both(without, handing))


def _both(first: Aside | None, second: Aside) -> Callable[[Callable[[str], str]], str]:
    return lambda names: (first.say(names) if first is not None else "") + second.say(names)


def _without_guard(form: Form) -> Aside | None:
    """Return a function without its answer for an empty argument."""
    match form.body:
        case [ast.Return(value=ast.IfExp(test=test, body=body, orelse=other))]:
            name, answer, rest = _empty(test), body, [ast.Return(other)]
            if not name:
                name, answer, rest = _filled(test), other, [ast.Return(body)]
        case [ast.Return(value=ast.BoolOp(op=operator, values=[test, *others]))]:
            is_or = isinstance(operator, ast.Or)
            name, answer = (_empty(test) if is_or else _filled(test)), ast.Constant(is_or)
            rest = [ast.Return(others[0] if len(others) == 1 else ast.BoolOp(operator, others))]
        case [ast.If(test=test, body=[ast.Return(value=value)], orelse=[]), *following] if following:
            name, answer, rest = _empty(test), value or ast.Constant(None), following
        case _:
            return None
    if name not in form.parameters or not isinstance(answer, ast.Constant | ast.Name | ast.List):
        return None
    told = ast.unparse(answer)
    shows = isinstance(answer, ast.Name) and answer.id in form.parameters
    return Aside(
        form=replace(form, body=list(rest)),
        say=lambda names: f", and gives `{names(told) if shows else told}` if `{names(name)}` is empty",
    )


def _empty(test: ast.expr) -> str:
    """Return the name that a test finds empty."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            return name
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.List(elts=[]) | ast.Constant(value="")]
        ):
            return name
    return ""


def _filled(test: ast.expr) -> str:
    """Return the name that a test finds not empty."""
    match test:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="bool"), args=[ast.Name(id=name)]):
            return name
        case ast.Compare(
            left=ast.Constant(value=0),
            ops=[ast.Lt()],
            comparators=[ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])],
        ):
            return name
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]),
            ops=[ast.NotEq()],
            comparators=[ast.Constant(value=0)],
        ):
            return name
    return ""


def _without_handing_back(form: Form) -> Aside | None:
    """Return a function that changes an argument without its returning that argument."""
    match form.body:
        case [*rest, ast.Return(value=ast.Name(id=name))] if rest and name in form.parameters:
            return Aside(form=replace(form, body=list(rest)), say=lambda names: f", and returns `{names(name)}`")
    return None
