"""Conversion of programs to terms, with star imports expanded, or the reason why a program cannot be compressed."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from atlas.learning.search.limits import Limits
from atlas.learning.terms.codec import encode, n_excluded
from atlas.learning.terms.imports import expand_stars, read_names, removable_imports, star_modules
from atlas.learning.terms.names import find_name_lookups, inspects_stack
from atlas.learning.terms.normalisation import find_checks, normalise
from atlas.learning.terms.parsing import MAX_PARTS, InvalidPython, is_wide, try_parse
from atlas.learning.terms.programs import Program
from atlas.learning.terms.scopes import imported_names
from atlas.learning.terms.terms import Term
from atlas.learning.terms.walking import walk

StarNames = Callable[[Collection[str]], Mapping[str, frozenset[str] | str]]
"""Function that returns the names of each module's star import, or the reason why they are unknown."""

Tools = Callable[[Program], Container[str]]
"""Function that returns which unbound names of a program are tools of the agent that wrote it."""

TOP_LEVEL_CHECK = "line: an assertion or a print at a program's top level"
TOO_DEEP = "nested too deeply, or a block is too long"
TOO_WIDE = f"an expression has more than {MAX_PARTS} parts"
_STAR_IMPORT = re.compile(r"\bimport\s*\*")


class _AllNames:
    """A container that contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def no_tools(program: Program) -> Container[str]:
    """Return an empty collection. This is the default of `tools`, for programs without tools."""
    return ()


def make_tool_lookup(names: Collection[str], *, are_run: bool) -> Tools:
    """Return a function that returns the tools of a program.

    If the tests of a program are run, every name counts as a tool. Otherwise only the given names do.
    """
    return lambda program: _AllNames() if are_run and program.tests else names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadablePrograms:
    """Programs that can be compressed, keyed by id."""

    terms: dict[str, Term] = field(default_factory=dict)
    """Normalised programs, without comments, docstrings and annotations."""

    with_stars: dict[str, Term] = field(default_factory=dict)
    """The programs with expanded star imports, as they were before the expansion."""

    removable_imports: dict[str, frozenset[str]] = field(default_factory=dict)
    """Names whose imports are removed once the program no longer reads them."""

    notes: tuple[str, ...] = ()
    """Messages about star imports that could not be expanded."""

    def keep_star_imports(self, terms: Mapping[str, Term]) -> None:
        """Let the programs in `terms` whose star imports are not expanded keep all their imports."""
        for name in [name for name, term in terms.items() if term is self.with_stars.get(name)]:
            self.removable_imports[name] = frozenset()


def as_programs(programs: Iterable[Program | str]) -> list[Program]:
    """Return all sources as programs. A bare source gets its position as id and as task id."""
    converted = list[Program]()
    for position, program in enumerate(programs):
        if isinstance(program, str):
            program = Program(id=str(position), task_id=str(position), description="", source=program)
        converted.append(program)
    return converted


def unused_prefix(programs: Iterable[Program]) -> str:
    """Return a prefix for placeholder names that occurs in no program."""
    prefix = "concept_"
    while any(prefix in program.source for program in programs):
        prefix += "_"
    return prefix


def read_programs(
    programs: Sequence[Program],
    limits: Limits,
    refused: Counter[str],
    star_names: StarNames | None = None,
    tools: Tools = no_tools,
    modules: Mapping[str, ast.Module] = MappingProxyType({}),
) -> ReadablePrograms:
    """Return the programs that can be compressed, as terms. The others are counted in `refused`, keyed by reason.

    Args:
        tools: Returns which of a program's unbound names are tools.
        modules: Known normal forms of programs without a `reading_problem`, keyed by program id.
    """
    star_modules_by_id = {program.id: _star_modules(program.source) for program in programs}
    modules_to_look_up = sorted({module for modules in star_modules_by_id.values() for module in modules if module})
    answers = star_names(modules_to_look_up) if star_names is not None and modules_to_look_up else {}
    public_names = {module: names for module, names in answers.items() if not isinstance(names, str)}
    failed_modules = {module: reason for module, reason in answers.items() if isinstance(reason, str)}
    readable_programs = ReadablePrograms(notes=_star_import_notes(failed_modules, star_modules_by_id))
    for program in programs:
        expandable = public_names if set(star_modules_by_id[program.id]) <= public_names.keys() else {}
        readable = _read_program(program, modules.get(program.id), limits, expandable, tools(program))
        if isinstance(readable, str):
            refused[f"program: {readable}"] += 1
        else:
            refused[TOP_LEVEL_CHECK] += n_excluded(readable.term)
            readable_programs.terms[program.id], readable_programs.removable_imports[program.id] = (
                readable.term,
                readable.removable_imports,
            )
            if readable.with_stars is not None:
                readable_programs.with_stars[program.id] = readable.with_stars
    return readable_programs


def _star_modules(source: str) -> list[str]:
    """Return the modules of a program's star imports."""
    tree = try_parse(source) if _STAR_IMPORT.search(source) else None
    return star_modules(tree) if tree is not None else []


def _star_import_notes(
    failed_modules: Mapping[str, str], star_modules_by_id: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    counts = Counter(module for modules in star_modules_by_id.values() for module in set(modules))
    return tuple(
        f"{counts[module]:,} programs with a star import of {module!r} are left unchanged: {reason}"
        for module, reason in failed_modules.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadableProgram:
    """One program that can be compressed."""

    term: Term
    with_stars: Term | None
    removable_imports: frozenset[str]


def _read_program(
    program: Program,
    module: ast.Module | None,
    limits: Limits,
    public: Mapping[str, frozenset[str]],
    tools: Container[str],
) -> _ReadableProgram | str:
    """Return the term and the removable imports of a program, or the reason why it cannot be compressed.

    Args:
        module: The normal form of a program that is known to have no `reading_problem`.
        public: The public names of each star-imported module. Empty to leave star imports unexpanded.
    """
    try:
        if module is None:
            module = normalise(program.source)
            if problem := reading_problem(module):
                return problem
        tests = try_parse(program.tests)
        tested = read_names(tests) if tests is not None else frozenset()
        unexpanded = module
        if public:
            module = expand_stars(module, public, tested)
        if _rebinds_builtin(module):
            return "rebinds a builtin name"
        term = encode(module, find_checks(module), tools)
        with_stars = encode(unexpanded, find_checks(unexpanded), tools) if public else None
    except InvalidPython as error:
        return TOO_DEEP if isinstance(error.__cause__, RecursionError) else "not Python that can be processed"
    except RecursionError:
        return TOO_DEEP
    if term.depth > limits.max_depth:
        return TOO_DEEP
    return _ReadableProgram(term=term, with_stars=with_stars, removable_imports=removable_imports(module, tested))


def reading_problem(module: ast.Module) -> str:
    """Return the reason why a program cannot be compressed in its present form. Empty if it can."""
    if is_wide(module):
        return TOO_WIDE
    if find_name_lookups(module):
        return "looks up names by string"
    return "inspects the call stack" if inspects_stack(module) else ""


def _rebinds_builtin(module: ast.Module) -> bool:
    """Return whether a program rebinds a builtin at its top level. Inserted functions would use the rebound name."""
    return any(hasattr(builtins, name) for node in module.body for name in _top_level_names(node))


def _top_level_names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import() | ast.ImportFrom():
            return imported_names(node)
    return [part.id for part in walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
