"""Extraction of definitions that several programs share into a library."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.core.errors import InvalidInput
from atlas.learning.reading import Tools, reading_problem
from atlas.learning.rewrite.definitions import (
    Definition,
    MovableDefinition,
    canonical_function,
    dependency_closure,
    equivalence_key,
    find_keywords,
    find_movable_definitions,
    parameters_in,
)
from atlas.learning.rewrite.gates import FunctionBody, FunctionUsage, body_problem, usage_problem
from atlas.learning.rewrite.rename import Renamer
from atlas.learning.search.forms.nodes import copy_tree
from atlas.learning.search.limits import Limits
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.imports import merge_imports, removable_imports, remove_unread_imports
from atlas.learning.terms.names import Function, bound_names, parameters_of
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.parsing import try_parse
from atlas.learning.terms.programs import Program
from atlas.learning.terms.scopes import TOOL, bindings, find_constants, is_constant
from atlas.learning.terms.walking import walk

ALIAS_TOKENS = 3
"""Number of tokens of `name = shared`, an alias that keeps the program's own name for a shared definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDefinition:
    """A function or class that several programs define."""

    name: str
    source: str
    calls: tuple[str, ...]
    """Names of the other shared definitions that the definition uses directly."""

    tools: tuple[str, ...]
    arity: int
    """Number of parameters, 0 for a class."""

    key: str
    form: str
    """Key of the canonical form."""

    parameters: tuple[str, ...]
    """Parameter names of the definition and of all definitions that it depends on."""


class LazyKeys(dict[str, str]):
    """A mapping from names of definitions to keys, each of which is computed on first access."""

    def __init__(self, key_of: Callable[[str], str]) -> None:
        super().__init__()
        self._key_of = key_of

    def __missing__(self, name: str) -> str:
        """Compute and cache the key of a definition."""
        return self.setdefault(name, self._key_of(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedProgram:
    """A program whose definitions may be shared."""

    program: Program
    module: ast.Module
    definitions: Mapping[str, MovableDefinition]
    keywords: Collection[str]
    keys: Mapping[str, str]
    """Key of each definition (see `equivalence_key`), keyed by the definition's name."""

    forms: Mapping[str, str]
    """Key of each definition's canonical form, keyed by the definition's name."""

    lengths: Mapping[str, int]
    """Number of tokens of each definition, keyed by the definition's name."""

    parameters: Mapping[str, tuple[str, ...]]
    """Parameter names of each definition and of all that it depends on, keyed by the definition's name."""

    shareable_forms: Mapping[str, str]
    """The `forms` without that of the program's main definition (see `_find_main_definition`)."""

    tool_names: Collection[str]
    """Names of the tools that the program uses."""

    is_verified: bool = False
    """True if the program is run with shared definitions, so that an equal canonical form suffices."""

    def is_replaceable(self, name: str, key: str) -> bool:
        """Return whether a shared definition with this key and an equal canonical form may replace a definition."""
        return self.is_verified or self.keys[name] == key

    def may_have_parameters(self, name: str, parameters: tuple[str, ...]) -> bool:
        """Return whether the parameters of a definition and of its dependencies may be renamed to these."""
        current = self.parameters[name]
        return current == parameters or not (set(current) | set(parameters)) & set(self.keywords)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedDefinitions:
    """Definitions that several programs share, and the programs without their own copies."""

    definitions: tuple[SharedDefinition, ...] = ()
    """Shared definitions, callees first except in cycles."""

    programs: Mapping[str, Program] = field(default_factory=dict)
    """Programs that use shared definitions, without their own copies, keyed by id."""

    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the shared definitions that each program needs, in the order of the library, keyed by program id."""

    def prelude(self, program_id: str, stub: str = "") -> str:
        """Return the source of the shared definitions that a program needs, to put before the program.

        Args:
            stub: Code to append to the definitions.
        """
        needed = self.used.get(program_id, ())
        parts = [definition.source for definition in self.definitions if definition.name in needed]
        return "".join(f"{part}\n\n\n" for part in (*parts, stub) if part)


def extract_shared_definitions(
    parsed_programs: Sequence[ParsedProgram],
    limits: Limits,
    prefix: str,
    excluded: Collection[str] = (),
    verified_ids: Collection[str] = (),
) -> SharedDefinitions:
    """Return the definitions that programs of several tasks have in common, and the programs without their own copies.

    Args:
        prefix: Prefix of the names of shared functions. Classes keep their name.
        excluded: Canonical forms of definitions that must not be shared.
        verified_ids: Ids of programs that are run with the shared definitions.
    """
    parsed_programs = _mark_verified(parsed_programs, verified_ids)
    groups: dict[str, list[tuple[ParsedProgram, str]]] = defaultdict(list)
    for parsed in parsed_programs:
        for name, form in parsed.shareable_forms.items():
            groups[form].append((parsed, name))
    tool_names = {name for parsed in parsed_programs for name in parsed.tool_names}
    refused = frozenset(excluded)
    while True:
        chosen = _choose_definitions(groups, tool_names, limits, refused)
        names = _name_definitions(chosen, prefix)
        definitions = _order_callees_first(
            {names[form]: _share_definition(form, *chosen[form], names) for form in chosen}
        )
        sharing = _rewrite_programs(parsed_programs, definitions)
        called = {callee for definition in definitions for callee in definition.calls}
        unused = set[str]()
        for definition in definitions:
            usage = _measure_usage(definition, groups[definition.form], sharing)
            is_useless = definition.name not in called and usage_problem(usage, limits)
            if is_useless or usage.n_tasks < limits.min_tasks:
                unused.add(definition.form)
        if not unused:
            return sharing
        refused |= unused


def apply_definitions(
    definitions: Sequence[SharedDefinition],
    parsed_programs: Sequence[ParsedProgram],
    verified_ids: Collection[str] = (),
) -> SharedDefinitions:
    """Replace the definitions of programs by equal definitions of a library.

    Args:
        verified_ids: Ids of programs that are run with the shared definitions.
    """
    classes_by_name = {definition.name for definition in definitions}
    fitting = [parsed for parsed in parsed_programs if not classes_by_name & set(parsed.tool_names)]
    return _rewrite_programs(_mark_verified(fitting, verified_ids), definitions)


def parse_programs(programs: Sequence[Program], tools: Tools) -> list[ParsedProgram]:
    """Return the programs that can be parsed, each with the definitions that it may share.

    Args:
        tools: Returns the names that are tools if the program does not bind them.
    """
    forms_by_key: dict[str, str] = {}
    parsed_programs = (_try_analyse(program, tools(program), forms_by_key) for program in programs)
    return [parsed for parsed in parsed_programs if parsed is not None]


def _mark_verified(parsed_programs: Sequence[ParsedProgram], verified_ids: Collection[str]) -> list[ParsedProgram]:
    """Return the programs, marked as verified if their ids are among these."""
    return [replace(parsed, is_verified=parsed.program.id in verified_ids) for parsed in parsed_programs]


def _try_analyse(program: Program, tools: Container[str], forms_by_key: dict[str, str]) -> ParsedProgram | None:
    """Return a program with its definitions, or None if it is invalid or nested too deeply.

    Args:
        forms_by_key: Cache of canonical forms, to which new ones are added. Computing them takes most of the time.
    """
    try:
        return _analyse(program, tools, forms_by_key)
    except (InvalidInput, RecursionError):
        return None


def _analyse(program: Program, tools: Container[str], forms_by_key: dict[str, str]) -> ParsedProgram | None:
    """Return a program with its definitions, or None if it cannot be compressed."""
    module = normalise(program.source)
    if reading_problem(module):
        return None
    tests = try_parse(program.tests) or ast.Module(body=[], type_ignores=[])
    origins = bindings(module, tools)
    definitions = find_movable_definitions(module, origins, replaced=bound_names(tests))
    keys = LazyKeys(lambda name: equivalence_key(name, definitions))

    def form_of(name: str) -> str:
        if keys[name] not in forms_by_key:
            forms_by_key[keys[name]] = equivalence_key(name, definitions, canonical_function)
        return forms_by_key[keys[name]]

    forms, main = LazyKeys(form_of), _find_main_definition(module, definitions)
    return ParsedProgram(
        program=program,
        module=module,
        definitions=definitions,
        keywords=find_keywords(module, tests),
        keys=keys,
        forms=forms,
        lengths={name: n_tokens(ast.unparse(definition.node)) for name, definition in definitions.items()},
        parameters={name: parameters_in(name, definitions) for name in definitions},
        shareable_forms={name: forms[name] for name in definitions if name not in main},
        tool_names={node.id for node in walk(module) if isinstance(node, ast.Name) and origins.get(id(node)) == TOOL},
    )


def _find_main_definition(module: ast.Module, definitions: Mapping[str, MovableDefinition]) -> set[str]:
    """Return a set of the name of a program's main definition, the only one that no other definition mentions.

    The set is empty if there is no such definition, or if the program does more than define, import and assign
    constants. The main definition is not shared: the search would find nothing else in the program, and no other task
    needs it.
    """
    constants = find_constants(module).values()
    others = [node for node in module.body if not isinstance(node, Definition | ast.Import | ast.ImportFrom)]
    if not all(ast.unparse(node) in constants for node in others):
        return set()
    mentioned = {node.name: set(_mentioned_names(node)) for node in module.body if isinstance(node, Definition)}
    unmentioned = {
        name for name in mentioned if not any(name in names for other, names in mentioned.items() if other != name)
    }
    return unmentioned & definitions.keys() if len(unmentioned) == 1 else set()


def _choose_definitions(
    groups: Mapping[str, Sequence[tuple[ParsedProgram, str]]],
    tool_names: Collection[str],
    limits: Limits,
    excluded: frozenset[str],
) -> dict[str, tuple[ParsedProgram, str]]:
    """Return the definitions worth sharing and their dependencies, keyed by form.

    Each value is the program to copy the definition from, and the definition's name in it.
    """
    representatives = {form: _most_common_member(members) for form, members in groups.items()}
    chosen: dict[str, tuple[ParsedProgram, str]] = {}
    classes_by_name: dict[str, str] = {}
    for form in sorted(groups, key=lambda form: (-_saving(groups[form]), form)):
        parsed, name = representatives[form]
        replaceable = [
            (user, own_name) for user, own_name in groups[form] if user.is_replaceable(own_name, parsed.keys[name])
        ]
        if _sharing_problem(replaceable, parsed, name, limits):
            continue
        needed = [parsed.forms[dependency] for dependency in dependency_closure(name, parsed.definitions)]
        classes = {representatives[form][1]: form for form in needed if not _is_function(*representatives[form])}
        has_no_conflict = not excluded.intersection(needed) and all(
            classes_by_name.get(class_name, expected_form) == expected_form and class_name not in tool_names
            for class_name, expected_form in classes.items()
        )
        if has_no_conflict and all(
            parsed.may_have_parameters(dependency, _shared_parameters(representatives, parsed, dependency))
            for dependency in dependency_closure(name, parsed.definitions)
        ):
            classes_by_name |= classes
            chosen |= {form: representatives[form] for form in needed}
    return chosen


def _shared_parameters(
    representatives: Mapping[str, tuple[ParsedProgram, str]], parsed: ParsedProgram, name: str
) -> tuple[str, ...]:
    """Return the parameter names that a program's definition would have as a shared definition."""
    origin, name_in_origin = representatives[parsed.forms[name]]
    return origin.parameters[name_in_origin]


def _most_common_member(members: Sequence[tuple[ParsedProgram, str]]) -> tuple[ParsedProgram, str]:
    """Return the program and the name of the definition whose code and parameter names are the most frequent.

    Definitions whose parameters are passed by keyword come first, because they cannot be renamed.
    """
    counts = Counter((parsed.keys[name], parsed.parameters[name]) for parsed, name in members)
    unrenamable = [(parsed, name) for parsed, name in members if set(parsed.parameters[name]) & set(parsed.keywords)]

    def frequency_and_brevity(member: tuple[ParsedProgram, str]) -> tuple[int, int]:
        parsed, name = member
        return counts[parsed.keys[name], parsed.parameters[name]], -parsed.lengths[name]

    return max(unrenamable or members, key=frequency_and_brevity)


def _is_function(parsed: ParsedProgram, name: str) -> bool:
    return isinstance(parsed.definitions[name].node, Function)


def _saving(members: Sequence[tuple[ParsedProgram, str]]) -> int:
    """Return the number of tokens saved by sharing a definition: one copy stays, and each program gets an alias."""
    lengths = [parsed.lengths[name] for parsed, name in members]
    return sum(length - ALIAS_TOKENS for length in lengths) - max(lengths, default=0)


def _sharing_problem(
    members: Sequence[tuple[ParsedProgram, str]], parsed: ParsedProgram, name: str, limits: Limits
) -> str:
    """Return the reason why a definition is not worth sharing. Empty if it is worth sharing.

    Args:
        members: The programs that contain the definition, each with the name that it has there.
    """
    tasks = {user.program.task_id for user, _ in members}
    if problem := usage_problem(FunctionUsage(n_tasks=len(tasks), saving=_saving(members)), limits):
        return problem
    node = parsed.definitions[name].node
    parameters = {argument.arg for argument in node.args.args} if isinstance(node, Function) else set[str]()
    length = n_tokens(ast.unparse(ast.Module(body=node.body, type_ignores=[])))
    body = FunctionBody(statements=node.body, parameters=parameters, n_tokens=length)
    return body_problem(body, limits)


def _measure_usage(
    definition: SharedDefinition, members: Sequence[tuple[ParsedProgram, str]], sharing: SharedDefinitions
) -> FunctionUsage:
    """Return how much a definition is used, without the programs that must keep other parameter names."""
    users = [(parsed, name) for parsed, name in members if definition.name in sharing.used.get(parsed.program.id, ())]
    return FunctionUsage(n_tasks=len({parsed.program.task_id for parsed, _ in users}), saving=_saving(users))


def _name_definitions(chosen: Mapping[str, tuple[ParsedProgram, str]], prefix: str) -> dict[str, str]:
    """Return the names of the shared definitions, keyed by form."""
    functions = [form for form, member in chosen.items() if _is_function(*member)]
    names = {form: f"{prefix}{number}" for number, form in enumerate(functions)}
    return {form: names.get(form, name) for form, (_, name) in chosen.items()}


def _share_definition(form: str, parsed: ParsedProgram, name: str, names: Mapping[str, str]) -> SharedDefinition:
    """Return a program's definition under its shared name, with the shared names of the definitions that it uses."""
    definition = parsed.definitions[name]
    renamed = {used_name: names[parsed.forms[used_name]] for used_name in (name, *definition.calls)}
    node = copy_tree(definition.node)
    Renamer(renamed).visit(node)
    node.body[:0] = ast.parse("\n".join(filter(is_constant, definition.imports))).body
    imports = ast.parse(
        "\n".join(merge_imports(statement for statement in definition.imports if not is_constant(statement)))
    ).body
    module = ast.fix_missing_locations(ast.Module(body=[*imports, node], type_ignores=[]))
    return SharedDefinition(
        name=names[form],
        source=ast.unparse(module),
        calls=tuple(names[parsed.forms[callee]] for callee in definition.calls),
        tools=definition.tools,
        arity=_arity(definition),
        key=parsed.keys[name],
        form=form,
        parameters=parsed.parameters[name],
    )


def _arity(definition: MovableDefinition) -> int:
    """Return the number of parameters, 0 for a class."""
    return len(parameters_of(definition.node)) if isinstance(definition.node, Function) else 0


def _order_callees_first(definitions: Mapping[str, SharedDefinition]) -> tuple[SharedDefinition, ...]:
    """Return the definitions so that each follows those that it uses, except in cycles."""
    ordered: dict[str, SharedDefinition] = {}
    visited: set[str] = set()

    def visit(name: str) -> None:
        if name not in visited:
            visited.add(name)
            for callee in definitions[name].calls:
                visit(callee)
            ordered[name] = definitions[name]

    for name in definitions:
        visit(name)
    return tuple(ordered.values())


def _rewrite_programs(
    parsed_programs: Sequence[ParsedProgram], definitions: Sequence[SharedDefinition]
) -> SharedDefinitions:
    """Replace the definitions of programs by shared ones wherever all their dependencies can be replaced too."""
    by_form = {definition.form: definition for definition in definitions}
    programs: dict[str, Program] = {}
    used_names: dict[str, tuple[str, ...]] = {}
    for parsed in parsed_programs:
        replacements = _find_replacements(parsed, by_form)
        renamable = {
            name for name, shared in replacements.items() if parsed.may_have_parameters(name, shared.parameters)
        }
        shared_names = {
            name: definition.name
            for name, definition in replacements.items()
            if renamable >= set(dependency_closure(name, parsed.definitions))
        }
        if shared_names:
            module = _use_shared_definitions(parsed, shared_names)
            programs[parsed.program.id] = replace(parsed.program, source=ast.unparse(module) + "\n")
            used_names[parsed.program.id] = tuple(
                definition.name for definition in definitions if definition.name in shared_names.values()
            )
    return SharedDefinitions(definitions=tuple(definitions), programs=programs, used=used_names)


def _find_replacements(parsed: ParsedProgram, by_form: Mapping[str, SharedDefinition]) -> dict[str, SharedDefinition]:
    """Return the shared definitions that may replace a program's own, keyed by the name of the program's definition.

    The result is empty for code that is nested too deeply. Only definitions with as many parameters as a shared
    definition are compared, because computing a canonical form takes milliseconds.
    """
    arities = {definition.arity for definition in by_form.values()}
    try:
        candidates = {
            name: by_form.get(parsed.forms[name])
            for name, definition in parsed.definitions.items()
            if _arity(definition) in arities
        }
    except (InvalidInput, RecursionError):
        return {}
    return {name: shared for name, shared in candidates.items() if shared and parsed.is_replaceable(name, shared.key)}


def _use_shared_definitions(parsed: ParsedProgram, shared: Mapping[str, str]) -> ast.Module:
    """Return a program that uses shared definitions instead of its own.

    Args:
        shared: Names of the shared definitions, keyed by the program's own names.
    """
    tests = try_parse(parsed.program.tests)
    names_in_tests = set(_mentioned_names(tests)) if tests is not None else None
    remaining = ast.Module(
        body=[node for node in parsed.module.body if getattr(node, "name", "") not in shared], type_ignores=[]
    )
    new_names = {name: new_name for name, new_name in shared.items() if new_name != name}
    fixed_names = bound_names(remaining) | (names_in_tests or set())
    aliased = set(new_names)  # all of them if the tests cannot be read
    if names_in_tests is not None:
        called = {callee for name in shared for callee in parsed.definitions[name].calls}
        unused = shared.keys() - set(_mentioned_names(remaining)) - called
        aliased &= fixed_names | unused
    renamer = Renamer({name: new_name for name, new_name in new_names.items() if name not in fixed_names})
    body: list[ast.stmt] = []
    for node in copy_tree(parsed.module).body:
        name = getattr(node, "name", "")
        if name not in shared:
            renamer.visit(node)
            body.append(node)
        elif name in aliased:
            body.append(ast.Assign(targets=[ast.Name(name, ast.Store())], value=ast.Name(shared[name], ast.Load())))
    module = ast.fix_missing_locations(ast.Module(body=body, type_ignores=[]))
    return remove_unread_imports(module, removable_imports(parsed.module, frozenset(names_in_tests or ())))


def _mentioned_names(tree: ast.AST) -> Iterator[str]:
    """Yield all names in code, including attributes and strings."""
    for node in walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name
