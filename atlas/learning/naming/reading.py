"""Readings of code: a name, a sentence and the roles of its parameters, from idioms and from words."""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.learning.naming.asides import Aside, asides_of
from atlas.learning.naming.idioms import IDIOMS
from atlas.learning.naming.idioms.idiom import Idiom
from atlas.learning.naming.matching import Hole, Match
from atlas.learning.naming.telling import Names, shown
from atlas.learning.naming.wording import adjective, has_noun, noun, plural, several
from atlas.learning.search.forms.canonical import Form
from atlas.learning.search.forms.nodes import bound_in, count_names, is_boolean, load, substituted

MAX_HOLE_CHARACTERS = 60
"""Length of the code that a sentence shows of a hole."""

_SUBJECTS = ("item", "other_item")
"""Names for what the code in a hole is about."""


def _error(value: ast.expr, subject: str) -> str:
    """Return the words of an error that is raised, such as `value_error`."""
    raised = value.func if isinstance(value, ast.Call) else value
    name = raised.id if isinstance(raised, ast.Name) else ""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() if name.endswith(("Error", "Exception")) else ""


_WORDS: Mapping[str, Callable[[ast.expr, str], str]] = {
    "TEST": adjective,
    "TESTS": lambda test, subject: several(adjective(test, subject)),
    "ERROR": _error,
    "VALUE": noun,
    "VALUES": lambda value, subject: plural(noun(value, subject)),
}
_SLOT = re.compile(r"\{(\w+)\}")
_TWOFOLD = re.compile(
    r"minus_.*minus_|_of_.*_(plus|minus|times|over)_|_and_.*_or_|_or_.*_and_|(^|_)not_.*_(and|or)_|_of_(lower|upper)case$"
)
"""Names that can be read in two ways: nothing in a name says where brackets stand, or that a text was changed first."""

_VERBS = {
    "containing": "contains",
    "not_containing": "lacks",
    "starting_with": "starts_with",
    "ending_with": "ends_with",
}
_RESULTS = {
    **{
        "lowercase": "to_lowercase",
        "uppercase": "to_uppercase",
        "words": "split_into_words",
        "text": "to_text",
        "integer": "to_integer",
    },
    **{"capitalized": "capitalize_text", "stripped": "strip_text", "list": "to_list", "tuple": "to_tuple"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The name, the sentence and the roles that code gives itself."""

    names: tuple[str, ...]
    """Names, best first. There is none where no name is surely right."""

    say: Callable[[Names], str]
    """Sentence without its stop, from the names of the parameters."""

    roles: Mapping[str, str] = field(default_factory=dict)
    """Names for parameters, by the code's own names."""


def readings_of(form: Form) -> Iterator[Reading]:
    """Yield what code says of itself, the best first. What stands aside of its work is told behind it."""
    for aside in asides_of(form):
        for reading in _readings_of(aside):
            clear = (name for name in reading.names if not _TWOFOLD.search(name))
            yield replace(reading, names=tuple(f"{name}{aside.ending}" for name in clear))


def _readings_of(aside: Aside) -> Iterator[Reading]:
    for idiom in IDIOMS:
        match = idiom.match(aside.form)
        if match is not None:
            yield _of_idiom(idiom, match, aside)
    yield from _of_words(aside)


def _of_idiom(idiom: Idiom, match: Match, aside: Aside) -> Reading:
    filled = (_filled(name, match, aside.form.parameters) for name in idiom.names)
    roles = {own: role for role, own in match.names.items() if own in aside.form.parameters}

    def say(names: Names) -> str:
        said = _SLOT.sub(lambda slot: _told(slot[1], match, names), idiom.says)
        return said + aside.say(names)

    return Reading(names=tuple(name for name in filled if name), say=say, roles=roles)


def _filled(name: str, match: Match, parameters: Sequence[str]) -> str:
    """Return a name with words for its holes, empty where one of them has none."""
    for slot in _SLOT.findall(name):
        hole = match.holes.get(slot) or match.holes[slot.removesuffix("S")]
        said = "" if _calls(hole.value, parameters) else _WORDS[slot](hole.value, next(iter(hole.subjects), ""))
        if not said or _hides(hole.value, said, {*parameters, *hole.subjects}):
            return ""
        if _is_before(count_names([hole.value]), match.names.values(), parameters):
            return ""
        name = name.replace(f"{{{slot}}}", said)
    return name


def _calls(value: ast.expr, parameters: Sequence[str]) -> bool:
    """Return whether a value calls one of the parameters, of which nobody knows what it does."""
    called = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    return any(isinstance(function, ast.Name) and function.id in parameters for function in called)


def _hides(value: ast.expr, said: str, known: Collection[str]) -> bool:
    """Return whether the words for a value keep silent about a name of the programs that it reads: `below` a limit."""
    nodes = list(ast.walk(value))
    called = {
        name.id
        for node in nodes
        if isinstance(node, ast.Call)
        for name in ast.walk(node.func)
        if isinstance(name, ast.Name)
    }
    read = {node.id for node in nodes if isinstance(node, ast.Name)} - called - set(known) - bound_in([value])
    return any(name.lower().strip("_") not in said for name in read - set(dir(builtins)))


def _is_before(read: Collection[str], subjects: Collection[str], parameters: Sequence[str]) -> bool:
    """Return whether an argument that others are compared with stands before them: `is_below(limit, number)`."""
    of = [parameters.index(own) for own in subjects if own in parameters]
    return any(parameters.index(own) < min(of) for own in set(read) - set(subjects) if of and own in parameters)


def _told(slot: str, match: Match, names: Names) -> str:
    """Return a parameter, or the code in a hole, as it is shown in a sentence."""
    if slot in match.names:
        return f"`{names(match.names[slot])}`"
    text = shown(_about_items(match.holes[slot]), names)
    return f"`{text}`" if len(text) <= MAX_HOLE_CHARACTERS else "a longer expression"


def _about_items(hole: Hole) -> ast.expr:
    """Return the code of a hole as it is shown."""
    words = {own: load(word) for own, word in zip(hole.subjects, _SUBJECTS, strict=False)}
    turned: ast.expr = _Turning(_SUBJECTS).visit(substituted(hole.value, words))
    return turned


class _Turning(ast.NodeTransformer):
    """Comparisons that begin with what they are about: `item > 3` for `3 < item`."""

    def __init__(self, subjects: Collection[str]) -> None:
        self._subjects = set(subjects)

    def visit_Compare(self, node: ast.Compare) -> ast.Compare:
        operator = {ast.Lt: ast.Gt, ast.LtE: ast.GtE}.get(type(node.ops[0]))
        if operator is None or count_names([node.left]).keys() & self._subjects:
            return node
        return ast.Compare(node.comparators[0], [operator()], [node.left])


def _of_words(aside: Aside) -> Iterator[Reading]:
    """Yield what the words for a returned expression say."""
    value = aside.form.value
    if value is None or _calls(value, aside.form.parameters):
        return
    for own in aside.form.parameters:
        if is_boolean(value):
            said = adjective(value, own) if not _is_before(count_names([value]), [own], aside.form.parameters) else ""
            if said and not _hides(value, said, aside.form.parameters):
                yield _telling(said, own, value, aside)
        else:
            said = noun(value, own) if not _is_before(count_names([value]), [own], aside.form.parameters) else ""
            if said and not _hides(value, said, aside.form.parameters):
                yield _making(said, own, value, aside)


def _telling(said: str, own: str, value: ast.expr, aside: Aside) -> Reading:
    turned = _Turning({own}).visit(copy.deepcopy(value))
    name = _verb(said) if any(word in said for word in _VERBS) else _state(said)
    return Reading(
        names=(name,) if name else (),
        say=lambda named: f"Tells whether `{shown(turned, named)}` is true{aside.say(named)}",
    )


def _verb(said: str) -> str:
    """Return for example `contains_a` for `containing_a`, empty where other words are around it."""
    if re.search(r"(^|_)(and|or)_|^not_(?!containing)", said):
        return ""
    return next((said.replace(word, verb, 1) for word, verb in _VERBS.items() if said.startswith(word)), "")


def _state(said: str) -> str:
    return f"has_{said.removeprefix('of_')}" if has_noun(said) else f"is_{said}"


def _making(said: str, own: str, value: ast.expr, aside: Aside) -> Reading:
    return Reading(
        names=(_RESULTS.get(said, said),),
        say=lambda named: (
            f"Returns the {said.replace('_of_', '_of_the_').replace('_', ' ')} of `{named(own)}`: "
            f"`{shown(value, named)}`{aside.say(named)}"
        ),
    )
