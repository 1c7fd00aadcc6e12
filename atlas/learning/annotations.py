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
_SUPERTYPES = {
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
_BUILTIN_TYPES = frozenset(
    ("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
)
_UNSPECIFIC_TYPES = ("Any", "object")


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
    required_positional = positional[: len(positional) - len(arguments.defaults)]
    keyword_only = [
        arg for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    ]
    parameters = (
        *(Parameter(name=arg.arg, type=_unquote(arg.annotation)) for arg in required_positional),
        *(Parameter(name=arg.arg, type=_unquote(arg.annotation), is_keyword=True) for arg in keyword_only),
    )
    returns = _unquote(function.returns)
    returns_none = returns is not None and ast.unparse(returns) == "None"
    return TypedConcept(concept=concept, parameters=parameters, returns=None if returns_none else returns)


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
    if len(members := _union_members(actual)) > 1:
        return all(fits(member, expected) for member in members)
    if len(members := _union_members(expected)) > 1:
        return any(fits(actual, member) for member in members)
    actual_name, expected_name = _generic_name(actual), _generic_name(expected)
    if actual_name in _UNSPECIFIC_TYPES or expected_name in _UNSPECIFIC_TYPES:
        return False
    if actual_name != expected_name and expected_name not in _SUPERTYPES.get(actual_name, ()):
        return False
    actual_arguments, expected_arguments = _type_arguments(actual), _type_arguments(expected)
    if not actual_arguments or not expected_arguments:
        return True
    if actual_name != expected_name:
        return _type_arguments_fit(actual_arguments[0], expected_arguments[0])
    have_same_length = len(actual_arguments) == len(expected_arguments)
    return have_same_length and all(map(_type_arguments_fit, actual_arguments, expected_arguments))


def contradicts(declared: str, actual: str) -> bool:
    """Return whether both types are builtin and a value of type `actual` may not be passed as `declared`.

    Type arguments are not compared. Types that do not parse contradict nothing.
    """
    declared_types, actual_types = _read_union(declared), _read_union(actual)
    if not declared_types or not actual_types or not {*declared_types, *actual_types} <= _BUILTIN_TYPES:
        return False
    return not all(
        any(fits(ast.Name(actual_type), ast.Name(declared_type)) for declared_type in declared_types)
        for actual_type in actual_types
    )


def _read_union(text: str) -> list[str]:
    """Return the names of the types in a union, without their arguments. Empty if the text is no type."""
    tree = try_parse(text)
    if tree is None or not tree.body or not isinstance(tree.body[0], ast.Expr):
        return []
    return [_generic_name(member) for member in _union_members(tree.body[0].value)]


def _type_arguments_fit(actual: ast.expr, expected: ast.expr) -> bool:
    """Return whether type arguments are equal, or one is unspecific, or the actual one fits."""
    is_unspecific = _generic_name(expected) in _UNSPECIFIC_TYPES or _generic_name(actual) in _UNSPECIFIC_TYPES
    return is_unspecific or ast.dump(actual) == ast.dump(expected) or fits(actual, expected)


def _union_members(annotation: ast.expr) -> list[ast.expr]:
    """Return the members of a union, or the type itself if it is not a union."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_union_members(left), *_union_members(right)]
        case ast.Subscript(value=value, slice=inner) if _type_name(value) == "Optional":
            return [*_union_members(inner), ast.Constant(None)]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=members)) if _type_name(value) == "Union":
            return [inner_member for member in members for inner_member in _union_members(member)]
    return [annotation]


def _generic_name(annotation: ast.expr) -> str:
    """Return the name of a type without its arguments: `list` for `list[int]`."""
    return _type_name(annotation.value if isinstance(annotation, ast.Subscript) else annotation)


def _type_name(node: ast.expr) -> str:
    name = node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)
    return _BUILT_IN_GENERICS.get(name, name)


def _type_arguments(annotation: ast.expr) -> list[ast.expr]:
    """Return the arguments of a generic type: `[int]` for `list[int]`. Empty for any other type."""
    if not isinstance(annotation, ast.Subscript):
        return []
    inner = annotation.slice
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]
