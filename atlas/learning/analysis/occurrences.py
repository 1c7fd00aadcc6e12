"""Occurrences of abstractions in the original programs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from atlas.learning.analysis.purity import Purity
from atlas.learning.analysis.recursion import CallGraph
from atlas.learning.terms.codec import Decoder
from atlas.learning.terms.heads import SYMBOL_SORT, read_head, unescape
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import SYMBOL, Term, hole_number, is_call
from atlas.learning.terms.walking import walk

Site = tuple[str, tuple[int, ...]]
"""A call site: the program or pattern that contains it, and its path from the root of the term."""


@dataclass(slots=True, kw_only=True, eq=False)
class Occurrence:
    """One use of a pattern in a program, directly or through another pattern."""

    pattern: Pattern
    site: Site
    program: str
    root: Term
    """The replaced subterm of the original program. Each subterm is a distinct object."""

    holes: dict[int, list[Term]] = field(default_factory=lambda: defaultdict(list))
    """Contents of each hole, at each of its positions."""

    @property
    def symbols(self) -> dict[int, str]:
        """Names of the variables in the holes for variables, keyed by the number of the hole."""
        sorts = self.pattern.hole_sorts
        return {
            index: unescape(terms[0].head.removeprefix(SYMBOL))
            for index, terms in self.holes.items()
            if sorts[index] == SYMBOL_SORT
        }


@dataclass(slots=True)
class _Frame:
    occurrence: Occurrence
    arguments: list[tuple[Term, _Frame | None, Site]]


def find_occurrences(
    program: str, term: Term, original: Term, patterns: Mapping[str, Pattern]
) -> list[Occurrence] | None:
    """Return an occurrence for each call in a program, or None if inlining all calls does not give the original.

    Args:
        term: The program with calls.
        original: The program without calls. The occurrences refer to its subterms.
    """
    expansion = _Expansion(program, patterns)
    is_original = expansion.matches(term, None, (program, ()), original)
    return expansion.occurrences if is_original else None


class _Expansion:
    def __init__(self, program: str, patterns: Mapping[str, Pattern]) -> None:
        self._program = program
        self._patterns = patterns
        self.occurrences: list[Occurrence] = []

    def matches(self, term: Term, frame: _Frame | None, site: Site, original: Term) -> bool:
        """Return whether inlining all calls of a term gives `original`, and record each call as an occurrence.

        The recorded occurrences are valid only if the result is True.
        """
        index = hole_number(term.head)
        if index is not None and frame is not None:
            frame.occurrence.holes[index].append(original)
            return self.matches(*frame.arguments[index], original)
        if not (term.calls or term.has_holes):
            return term == original
        arguments = [(child, frame, (site[0], (*site[1], position))) for position, child in enumerate(term.children)]
        if is_call(term):
            pattern = self._patterns[term.head]
            occurrence = Occurrence(pattern=pattern, site=site, program=self._program, root=original)
            self.occurrences.append(occurrence)
            return self.matches(pattern.body, _Frame(occurrence, arguments), (pattern.name, ()), original)
        if term.head != original.head or len(arguments) != len(original.children):
            return False
        pairs = zip(arguments, original.children, strict=True)
        return all(self.matches(*argument, child) for argument, child in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The part of a program that an occurrence covers: an expression, or statements of one block."""

    node: ast.AST
    """Expression, or first statement."""

    statements: tuple[ast.stmt, ...]
    """Statements of the region, empty for an expression."""

    following: tuple[ast.stmt, ...] = ()
    """Statements that follow in the same block."""


class ProgramTree(Decoder):
    """The syntax tree of a program, with a lookup from each term to its node."""

    def __init__(self, term: Term) -> None:
        self._term = term  # keeps the terms, whose identities are the keys
        self._nodes: dict[int, Any] = {}
        self._blocks: dict[int, tuple[list[ast.stmt], int]] = {}
        self.symbols: set[int] = set()
        """The `id` of every node that names a local variable."""

        self.origins: dict[int, str] = {}
        """Origin of every other name, keyed by the `id` of its node, as `scopes.bindings` gives it."""

        self.module: ast.Module = self.node(term)
        self.purity = Purity(self.module, self.symbols, self.origins)
        self.parents: dict[int, tuple[ast.AST, str]] = {
            id(child): (parent, name) for parent in walk(self.module) for name, child in _children_with_fields(parent)
        }
        self.calls = CallGraph(self.module, self.symbols, self.origins, self.parents)

    def node(self, term: Term) -> Any:
        """Return the node, as `Decoder.node` does."""
        node = super().node(term)
        self._nodes[id(term)] = node
        if any(child.head.startswith(SYMBOL) for child in term.children):
            self.symbols.add(id(node))
        elif ":Name/=" in term.head:
            self.origins[id(node)] = str(read_head(term.head).parts[-1].scalars[0])
        return node

    def record_block(self, term: Term, statements: list[ast.stmt]) -> None:
        """Record the block, as `Decoder.record_block` does."""
        self._blocks[id(term)] = (statements, len(statements))

    def node_of(self, term: Term) -> Any:
        """Return the syntax node of the term of an expression or a statement."""
        return self._nodes[id(term)]

    def find_region(self, root: Term, rest: Term | None) -> Region | None:
        """Return the region that begins at `root`, up to `rest` if given. None if they are not in the same block."""
        if id(root) in self._blocks:
            block, start = self._blocks[id(root)]
            rest_block, stop = self._blocks[id(rest)] if rest is not None else (block, len(block))
            return self._region_of_block(block, start, stop) if rest_block is block and stop > start else None
        node = self._nodes[id(root)]
        if rest is not None:
            return None
        if not isinstance(node, ast.stmt):
            return Region(node=node, statements=())
        block = self.block_of(node)
        start = next(index for index, statement in enumerate(block) if statement is node)
        return self._region_of_block(block, start, start + 1)

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the block that contains a statement."""
        parent, name = self.parents[id(statement)]
        block: list[ast.stmt] = getattr(parent, name)
        return block

    def _region_of_block(self, block: Sequence[ast.stmt], start: int, stop: int) -> Region:
        return Region(node=block[start], statements=tuple(block[start:stop]), following=tuple(block[stop:]))


def _children_with_fields(parent: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return the children of a node, each with the name of the field that contains it."""
    children = []
    for name, value in ast.iter_fields(parent):
        values = value if isinstance(value, list) else [value]
        children += [(name, child) for child in values if isinstance(child, ast.AST)]
    return children
