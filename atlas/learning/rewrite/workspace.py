"""The workspace of a rewriting: programs, and the patterns that they call, which can be inlined again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from atlas.learning.analysis.dataflow import InterfaceDecision, contains_await, find_interface, group_by_pattern
from atlas.learning.analysis.functions import Function, name_holes
from atlas.learning.analysis.occurrences import Occurrence, ProgramTree, Site, find_occurrences
from atlas.learning.search.engines import EngineError
from atlas.learning.search.limits import RaiseIfCancelled
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.terms import Term, fill_holes, is_call


class Workspace:
    """The programs of a rewriting and the patterns that they call, keyed by name.

    Args:
        originals: The programs without calls.
        programs: The programs with calls.
        removable_imports: Names whose imports are removed once a program no longer reads them, keyed by program.
        trees: The syntax trees of originals as far as they are known. Workspaces with the same originals share them.
    """

    def __init__(
        self,
        originals: Mapping[str, Term],
        programs: Mapping[str, Term],
        patterns: Iterable[Pattern],
        removable_imports: Mapping[str, frozenset[str]] | None = None,
        trees: dict[str, ProgramTree] | None = None,
    ) -> None:
        self.originals = dict(originals)
        self.removable_imports = dict(removable_imports or {})
        self.programs = dict(programs)
        self.patterns = {pattern.name: pattern for pattern in patterns}
        self.trees: dict[str, ProgramTree] = {} if trees is None else trees

    def copy(self) -> Workspace:
        """Return an independent copy."""
        return Workspace(self.originals, self.programs, self.patterns.values(), self.removable_imports, self.trees)

    def add(self, other: Workspace) -> None:
        """Add the programs of another workspace with the same patterns."""
        self.originals |= other.originals
        self.programs |= other.programs
        self.removable_imports |= other.removable_imports

    def tree(self, name: str) -> ProgramTree:
        """Return the syntax tree of a program's original."""
        if name not in self.trees:
            self.trees[name] = ProgramTree(self.originals[name])
        return self.trees[name]

    def term(self, name: str) -> Term:
        """Return the term of a program or a pattern."""
        return self.patterns[name].body if name in self.patterns else self.programs[name]

    def expand(self, name: str) -> Term:
        """Return the term of a program or a pattern with all its calls inlined."""
        term = self.term(name)
        for head in reversed(self.called_patterns(name)):
            term = inline_pattern(term, self.patterns[head])
        return term

    def callers(self) -> dict[str, set[str]]:
        """Return the names of the programs and patterns that call each pattern directly, keyed by pattern."""
        callers_by_pattern: dict[str, set[str]] = defaultdict(set)
        for name in (*self.programs, *self.patterns):
            for head in self.term(name).calls:
                callers_by_pattern[head].add(name)
        return callers_by_pattern

    def called_patterns(self, name: str) -> list[str]:
        """Return the names of the patterns that a program calls, directly or indirectly, in definition order."""
        needed: set[str] = set()
        queue = [name]
        while queue:
            for head in self.term(queue.pop()).calls:
                if head not in needed:
                    needed.add(head)
                    queue.append(head)
        return [pattern for pattern in self.patterns if pattern in needed]

    def inline(self, names: Collection[str]) -> None:
        """Remove patterns, and inline all calls of them."""
        for name in [name for name in reversed(self.patterns) if name in names]:
            pattern = self.patterns.pop(name)
            for caller in (*self.programs, *self.patterns):
                if name in self.term(caller).calls:
                    self.set_term(caller, inline_pattern(self.term(caller), pattern))

    def inline_sites(self, sites: Collection[Site]) -> None:
        """Inline the calls at these sites only. The called patterns stay in the workspace."""
        for name, path in sorted(sites, key=lambda site: -len(site[1])):  # inner first: outer paths stay valid
            if name in self.programs or name in self.patterns:
                self.set_term(name, self._inline_at(self.term(name), path))

    def set_term(self, name: str, term: Term) -> None:
        """Replace the term of a program or a pattern."""
        if name in self.patterns:
            self.patterns[name] = replace(self.patterns[name], body=term)
        else:
            self.programs[name] = term

    def _inline_at(self, term: Term, path: tuple[int, ...]) -> Term:
        if path:
            index, *further = path
            children = list(term.children)
            children[index] = self._inline_at(children[index], tuple(further))
            return Term(term.head, children)
        return fill_holes(self.patterns[term.head].body, term.children) if is_call(term) else term


def inline_pattern(term: Term, pattern: Pattern) -> Term:
    """Return a term with the calls of one pattern inlined."""
    if pattern.name not in term.calls:
        return term
    children = [inline_pattern(child, pattern) for child in term.children]
    if term.head == pattern.name:
        return fill_holes(pattern.body, children)
    return Term(term.head, children)


def locate_occurrences(workspace: Workspace) -> tuple[dict[str, list[Occurrence]], dict[str, ProgramTree]]:
    """Return the occurrences of patterns, keyed by pattern, and the syntax trees of the programs that contain them.

    Raises:
        EngineError: A program differs from the original after all calls are inlined.
    """
    occurrences: list[Occurrence] = []
    programs: dict[str, ProgramTree] = {}
    for name, term in workspace.programs.items():
        if term.calls:
            occurrences_in_program = find_occurrences(name, term, workspace.originals[name], workspace.patterns)
            if occurrences_in_program is None:
                raise EngineError(
                    f"expected {name!r} to equal its original after inlining, but it differs: this is a bug"
                )
            occurrences += occurrences_in_program
            programs[name] = workspace.tree(name)
    return group_by_pattern(occurrences), programs


def drop_invalid(
    workspace: Workspace, prefix: str, raise_if_cancelled: RaiseIfCancelled, first_number: int = 0
) -> ValidFunctions:
    """Inline patterns that cannot be Python functions. Return the other patterns' functions, and the reasons.

    Args:
        prefix: Prefix of the functions' names, which a number follows.
        first_number: The first number.
    """
    reasons: list[str] = []
    while True:
        occurrences, programs = locate_occurrences(workspace)
        decisions = {}
        for name, pattern in workspace.patterns.items():
            raise_if_cancelled()
            decisions[name] = find_interface(pattern, occurrences[name], programs)
        reasons += [decision.problem for decision in decisions.values() if decision.interface is None]
        unusable = [name for name, decision in decisions.items() if decision.interface is None]
        refused = [site for decision in decisions.values() if decision.interface for site in decision.refused]
        if not unusable and not refused:
            return ValidFunctions(_build_functions(workspace, decisions, occurrences, prefix, first_number), reasons)
        workspace.inline_sites(refused)
        workspace.inline(unusable)


class ValidFunctions:
    """The functions of a workspace, keyed by pattern, and the reason why each other pattern was inlined."""

    def __init__(self, functions: dict[str, Function], reasons: list[str]) -> None:
        self.functions = functions
        self.reasons = reasons


def _build_functions(
    workspace: Workspace,
    decisions: Mapping[str, InterfaceDecision],
    occurrences: Mapping[str, list[Occurrence]],
    prefix: str,
    first_number: int,
) -> dict[str, Function]:
    functions = {}
    for number, (name, pattern) in enumerate(workspace.patterns.items(), first_number):
        interface = decisions[name].interface
        assert interface is not None
        names = name_holes(pattern, interface, occurrences[name])
        functions[name] = Function(
            pattern=pattern,
            interface=interface,
            name=f"{prefix}{number}",
            names=names,
            is_async=contains_await(workspace.expand(name)),
        )
    return functions


def programs_by_pattern(workspace: Workspace) -> dict[str, set[str]]:
    """Return the names of the programs that call each pattern, directly or indirectly, keyed by pattern."""
    programs: dict[str, set[str]] = {name: set() for name in workspace.patterns}
    for program in workspace.programs:
        for name in workspace.called_patterns(program):
            programs[name].add(program)
    return programs
