"""The decision whether an abstraction can be a Python function, and with which parameters and results."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.learning.analysis.closures import is_consumed
from atlas.learning.analysis.occurrences import Occurrence, ProgramTree, Region, Site
from atlas.learning.analysis.positions import Position, hole_positions, may_be_evaluated_early, reading_order
from atlas.learning.analysis.surroundings import (
    LOOPS,
    assigned_variables,
    captured_variables,
    is_guarded,
    live_variables,
)
from atlas.learning.analysis.variables import Flow, Flows, Names
from atlas.learning.terms.heads import EXCLUDED_HEAD, EXPRESSION, REST, read_head
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.scopes import BUILTIN, LOCAL, OWN, TOOL
from atlas.learning.terms.terms import Term, is_call
from atlas.learning.terms.walking import walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function, which stands for one hole of the pattern."""

    hole: int
    callback_holes: tuple[int, ...] | None = None
    """Holes of the variables that are passed to the argument if it is a callback. None if the argument is a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """The signature of the function that an abstraction becomes."""

    parameters: tuple[Parameter, ...]
    outputs: tuple[int, ...] = ()
    """Holes of the variables that the function returns."""

    is_expression: bool
    returns: bool = False
    """True if every path through the function's statements ends in a `return`."""

    rest: int | None = None
    """Hole for the rest of the block, which stays in the caller."""


@dataclass(slots=True, kw_only=True)
class InterfaceDecision:
    """The decision whether a pattern becomes a function: an interface that fits some of its uses, or a problem."""

    interface: Interface | None = None
    problem: str = ""
    refused: dict[Site, str] = field(default_factory=dict)
    """Reason for each call that has to be inlined again, keyed by the call site."""


# fmt: off
REFUSED_SYNTAX = frozenset({
    "Yield", "YieldFrom", "NamedExpr", "Delete", "Global", "Nonlocal", "FunctionDef",
    "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom", "Match", "TryStar",
})
# fmt: on
ASYNC_HEADS = ("e:Await/", "s:AsyncFor/", "s:AsyncWith/")
"""Prefixes of the heads of asynchronous syntax."""

FRAME_READERS = frozenset({"locals", "globals", "vars", "dir", "eval", "exec", "super"})
"""Functions that read the variables of their caller."""


def pattern_problem(pattern: Pattern) -> str:
    """Return the reason why a pattern can never become a function. Empty if it may become one."""
    for term in pattern.body.walk():
        if term.head.startswith(("#", "&")) or is_call(term):
            continue
        head = read_head(term.head)
        if head.sort == EXCLUDED_HEAD:
            return "contains a top-level assertion or print"
        if head.name in REFUSED_SYNTAX:
            return f"has {head.name}"
        if head.name in ("Name", "Attribute") and (problem := _name_problem(head.parts, head.name)):
            return problem
    return ""


def _name_problem(parts: Sequence[object], kind: str) -> str:
    """Return why the names of a node prevent moving it to a function, or '' if they do not."""
    scalars = [value for part in parts for value in getattr(part, "scalars", ())]
    if any(str(value).startswith("__") and not str(value).endswith("__") for value in scalars):
        return "uses a name that begins with two underscores"
    if kind == "Name" and len(scalars) == 2:
        name, origin = scalars
        if origin in (OWN, LOCAL):
            return "uses a name that only its program defines"
        if origin == BUILTIN and name in FRAME_READERS:
            return f"accesses its caller's variables through {name}"
    return ""


def contains_await(body: Term) -> bool:
    """Return whether the code of a pattern contains an `await` outside its holes."""
    return any(term.head.startswith(ASYNC_HEADS) for term in body.walk())


def find_imports(body: Term) -> tuple[str, ...]:
    """Return the import statements that the body of a pattern needs. Each imports one name."""
    return tuple(sorted({origin for _, origin in _names_with_origins(body)} - {BUILTIN, OWN, LOCAL, TOOL}))


def find_tools(body: Term) -> tuple[str, ...]:
    """Return the names of the tools that the body of a pattern uses, sorted."""
    return tuple(sorted({name for name, origin in _names_with_origins(body) if origin == TOOL}))


def _names_with_origins(body: Term) -> Iterator[tuple[str, str]]:
    """Yield each name in a body that is not a local variable, with its origin."""
    for term in body.walk():
        if ":Name/=" in term.head:
            name, *_, origin = [value for part in read_head(term.head).parts for value in part.scalars]
            yield str(name), str(origin)


@dataclass(slots=True, kw_only=True)
class _AnalysedUse:
    """One occurrence of a pattern in a program, with its analysis."""

    occurrence: Occurrence
    program: ProgramTree
    region: Region
    flows: Flows
    flow: Flow
    live: Names
    assigned: Names
    holes: dict[int, int]
    """Number of each hole that is evaluated before the call, keyed by the `id` of its node."""

    hole_by_variable: Mapping[str, int]
    """Number of the hole for each variable, keyed by the variable's name."""

    positions: Mapping[int, Sequence[Position]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes = self.region.statements or (self.region.node,)
        self.positions = hole_positions(nodes, self.holes, self.flows, self.program.purity)

    def with_called_hole(self, hole: int) -> _AnalysedUse:
        """Return a copy in which a hole is passed as a callback, so that it is not evaluated before the call."""
        holes = {node: number for node, number in self.holes.items() if number != hole}
        return replace(self, holes=holes)

    def argument(self, hole: int) -> ast.AST:
        """Return the expression that stands in a hole."""
        node: ast.AST = self.program.node_of(self.occurrence.holes[hole][0])
        return node

    def written_variables(self) -> Names:
        """Return the variables that the abstraction assigns. An argument that reads one cannot be evaluated early."""
        nodes = [self.region.node] if not self.region.statements else self.region.statements
        return self.flow.maybe_written.union(*(self.flows.bound_variables(node) for node in nodes))


def find_interface(
    pattern: Pattern, occurrences: Sequence[Occurrence], programs: Mapping[str, ProgramTree]
) -> InterfaceDecision:
    """Decide whether a pattern can be a function, with an interface that fits as many of its uses as possible.

    Args:
        occurrences: Every occurrence of the pattern in the original programs.
        programs: The programs in which the pattern occurs, keyed by name.
    """
    problem = pattern_problem(pattern)
    if problem or not occurrences:
        return InterfaceDecision(problem=problem or "is not used")
    decision = InterfaceDecision()
    uses: list[_AnalysedUse] = []
    for occurrence in occurrences:
        use = _analyse_use(occurrence, programs[occurrence.program])
        if isinstance(use, str):
            decision.refused[occurrence.site] = use
        else:
            uses.append(use)
    valid = [use for use in uses if use.occurrence.site not in decision.refused]
    if valid:
        decision.interface = _best_interface(pattern, valid, decision.refused)
    if decision.interface is None:
        decision.problem = next(iter(decision.refused.values()), "is not used")
    return decision


def _analyse_use(occurrence: Occurrence, program: ProgramTree) -> _AnalysedUse | str:
    """Return an occurrence with its analysis, or the reason why it cannot be replaced by a call."""
    pattern = occurrence.pattern
    rest_hole = next((index for index, sort in enumerate(pattern.hole_sorts) if sort == REST), None)
    rests = [] if rest_hole is None else occurrence.holes[rest_hole]
    if pattern.hole_sorts.count(REST) > 1 or len(rests) > 1:
        return "has several holes for statements"
    region = program.find_region(occurrence.root, rests[0] if rests else None)
    if region is None:
        return "has a hole for statements that are not the rest of the block"
    hole_by_variable = {name: index for index, name in occurrence.symbols.items()}
    if len(hole_by_variable) < len(occurrence.symbols):
        return "uses one variable in place of two"
    holes = {
        id(program.node_of(term)): index
        for index, terms in occurrence.holes.items()
        if pattern.hole_sorts[index] == EXPRESSION
        for term in terms
    }
    flows = Flows(program.symbols, holes.keys())
    nodes = region.statements or (region.node,)
    flow = flows.of(nodes)
    use = _AnalysedUse(
        occurrence=occurrence,
        program=program,
        region=region,
        flows=flows,
        flow=flow,
        live=live_variables(region, program) if region.statements else frozenset(),
        assigned=assigned_variables(region.node, program),
        holes=holes,
        hole_by_variable=hole_by_variable,
    )
    return _site_problem(use) or use


def _site_problem(use: _AnalysedUse) -> str:
    """Return the reason why an occurrence cannot be replaced by a call. Empty if it can."""
    region = use.region
    if region.statements and _leaves_enclosing_loop(region.statements):
        return "leaves an enclosing loop"
    if not region.statements and use.flow.maybe_written:
        return "assigns a variable in an expression"
    if use.flow.maybe_written & captured_variables(region, use.program):
        return "assigns a variable that a nested function reads"
    if use.flow.maybe_written & use.live and is_guarded(region.node, use.program):
        return "assigns a variable that may be read after an exception"
    returns = any(isinstance(node, ast.Return) for part in region.statements for node in walk(part))
    if returns and (region.following or not use.flow.always_leaves):
        return "returns on some paths only"
    return _code_problem(region.statements or (region.node,), use)


def _code_problem(nodes: Sequence[ast.AST], use: _AnalysedUse) -> str:
    """Return the reason why code cannot be moved into a separate function. Empty if it can."""
    parts = [part for node in nodes for part in walk(node)]
    if any(map(_makes_async_iterator, parts)):
        return "awaits in a comprehension"
    if any(_may_outlive_call(part, use) for part in parts):
        return "creates a function that may be called after it has ended"
    if use.program.calls.may_recurse(nodes, use.holes.keys()):
        return "may call its enclosing function recursively"
    return ""


def _makes_async_iterator(node: ast.AST) -> bool:
    """Return whether a node is an asynchronous comprehension or a generator that awaits."""
    is_generator = isinstance(node, ast.GeneratorExp)
    parts = walk(node) if is_generator else ()
    is_async = isinstance(node, ast.comprehension) and bool(node.is_async)
    return is_async or any(isinstance(part, ast.Await) for part in parts)


def _leaves_enclosing_loop(nodes: Sequence[ast.AST]) -> bool:
    """Return whether code contains a `break` or `continue` of a loop outside the code."""
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            return True
        if isinstance(node, LOOPS):
            if _leaves_enclosing_loop(node.orelse):
                return True
        elif _leaves_enclosing_loop(list(ast.iter_child_nodes(node))):
            return True
    return False


def _may_outlive_call(node: ast.AST, use: _AnalysedUse) -> bool:
    """Return whether a lambda or generator reads variables and may run after the call that it is passed to."""
    if not isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return False
    return bool(Flows(use.program.symbols).of_node(node).reads) and not is_consumed(node, use.program)


def _best_interface(pattern: Pattern, uses: Sequence[_AnalysedUse], refused: dict[Site, str]) -> Interface | None:
    """Return the interface that fits the most uses, or None if no interface fits any of them.

    Each use that the interface does not fit is added to `refused`, with the reason.
    """
    first = uses[0]
    outputs = {
        use.hole_by_variable[name]
        for use in uses
        for name in use.flow.maybe_written & use.live
        if name in use.hole_by_variable
    }
    maybe_unwritten = {index for index in outputs if _variable_name(first, index) not in first.flow.written}
    inputs = {first.hole_by_variable[name] for name in first.flow.reads} | maybe_unwritten
    if any(use.flow.always_leaves for use in uses):
        outputs, inputs = set(), inputs - maybe_unwritten
    _refuse_unassigned(uses, inputs, refused)
    appearance = reading_order(first.region.statements or (first.region.node,), first.holes, first.hole_by_variable)
    order = [*appearance, *(inputs - set(appearance))]
    parameters = [Parameter(hole=index) for index in sorted(inputs, key=order.index)]
    for hole in first.positions:
        remaining = [use for use in uses if use.occurrence.site not in refused]
        parameter = _choose_parameter(hole, remaining, inputs, refused, order)
        parameters.append(parameter)
        uses = uses if parameter.callback_holes is None else [use.with_called_hole(hole) for use in uses]
    _refuse_reordered(uses, refused)
    if all(use.occurrence.site in refused for use in uses):
        return None
    return Interface(
        parameters=_sort_parameters(parameters, inputs, order),
        outputs=tuple(sorted(outputs)),
        is_expression=pattern.sort == EXPRESSION,
        returns=any(isinstance(node, ast.Return) for part in first.region.statements for node in walk(part)),
        rest=next((index for index, sort in enumerate(pattern.hole_sorts) if sort == REST), None),
    )


def _sort_parameters(parameters: Sequence[Parameter], inputs: set[int], order: Sequence[int]) -> tuple[Parameter, ...]:
    """Return the parameters in the order in which the code first reads them.

    Parameters for expressions keep their order, in which they are evaluated.
    """
    variables = [parameter for parameter in parameters if parameter.hole in inputs]
    result: list[Parameter] = []
    for parameter in parameters[len(variables) :]:
        while variables and order.index(variables[0].hole) < order.index(parameter.hole):
            result.append(variables.pop(0))
        result.append(parameter)
    return (*result, *variables)


def fits_interface(interface: Interface, occurrence: Occurrence, program: ProgramTree) -> bool:
    """Return whether an occurrence can be replaced by a call with a given interface."""
    use = _analyse_use(occurrence, program)
    if isinstance(use, str):
        return False
    outputs = {use.hole_by_variable[name] for name in use.flow.maybe_written & use.live}
    inputs = {parameter.hole for parameter in interface.parameters if parameter.hole in occurrence.symbols}
    if not use.flow.always_leaves and not outputs <= set(interface.outputs):
        return False
    if not {_variable_name(use, index) for index in inputs} <= use.assigned:
        return False
    for parameter in interface.parameters:
        if parameter.callback_holes is not None:
            if not _fits_as_callback(parameter.hole, parameter.callback_holes, use, inputs):
                return False
            use = use.with_called_hole(parameter.hole)
    return all(_can_be_value(hole, use) for hole in use.positions)


def _fits_as_callback(hole: int, callback_holes: tuple[int, ...], use: _AnalysedUse, inputs: set[int]) -> bool:
    """Return whether the argument for a hole can be passed as a callback that receives only these variables."""
    numbers = {use.hole_by_variable[name] for name in _conflicting_variables(hole, use)}
    return numbers <= set(callback_holes) and _can_be_callback(hole, use, inputs)


def _can_be_callback(hole: int, use: _AnalysedUse, inputs: set[int]) -> bool:
    """Return whether an argument can be passed as a callback.

    All variables that are passed to the callback have to be assigned before the call.
    """
    available = {_variable_name(use, index) for index in inputs}.union(
        frozenset.intersection(*(position.bound for position in use.positions[hole]))
    )
    argument = use.argument(hole)
    can_be_lambda = _is_movable(argument) and not any(isinstance(node, ast.Await) for node in walk(argument))
    return (
        _conflicting_variables(hole, use) <= available
        and can_be_lambda
        and not use.program.calls.may_recurse([argument])
    )


def _variable_name(use: _AnalysedUse, index: int) -> str:
    """Return the name that a use gives to the variable in a hole."""
    return use.occurrence.symbols[index]


def _refuse_unassigned(uses: Sequence[_AnalysedUse], inputs: set[int], refused: dict[Site, str]) -> None:
    """Add a reason to `refused` for each use in which an input variable may have no value yet."""
    for use in uses:
        missing = {_variable_name(use, index) for index in inputs} - use.assigned
        if missing:
            refused[use.occurrence.site] = f"may read {min(missing)!r} before it has a value"


def _refuse_reordered(uses: Sequence[_AnalysedUse], refused: dict[Site, str]) -> None:
    """Add a reason to `refused` for each use in which an argument would be evaluated at another time."""
    for use in uses:
        if not all(_can_be_value(hole, use) for hole in use.positions):
            refused.setdefault(use.occurrence.site, "would be evaluated at another time")


def _choose_parameter(
    hole: int, uses: Sequence[_AnalysedUse], inputs: set[int], refused: dict[Site, str], order: Sequence[int]
) -> Parameter:
    """Return the parameter for a hole: a value if that fits at least half of the uses, otherwise a callback.

    Each use that the parameter does not fit is added to `refused`, with the reason.

    Args:
        order: Holes in the order of their first appearance, in which the callback receives its variables.
    """
    by_value = [use for use in uses if _can_be_value(hole, use)]
    if 2 * len(by_value) >= len(uses):
        for use in uses:
            if use not in by_value:
                refused[use.occurrence.site] = "would be evaluated at another time"
        return Parameter(hole=hole)
    callback_holes: set[int] = set()
    for use in uses:
        names = _conflicting_variables(hole, use)
        if names and _can_be_callback(hole, use, inputs):
            callback_holes |= {use.hole_by_variable[name] for name in names}
        else:  # a callback without arguments saves little and makes the code harder to read
            refused[use.occurrence.site] = "would be evaluated before its variables have a value"
    return Parameter(hole=hole, callback_holes=tuple(sorted(callback_holes, key=order.index)))


def _conflicting_variables(hole: int, use: _AnalysedUse) -> Names:
    """Return the variables that the argument for a hole reads and the abstraction assigns."""
    return Flows(use.program.symbols).of_node(use.argument(hole)).reads & use.written_variables()


def _can_be_value(hole: int, use: _AnalysedUse) -> bool:
    """Return whether an argument can be passed as a value: evaluated once, before the call, with the same result."""
    argument = use.argument(hole)
    if _conflicting_variables(hole, use) or not _is_movable(argument):
        return False
    positions, purity = use.positions[hole], use.program.purity
    if purity.is_atomic(argument):
        reads = Flows(use.program.symbols).of_node(argument).reads
        return not positions[0].is_lazy or reads <= use.assigned
    last_position = positions[-1]
    if positions[0].is_lazy or last_position.may_change or not may_be_evaluated_early(argument, last_position, purity):
        return False
    return len(positions) == 1 or (purity.is_repeatable(argument) and _is_unaffected_by_siblings(hole, use))


def _is_unaffected_by_siblings(hole: int, use: _AnalysedUse) -> bool:
    """Return whether the other arguments cannot change the value of the argument for this hole."""
    siblings = [use.argument(other_hole) for other_hole in use.positions if other_hole != hole]
    return not any(
        use.program.purity.has_side_effects(sibling) or use.program.purity.consumed_iterators(sibling)
        for sibling in siblings
    )


def _is_movable(argument: ast.AST) -> bool:
    """Return whether an expression contains no `yield` and no `:=`, and so may be moved."""
    return not any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.NamedExpr)) for node in walk(argument))


def group_by_pattern(occurrences: Sequence[Occurrence]) -> dict[str, list[Occurrence]]:
    """Return the occurrences, keyed by the name of the pattern. A pattern without occurrences has an empty list."""
    groups: dict[str, list[Occurrence]] = defaultdict(list)
    for occurrence in occurrences:
        groups[occurrence.pattern.name].append(occurrence)
    return groups
