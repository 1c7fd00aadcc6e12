"""Side issues of functions: an answer of its own for an empty argument, and the handing back of what was changed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from atlas.learning.naming.telling import Names, shown
from atlas.learning.search.forms.canonical import Form
from atlas.learning.search.forms.nodes import negated


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A function's work, told apart from the rest of what it does."""

    form: Form
    say: Callable[[Names], str]
    """End of a sentence that tells the rest, from the names of the parameters."""

    ending: str = ""
    """End of a name, where the rest changes what a caller has to give."""

    returned: str = ""
    """The parameter that the rest returns, or nothing where it returns something else."""


def asides_of(form: Form) -> Iterator[Aside]:
    """Yield the function as it is, then without what it does beside its work."""
    yield Aside(form=form, say=lambda names: "")
    without = _without_guard(form)
    if without is not None:
        yield without
    handing = _without_handing_back(form if without is None else without.form)
    if handing is not None:
        yield replace(handing, say=_both(without, handing), ending=without.ending if without is not None else "")


def _both(first: Aside | None, second: Aside) -> Callable[[Names], str]:
    """Return what says both, or the second alone where the first returns the same."""
    if first is None or (first.returned and first.returned == second.returned):
        return second.say
    return lambda names: first.say(names) + second.say(names)


def _without_guard(form: Form) -> Aside | None:
    """Return a function without its answer for an empty argument."""
    guard = _guard_of(form.body)
    if guard is None or guard.name not in form.parameters:
        return None
    answer = guard.answer
    returned = answer.id if isinstance(answer, ast.Name) else ""
    return Aside(
        form=replace(form, body=guard.rest),
        say=lambda names: f", or returns `{shown(answer, names)}` where `{names(guard.name)}` is empty",
        ending="_with_default" if returned and returned != guard.name else "",
        returned=returned,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guard:
    """The answer that a function gives for an empty argument, and the rest of it."""

    name: str
    answer: ast.expr
    rest: list[ast.stmt]


def _guard_of(body: list[ast.stmt]) -> _Guard | None:
    match body:
        case [ast.Return(value=ast.IfExp(test=test, body=one, orelse=other))]:
            if _empty(test):
                return _guard(test, one, [ast.Return(other)])
            return _guard(negated(test), other, [ast.Return(one)])
        case [ast.Return(value=ast.BoolOp(op=operator, values=[test, *others]))]:
            is_or = isinstance(operator, ast.Or)
            rest = others[0] if len(others) == 1 else ast.BoolOp(operator, others)
            return _guard(test if is_or else negated(test), ast.Constant(is_or), [ast.Return(rest)])
        case [ast.If(test=test, body=[ast.Return(value=value)], orelse=[]), *following] if following:
            return _guard(test, value or ast.Constant(None), following)
    return None


def _guard(test: ast.expr, answer: ast.expr, rest: list[ast.stmt]) -> _Guard | None:
    name = _empty(test)
    if not name or not isinstance(answer, ast.Constant | ast.Name | ast.List):
        return None
    return _Guard(name=name, answer=answer, rest=rest)


def _empty(test: ast.expr) -> str:
    """Return the name that a test finds empty."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="bool"), args=[ast.Name(id=name)])):
            return name
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]),
            ops=[ast.LtE()],
            comparators=[ast.Constant(value=0)],
        ):
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


def _without_handing_back(form: Form) -> Aside | None:
    """Return a function that changes an argument without its returning that argument."""
    match form.body:
        case [*rest, ast.Return(value=ast.Name(id=name))] if rest and name in form.parameters:
            return Aside(
                form=replace(form, body=list(rest)),
                say=lambda names: f", and returns `{names(name)}`",
                returned=name,
            )
    return None
