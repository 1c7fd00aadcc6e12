"""Methods that send the call of a verb to a server, with the signature of the method that does it there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from atlas.infra.twin import twin
from atlas.remote.http import Server
from atlas.verbs.table import NEEDS_FILES, OF_THIS_PROGRAM, OWNERS, SYSTEM, Verb, verbs_of

C = TypeVar("C", bound="type[Remote]")


class Remote:
    """A memory, or the system over all of them, in another process. Each verb of the table is a method of it."""

    owner: str
    """Name of its rows in the table."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        verb = name.removeprefix("a")
        if {name, verb} & NEEDS_FILES:
            raise AttributeError(f"`{name}` needs the store's files; call it on that machine, on atlas.open_memory")
        if {name, verb} & OF_THIS_PROGRAM:
            raise AttributeError(f"`{name}` takes in-process objects; call it on atlas.open_memory")
        raise AttributeError(f"a memory on a server has no {name!r}")


def with_verbs(kind: C) -> C:
    """Add the verbs of a memory to a class, each with its async twin where the method has one."""
    for verb in verbs_of(kind.owner):
        setattr(kind, verb.name, _sending(verb, kind.owner))
        if hasattr(OWNERS[kind.owner], f"a{verb.name}"):
            setattr(kind, f"a{verb.name}", twin(getattr(kind, verb.name)))
    return kind


def _sending(verb: Verb, owner: str) -> Callable[..., Any]:
    """Return a method that sends a call to the server, and returns its result or raises its error."""
    method = verb.method(owner)
    name = verb.sent_as or verb.name
    path = name if owner == SYSTEM else f"{owner}/{name}"

    @wraps(method)
    def sent(*arguments: Any, **named: Any) -> Any:
        encoded = verb.encoded_arguments(owner, arguments, named)
        return verb.result(owner, arguments[0]._server.call(path, encoded))

    return sent
