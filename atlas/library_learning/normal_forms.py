"""What two pieces of code have in common that do the same in the same way, whatever they are called."""

from __future__ import annotations

import ast

from atlas.library_learning.normalising import stripped

ITS_NAME = "_"


def normal_form(source: str) -> str:
    """Equal for code that differs in layout, comments, docstrings, annotations, or in its one function's name alone.

    Raises:
        NotPython: It does not parse, is too long or too deeply nested.
    """
    module: ast.AST = stripped(source)
    functions = [
        node for node in ast.iter_child_nodes(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if len(functions) == 1:
        module = _Renaming(functions[0].name).visit(module)
    return ast.dump(module)


class _Renaming(ast.NodeTransformer):
    """The function, and its calls of itself, under one name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.FunctionDef(name=self._name) | ast.AsyncFunctionDef(name=self._name):
                node.name = ITS_NAME
            case ast.Name(id=self._name):
                node.id = ITS_NAME
        return self.generic_visit(node)
