"""Cached lengths of programs and of a library, in tokens."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from atlas.learning.analysis.dataflow import find_imports
from atlas.learning.analysis.functions import Function, Renderer, body_source
from atlas.learning.rewrite.workspace import Workspace, inline_pattern
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.heads import DO, END, THEN
from atlas.learning.terms.imports import imported_modules, mentioned_names, n_import_tokens, remove_names
from atlas.learning.terms.scopes import IMPORTS
from atlas.learning.terms.terms import Term, is_call

UNWRITABLE = 1_000_000
"""Length assigned to code that `ast.unparse` refuses, such as an f-string with a backslash in its braces."""

NO_NAMES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _StatementCount:
    """The number of tokens of statements, and those of their imports that may be removed later."""

    n_tokens: int = 0
    names: frozenset[str] = NO_NAMES
    """Watched names that occur in the statements."""

    imports: tuple[Term, ...] = ()
    """Import statements at the top level of the module or of a function, which are not counted in `n_tokens`."""


class _BlocklessRenderer(Renderer):
    """A renderer of a statement in which `pass` replaces each block."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        super().__init__(functions)
        self.blocks: list[Term] = []

    def block(self, term: Term) -> list[ast.stmt]:
        """Return the placeholder, and record the block."""
        self.blocks.append(term)
        return [ast.Pass()]


class StatementCounts:
    """A cache of the counts of statements, which many programs share.

    Args:
        watched: Names whose occurrences are recorded.
    """

    def __init__(self, functions: Mapping[str, Function], watched: frozenset[str]) -> None:
        self._functions = functions
        self._watched = watched
        self._counts: dict[Term, _StatementCount] = {}

    def count_scope(self, block: Term) -> _StatementCount:
        """Return the count of the body of a module or a function, without its imports.

        If the body consists of imports only, they are included in `n_tokens`.
        """
        count = self.count_block(block)
        has_only_imports = len(count.imports) == len(_split_into_statements(block))
        return _with_imports(count, self._functions) if has_only_imports else count

    def count_block(self, block: Term) -> _StatementCount:
        """Return the count of the statements of a block."""
        if block not in self._counts:
            self._counts[block] = _add_counts(map(self.count_statement, _split_into_statements(block)))
        return self._counts[block]

    def count_statement(self, statement: Term) -> _StatementCount:
        """Return the count of a statement. A call that replaces several statements includes the rest of the block."""
        if statement not in self._counts:
            self._counts[statement] = self._compute_count(statement)
        return self._counts[statement]

    def _compute_count(self, statement: Term) -> _StatementCount:
        """Return the count of a statement, with its blocks."""
        renderer = _BlocklessRenderer(self._functions)
        nodes = renderer.statements(statement)
        if isinstance(nodes[0], IMPORTS):
            return _StatementCount(imports=(statement,))
        mentioned = self._watched.intersection(*[set(mentioned_names(ast.Module(nodes, [])))])
        blocks, rest = (renderer.blocks[:-1], renderer.blocks[-1:]) if is_call(statement) else (renderer.blocks, [])
        n_excess = len(renderer.blocks) + (2 if _has_elif(nodes[0], blocks) else 0)
        block_counts = [self._count_inner_block(nodes[0], block) for block in blocks]
        return _add_counts(
            [_StatementCount(_token_length(nodes) - n_excess, mentioned), *block_counts, *map(self.count_block, rest)]
        )

    def _count_inner_block(self, node: ast.stmt, block: Term) -> _StatementCount:
        """Return the count of a statement's block. Imports in it are counted, except at the top level of a function."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return self.count_scope(block)
        return _with_imports(self.count_block(block), self._functions)


def _split_into_statements(block: Term) -> list[Term]:
    """Return the statements of a block.

    The last may be a call that replaces several statements and contains all that follow them.
    """
    statements = []
    if block.head.startswith(DO):
        (block,) = block.children
    while block.head.startswith(THEN):
        statement, block = block.children
        statements.append(statement)
    if block.head == END:
        return statements
    return [*statements, block] if is_call(block) else [*statements, *block.children]


def _has_elif(node: ast.stmt, blocks: list[Term]) -> bool:
    """Return whether the `else` of an `if` contains only another `if`, so that it is written as `elif`."""
    if not isinstance(node, ast.If) or len(blocks) < 2:
        return False
    statements = _split_into_statements(blocks[1])
    return len(statements) == 1 and statements[0].head.startswith("s:If/")


def _add_counts(counts: Iterable[_StatementCount]) -> _StatementCount:
    summands = list(counts)
    if len(summands) == 1:
        return summands[0]
    return _StatementCount(
        sum(count.n_tokens for count in summands),
        NO_NAMES.union(*(count.names for count in summands)),
        tuple(statement for count in summands for statement in count.imports),
    )


def _with_imports(count: _StatementCount, functions: Mapping[str, Function]) -> _StatementCount:
    """Return a count that includes the tokens of its imports."""
    if not count.imports:
        return count
    nodes = [node for term in count.imports for node in Renderer(functions).statements(term)]
    return replace(count, n_tokens=count.n_tokens + _token_length(nodes), imports=())


def _token_length(nodes: list[ast.stmt]) -> int:
    try:
        return n_tokens(ast.unparse(ast.fix_missing_locations(ast.Module(body=nodes, type_ignores=[]))))
    except ValueError:
        return UNWRITABLE


class Lengths:
    """A cache of lengths in tokens: of programs, of functions and of the library."""

    def __init__(self, workspace: Workspace, functions: Mapping[str, Function]) -> None:
        self._workspace = workspace
        self._functions = functions
        self._statements = StatementCounts(functions, NO_NAMES.union(*workspace.removable_imports.values()))
        self._programs: dict[tuple[str, Term], int] = {}
        self._bodies: dict[tuple[str, Term], int] = {}
        self._needs: dict[Term, frozenset[str]] = {}
        self._imports: dict[tuple[Term, frozenset[str]], int] = {}

    def of(self, name: str, term: Term | None = None) -> int:
        """Return the length of a program or function, or the length that it would have with the code `term`.

        The imports of a function are not counted here, because they are a part of the library.
        """
        term = self._workspace.term(name) if term is None else term
        if name in self._functions:
            return self._header_length(name) + self.body_length(name, term)
        if (name, term) not in self._programs:
            self._programs[name, term] = self._program_length(name, term)
        return self._programs[name, term]

    def body_length(self, name: str, body: Term) -> int:
        """Return the length that a function's body would have with the code `body`."""
        if (name, body) not in self._bodies:
            self._bodies[name, body] = self._measure_body(name, body)
        return self._bodies[name, body]

    def library(self) -> int:
        """Return the length of a module of all functions and their imports."""
        return sum(map(self.of, self._workspace.patterns)) + self.imports()

    def imports(self, excluding: str = "") -> int:
        """Return the length of the library's imports, each counted once.

        Args:
            excluding: Name of a function that counts as inlined into its callers, which then need its imports.
        """
        needed: set[str] = set()
        for name, pattern in self._workspace.patterns.items():
            if name != excluding:
                needed |= self._needed_names(pattern.body)
                if excluding in pattern.body.calls:
                    needed |= self._needed_names(self._workspace.term(excluding))
        return n_import_tokens(frozenset(needed))

    def functions_sharing_imports(self, name: str) -> set[str]:
        """Return the functions that import from the same modules as a function, including itself.

        An import that functions share counts once, so removing one of the functions changes the savings of the others.
        """
        modules = imported_modules(self._needed_names(self._workspace.term(name)))
        if not modules:
            return set()
        bodies = {other: pattern.body for other, pattern in self._workspace.patterns.items()}
        return {other for other, body in bodies.items() if modules & imported_modules(self._needed_names(body))}

    def saving(self, name: str, callers: set[str]) -> int:
        """Return the number of tokens by which programs and library would grow if a function were inlined."""
        has_imports = bool(self._needed_names(self._workspace.patterns[name].body))
        n_imports = self.imports() - self.imports(excluding=name) if has_imports else 0
        return self.inlining_cost(name, callers) - self.of(name) - n_imports

    def inlining_cost(self, name: str, callers: Iterable[str]) -> int:
        """Return the number of tokens by which callers would grow if a function were inlined into them."""
        pattern, cost = self._workspace.patterns[name], 0
        for caller in callers:
            inlined = inline_pattern(self._workspace.term(caller), pattern)
            cost += self.of(caller, inlined) - self.of(caller)
        return cost

    def _header_length(self, name: str) -> int:
        n_parameters = len(self._functions[name].interface.parameters)
        return 5 + max(0, 2 * n_parameters - 1)  # def name(parameters):

    def _measure_body(self, name: str, body: Term) -> int:
        function = self._functions[name]
        try:
            return n_tokens(
                body_source(replace(function, pattern=replace(function.pattern, body=body)), self._functions)
            )
        except ValueError:
            return UNWRITABLE

    def _needed_names(self, body: Term) -> frozenset[str]:
        if body not in self._needs:
            self._needs[body] = frozenset(find_imports(body))
        return self._needs[body]

    def _program_length(self, name: str, term: Term) -> int:
        if not term.children:
            return 0
        count = self._statements.count_scope(term.children[0])
        unread = self._workspace.removable_imports.get(name, NO_NAMES) - count.names
        return count.n_tokens + sum(self._import_length(statement, unread) for statement in count.imports)

    def _import_length(self, statement: Term, unread: frozenset[str]) -> int:
        if (statement, unread) not in self._imports:
            (node,) = Renderer(self._functions).statements(statement)
            remainder = remove_names(node, unread)
            self._imports[statement, unread] = 0 if remainder is None else _token_length([remainder])
        return self._imports[statement, unread]
