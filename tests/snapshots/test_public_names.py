"""The public names, and the parameters and results of what they name.

Where a class lives, what it inherits from and how a coroutine is made do not count. A method whose name is that of
another with an `a` before it is taken for its async twin.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import atlas
from atlas.testing import HashEmbedder
from tests.support.snapshots import assert_unchanged

LASTING = (
    "atlas.core.types",
    "atlas.infra.embeddings",
    "atlas.infra.vector_index",
    "atlas.memory.concepts",
    "atlas.memory.experience",
    "atlas.memory.primitives.arc",
    "atlas.memory.primitives.swe",
    "atlas.memory.storage",
    "atlas.memory.strategies",
    "atlas.memory.system",
    "atlas.protea",
    "atlas.protocols.infra",
    "atlas.protocols.memory",
    "atlas.protocols.strategies",
    "atlas.testing",
)
"""Modules whose paths stay, with every name that they export."""

OF_README = {
    "atlas.memory.journal": ("CompactPlan", "Journal", "LinkGraph", "LinkSuggestion"),
}
"""Modules that the README has users import from, with what they find there."""

MEMORIES = ("experience", "concepts", "strategies", "journal", "conversations")
PROTOCOL_METHODS = ("__call__", "__contains__", "__enter__", "__exit__", "__getitem__", "__iter__", "__len__")


@pytest.fixture
def memory(tmp_path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(), settings=atlas.Settings(actor="tester")) as opened:
        yield opened


def test_the_names_of_the_package_and_of_lasting_modules_are_the_same():
    found = [(module, name) for module, names in every_name().items() for name in sorted(names)]
    assert_unchanged("names", (f"{module}.{name}: {kind(name, at(module, name))}" for module, name in found))


def test_the_signatures_of_what_is_exported_are_the_same(memory):
    elsewhere = opened_classes(memory).values()
    found = {name: at(module, name) for module, names in every_name().items() for name in names}
    rest = [name for name in sorted(found) if found[name] not in elsewhere]
    assert_unchanged("signatures", (line for name in rest for line in described(name, found[name])))


def test_the_signatures_of_an_opened_memory_are_the_same(memory):
    found = opened_classes(memory)
    assert_unchanged("signatures_of_memories", (line for name in found for line in described(name, found[name])))


def every_name() -> dict[str, tuple[str, ...]]:
    """The public names, by the module to import them from."""
    return {"atlas": tuple(atlas.__all__)} | {module: exported(module) for module in LASTING} | OF_README


def opened_classes(memory: atlas.MemorySystem) -> dict[str, type]:
    """What users get from `open_memory`, by how they reach it."""
    return {"memory": type(memory)} | {f"memory.{name}": type(getattr(memory, name)) for name in MEMORIES}


def exported(module: str) -> tuple[str, ...]:
    """The names that a module exports: those it lists, or the classes and functions that it defines."""
    found = import_module(module)
    defined = (name for name, value in vars(found).items() if getattr(value, "__module__", None) == module)
    return tuple(getattr(found, "__all__", None) or [name for name in defined if not name.startswith("_")])


def at(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def kind(name: str, value: Any) -> str:
    """What a name stands for, in words."""
    if not inspect.isclass(value):
        return "function" if callable(value) else type(value).__name__
    words = ["error"] if issubclass(value, Exception) else []
    words += ["protocol"] if getattr(value, "_is_protocol", False) else []
    words += [_dataclass_kind(value)] if dataclasses.is_dataclass(value) else []
    alias = f", {value.__name__}" if value.__name__ != name else ""
    return (" ".join(words) or "class") + alias


def _dataclass_kind(value: Any) -> str:
    return "frozen dataclass" if value.__dataclass_params__.frozen else "dataclass"


def described(name: str, value: Any) -> Iterator[str]:
    """A name with its parameters, and if it is of a class the public members of that."""
    if not callable(value):
        return
    yield f"{name}{signature(value)}"
    if inspect.isclass(value):
        if issubclass(value, Exception):
            yield f"    is {', '.join(parent.__name__ for parent in value.__mro__[1:-1])}"
        yield from (f"    {member_text(value, member)}" for member in members(value))
    yield ""


def members(owner: type) -> list[str]:
    """The methods and properties of a class of ours that a user may call."""
    return [
        name
        for name in dir(owner)
        if (not name.startswith("_") or name in PROTOCOL_METHODS)
        and defining(owner, name).__module__.startswith("atlas")
        and _is_member(inspect.getattr_static(owner, name))
    ]


def defining(owner: type, name: str) -> type:
    return next((parent for parent in owner.__mro__ if name in vars(parent)), type)


def _is_member(value: object) -> bool:
    kinds = (property, functools.cached_property, classmethod, staticmethod)
    return isinstance(value, kinds) or (callable(value) and not inspect.isclass(value))


def member_text(owner: type, name: str) -> str:
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        return f"{name}: {_result(found.fget)}" + (", settable" if found.fset else "")
    if isinstance(found, functools.cached_property):
        return f"{name}: {_result(found.func)}"
    wait = "await " if is_awaitable(owner, name) else ""
    return f"{wait}{name}{signature(getattr(owner, name), is_method=True)}"


def _result(getter: Any) -> str:
    return annotation(inspect.signature(getter).return_annotation)


def is_awaitable(owner: type, name: str) -> bool:
    """Whether a method is a coroutine: by its name if it is a twin, since a twin may be any callable."""
    is_twin = name.startswith("a") and callable(getattr(owner, name[1:], None))
    return is_twin or inspect.iscoroutinefunction(getattr(owner, name))


def signature(called: Any, *, is_method: bool = False) -> str:
    """The parameters of a callable with their defaults, and what comes of it."""
    try:
        found = inspect.signature(called)
    except ValueError:  # an exception's, which is written in C
        return "(…)"
    parameters = [one for one in found.parameters.values() if not (is_method and one.name == "self")]
    result = found.empty if inspect.isclass(called) else _shown(found.return_annotation)
    return str(inspect.Signature([_in_words(one) for one in parameters], return_annotation=result))


class Words(str):
    """A text that shows itself without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _in_words(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if default is not parameter.empty:
        default = Words(f"{type(default).__name__}()" if " at 0x" in repr(default) else repr(default))
    return parameter.replace(annotation=_shown(parameter.annotation), default=default)


def _shown(given: Any) -> Any:
    return given if given is inspect.Parameter.empty else Words(annotation(given))


def annotation(given: Any) -> str:
    """An annotation without modules and quotes, every type variable as `T`, and of a coroutine what it returns."""
    text = given if isinstance(given, str) else inspect.formatannotation(given)
    text = re.sub(r"\b[A-Za-z_]\w*\.(?=[A-Za-z_])", "", re.sub(r"['\"~]", "", text))
    text = re.sub(r"^(?:Coroutine\[Any, Any, |Awaitable\[)(.*)\]$", r"\1", text)
    return re.sub(r"\b[A-Z]\b", "T", text)
