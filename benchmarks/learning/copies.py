"""Copies of programs that do the same under other names for their variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice

from atlas.core.errors import InvalidInput
from atlas.learning.rewrite.rename import rename_identifiers
from atlas.learning.terms.names import RESERVED_NAMES
from atlas.learning.terms.parsing import parse
from atlas.learning.terms.programs import Program
from atlas.learning.terms.scopes import FUNCTIONS, own_nodes


def repeated(programs: Sequence[Program], n: int) -> list[Program]:
    """Return n programs: those given, then copies of them, each of a task of its own."""
    return list(islice(_rounds(programs), n)) if programs else []


def _rounds(programs: Sequence[Program]) -> Iterator[Program]:
    yield from programs
    for number in count(2):
        yield from (copy(program, number) for program in programs)


def copy(program: Program, number: int) -> Program:
    """Return a program that does the same, with a number after each of its variables that can have another name."""
    source = program.source
    for name in sorted(variables(program)):
        try:
            source = rename_identifiers(source, {name: f"{name}_{number}"})
        except InvalidInput:  # it is passed by name, for one
            continue
    return replace(program, id=f"{program.id}#{number}", task_id=f"{program.task_id}#{number}", source=source)


def variables(program: Program) -> set[str]:
    """Return the local names of a program's functions, which can be renamed freely."""
    tree = parse(program.source)
    inside = [node for function in ast.walk(tree) if isinstance(function, FUNCTIONS) for node in ast.walk(function)]
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    definitions = {node.name for node in ast.walk(tree) if isinstance(node, defined)}
    outside = _bound(list(own_nodes(tree))) | definitions | _keywords_passed(parse(program.tests))
    return _bound(inside) - outside - RESERVED_NAMES


def _bound(nodes: Sequence[ast.AST]) -> set[str]:
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    return stored | {node.arg for node in nodes if isinstance(node, ast.arg)}


def _keywords_passed(tests: ast.Module) -> set[str]:
    return {node.arg for node in ast.walk(tests) if isinstance(node, ast.keyword) and node.arg}
