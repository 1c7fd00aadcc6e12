"""Methods that forward verbs to a server, with the signatures of the local methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from atlas.infra.twin import twin
from atlas.remote.http import Server
from atlas.verbs.table import FILE_METHODS, LOCAL_METHODS, OWNERS, SYSTEM, Verb, verbs_of

C = TypeVar("C", bound="type[Remote]")


class Remote:
    """A memory or memory system on a server. Each of its verbs is a method."""

    owner: str
    """Name of the memory or memory system in the table of verbs, such as `experience`."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        verb = name.removeprefix("a")
        if {name, verb} & FILE_METHODS:
            raise AttributeError(
                f"`{name}` needs the store's files; call it on the server's machine, with atlas.open_memory"
            )
        if {name, verb} & LOCAL_METHODS:
            raise AttributeError(f"`{name}` takes in-process objects; use atlas.open_memory")
        raise AttributeError(f"a remote memory has no attribute {name!r}")


def add_verbs(kind: C) -> C:
    """Add a method for each verb to a class, and an async twin if the local method has one. Return the class."""
    for verb in verbs_of(kind.owner):
        setattr(kind, verb.name, _make_method(verb, kind.owner))
        if hasattr(OWNERS[kind.owner], f"a{verb.name}"):
            setattr(kind, f"a{verb.name}", twin(getattr(kind, verb.name)))
    return kind


def _make_method(verb: Verb, owner: str) -> Callable[..., Any]:
    """Return a method that forwards its call to the server."""
    method = verb.method(owner)
    name = verb.remote_name or verb.name
    path = name if owner == SYSTEM else f"{owner}/{name}"

    @wraps(method)
    def forward(*arguments: Any, **keyword_arguments: Any) -> Any:
        encoded = verb.encode_arguments(owner, arguments, keyword_arguments)
        return verb.decode_result(owner, arguments[0]._server.call(path, encoded))

    return forward
