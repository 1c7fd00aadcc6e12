"""Types in signatures, and whether a value of one type may be passed where another is expected."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from atlas.core.types import CodeConcept
from atlas.learning.terms.names import Function, function_of
from atlas.learning.terms.parsing import try_parse

_BUILT_IN_GENERICS = {
    "List": "list",
    "Dict": "dict",
    "Tuple": "tuple",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Text": "str",
}
_WIDER = {
    "bool": ("int", "float", "complex"),
    "int": ("float", "complex"),
    "float": ("complex",),
    "list": ("Sequence", "Iterable", "Collection", "Sized", "Container", "Reversible", "MutableSequence"),
    "tuple": ("Sequence", "Iterable", "Collection", "Sized", "Container", "Reversible"),
    "str": ("Iterable", "Sized", "Container"),
    "dict": ("Mapping", "MutableMapping", "Iterable", "Collection", "Sized", "Container"),
    "set": ("Iterable", "Collection", "Sized", "Container", "AbstractSet"),
    "frozenset": ("Iterable", "Collection", "Sized", "Container", "AbstractSet"),
    "Sequence": ("Iterable", "Collection", "Sized", "Container", "Reversible"),
    "Iterator": ("Iterable",),
    "Generator": ("Iterator", "Iterable"),
}
_BUILTIN = frozenset(("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"))
_UNSPECIFIC = ("Any", "object")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter without a default."""

    name: str
    type: ast.expr | None
    """Annotation, or None if there is none."""

    is_keyword: bool = False
    """True if the argument can only be passed as a keyword."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedConcept:
    """The parameter types and the return type of a concept's function."""

    concept: CodeConcept
    parameters: tuple[Parameter, ...]
    returns: ast.expr | None
    """Annotation of the result, or None if it is missing or `None`."""


def typed_concept(concept: CodeConcept) -> TypedConcept:
    """Return the types in a concept's signature, or in its code if it has no signature.

    Raises:
        InvalidInput: The code does not parse, or defines no function.
    """
    function = _function_of_signature(concept.signature, concept.name) or function_of(concept.code, concept.name)
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    required = positional[: len(positional) - len(arguments.defaults)]
    keyword_only = [
        arg for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    parameters = (
        *(Parameter(name=arg.arg, type=_unquote(arg.annotation)) for arg in required),
        *(Parameter(name=arg.arg, type=_unquote(arg.annotation), is_keyword=True) for arg in keyword_only),
    )
    returns = _unquote(function.returns)
    is_nothing = returns is not None and ast.unparse(returns) == "None"
    return TypedConcept(concept=concept, parameters=parameters, returns=None if is_nothing else returns)


def _function_of_signature(signature: str, name: str) -> Function | None:
    tree = try_parse(f"def {signature.strip().removeprefix('def ').removesuffix(':')}: ...") if signature else None
    function = tree.body[0] if tree is not None and len(tree.body) == 1 else None
    return function if isinstance(function, Function) and function.name == name else None


def _unquote(annotation: ast.expr | None) -> ast.expr | None:
    """Return an annotation, parsed if it is quoted, or None if it does not parse."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        tree = try_parse(annotation.value)
        inner = tree.body[0] if tree is not None and len(tree.body) == 1 else None
        return inner.value if isinstance(inner, ast.Expr) else None
    return annotation


def fits(actual: ast.expr | None, expected: ast.expr | None) -> bool:
    """Return whether a value of one type may be passed where another type is expected.

    Names are compared as text, so that an alias fits itself. A container without type arguments fits one with any. The
    result is False if a type is missing or `Any`.
    """
    if actual is None or expected is None:
        return False
    if len(members := _members(actual)) > 1:
        return all(fits(member, expected) for member in members)
    if len(members := _members(expected)) > 1:
        return any(fits(actual, member) for member in members)
    actual_origin, expected_origin = _origin(actual), _origin(expected)
    if actual_origin in _UNSPECIFIC or expected_origin in _UNSPECIFIC:
        return False
    if actual_origin != expected_origin and expected_origin not in _WIDER.get(actual_origin, ()):
        return False
    actual_contents, expected_contents = _contents(actual), _contents(expected)
    if not actual_contents or not expected_contents:
        return True
    if actual_origin != expected_origin:
        return _contents_fit(actual_contents[0], expected_contents[0])
    have_same_length = len(actual_contents) == len(expected_contents)
    return have_same_length and all(map(_contents_fit, actual_contents, expected_contents))


def contradicts(declared: str, actual: str) -> bool:
    """Return whether both types are builtin and a value of type `actual` may not be passed as `declared`.

    Type arguments are not compared. Types that do not parse contradict nothing.
    """
    trees = [try_parse(text) for text in (declared, actual)]
    values = [tree.body[0].value for tree in trees if tree and tree.body and isinstance(tree.body[0], ast.Expr)]
    origins = [[_origin(member) for member in _members(value)] for value in values]
    if len(origins) < 2 or not {name for names in origins for name in names} <= _BUILTIN:
        return False
    expected = [ast.Name(name) for name in origins[0]]
    return not all(any(fits(ast.Name(name), kind) for kind in expected) for name in origins[1])


def _contents_fit(actual: ast.expr, expected: ast.expr) -> bool:
    is_open = _origin(expected) in _UNSPECIFIC or _origin(actual) in _UNSPECIFIC
    return is_open or ast.dump(actual) == ast.dump(expected) or fits(actual, expected)


def _members(annotation: ast.expr) -> list[ast.expr]:
    """Return the members of a union, or the type itself if it is not a union."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_members(left), *_members(right)]
        case ast.Subscript(value=value, slice=inner) if _name(value) == "Optional":
            return [*_members(inner), ast.Constant(None)]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=members)) if _name(value) == "Union":
            return [inner_member for member in members for inner_member in _members(member)]
    return [annotation]


def _origin(annotation: ast.expr) -> str:
    return _name(annotation.value if isinstance(annotation, ast.Subscript) else annotation)


def _name(node: ast.expr) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
    return _BUILT_IN_GENERICS.get(name, name)


def _contents(annotation: ast.expr) -> list[ast.expr]:
    if not isinstance(annotation, ast.Subscript):
        return []
    inner = annotation.slice
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]
