"""The person or agent on whose behalf code runs, and their permissions.

One process may serve many: each request, and each run of a page, sets its actor. By default, as in a script
or on the command line, it is whoever runs the process, who may do everything that its files allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar

from atlas.core.errors import InvalidInput, NotAllowed

Result = TypeVar("Result")
"""Result of a function."""

Scoped = TypeVar("Scoped")
"""A record, or an attempt, with metadata."""


class Role(IntEnum):
    """Role of an actor. A higher role includes the permissions of the lower ones."""

    VIEWER = 0
    """May read. Retrievals by a viewer are not counted."""

    WRITER = 1
    """May also store records, edit, mark and forget the actor's own records, and undo the actor's own operations."""

    CURATOR = 2
    """May also delete, merge, prune, compact, quarantine, accept pending records, and undo operations of others."""

    ADMIN = 3
    """May also purge, back up and restore, choose models, and grant keys and roles."""

    def __str__(self) -> str:
        return self.name.lower()


_KINDS_BY_ROLE = {
    Role.CURATOR: frozenset(
        {
            "accept",
            "delete",
            "prune",
            "merge",
            "compact",
            "refine",
            "compress",
            "quarantine",
            "restore",
            "strictness",
        }
    ),
    Role.ADMIN: frozenset({"purge"}),
}
"""Kinds of operations that need a higher role than writer."""

_ADDING_KINDS = frozenset({"store", "import", "compress", "compose"})
"""Kinds of operations that add records, or add sources to records of other actors, which is not an edit."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The user or key on whose behalf a server acts."""

    name: str
    """Name of the person or key, as shown in the history."""

    role: Role = Role.VIEWER
    is_reviewed: bool = False
    """True if the actor's records are pending, and visible to this actor alone, until a curator accepts them."""

    store: Path | None = None
    """Directory of the store for which the role holds, or None for the configured store."""

    is_owner: bool = False
    """True for the operator of the server, who may use paths on its machine."""

    is_agent: bool = False
    """True for a key without the role curator. Records in quarantine do not exist for such a key."""

    scope: tuple[tuple[str, str], ...] = ()
    """Metadata that all accessible records have: `(("scope.project", "shop"),)`. Empty for access to all records."""


@dataclass(frozen=True, slots=True)
class ActorFinder:
    """Functions that find the actor of code outside of `acting` blocks, such as the user of a page."""

    current: Callable[[], Actor | None]
    """Returns the actor, or None for the operator of the process."""

    choices: Callable[[], Mapping[str, Actor]]
    """Returns the user's actor in each store that they may see, keyed by store name."""

    n_stores: int = 1
    """Number of all stores of the server, including those that the user may not see."""


_actor: ContextVar[Actor | None] = ContextVar("atlas_actor", default=None)
_finders: list[ActorFinder] = []


@contextmanager
def acting(actor: Actor) -> Iterator[None]:
    """Run the block on behalf of an actor. Threads that the block starts are not included."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def bind_actor(function: Callable[[], Result]) -> Callable[[], Result]:
    """Return a function that runs `function` on behalf of the current actor, later and in any thread."""
    actor = current_actor()

    def run() -> Result:
        if actor is None:
            return function()
        with acting(actor):
            return function()

    return run


def set_actor_finder(finder: ActorFinder) -> None:
    """Set the source of the current actor outside of `acting` blocks.

    A finder is needed for frameworks that call parts of a page outside of any block, such as a button's callback.
    """
    _finders[:] = [finder]


def store_choices() -> Mapping[str, Actor]:
    """Return the user's actor in each store that they may see, keyed by store name. Empty if there is no choice."""
    return _finders[0].choices() if _finders else {}


def is_admin_of_all_stores() -> bool:
    """Return whether the current actor is an admin of every store of the server, or the operator."""
    finder = _finders[0] if _finders else None
    if finder is None or finder.n_stores == 1 or current_actor() is None:
        return has_role(Role.ADMIN)
    roles = [choice.role for choice in finder.choices().values()]
    return len(roles) == finder.n_stores and min(roles) >= Role.ADMIN


def current_actor() -> Actor | None:
    """Return the current actor, or None for the operator of the process."""
    actor = _actor.get()
    return _finders[0].current() if actor is None and _finders else actor


def actor_name(default: str) -> str:
    """Return the name of the current actor, or `default` for the operator of the process."""
    actor = current_actor()
    return default if actor is None else actor.name


def is_under_review() -> bool:
    """Return whether new records are pending until a curator accepts them."""
    actor = current_actor()
    return actor is not None and actor.is_reviewed


def refuse_under_review(action: str) -> None:
    """Raise `NotAllowed` if the current actor's records are pending until a curator accepts them.

    Args:
        action: What the actor wants to do, which affects everyone, such as `rename domains`.
    """
    if is_under_review():
        raise NotAllowed(
            f"{actor_name('')} writes under review and may not {action}, because this affects everyone; ask a curator"
        )


def is_agent() -> bool:
    """Return whether the current actor is an agent, which never reads records in quarantine."""
    actor = current_actor()
    return actor is not None and actor.is_agent


def actor_scope() -> dict[str, str]:
    """Return the scope of the current actor, as metadata, empty for all records."""
    actor = current_actor()
    return dict(actor.scope) if actor is not None else {}


@contextmanager
def acting_in_scope(name: str, scope: Mapping[str, str]) -> Iterator[None]:
    """Run the block on behalf of the operator of the process, limited to a scope.

    Args:
        name: Name of the operator. The history shows it with the scope, so only operations in the scope count as the
            operator's own.
        scope: Metadata, such as `{"scope.project": "shop"}`, empty for no limit.
    """
    if not scope:
        yield
        return
    scope_text = ", ".join(f"{key.removeprefix('scope.')}={value}" for key, value in scope.items())
    with acting(Actor(f"{name} in {scope_text}", Role.ADMIN, is_owner=True, scope=tuple(scope.items()))):
        yield


@contextmanager
def acting_on_all_records() -> Iterator[None]:
    """Run the block without the current actor's scope, for measurements that all actors share."""
    actor = current_actor()
    if actor is None or not actor.scope:
        yield
        return
    with acting(replace(actor, scope=())):
        yield


def restrict_to_actor_scope(where: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the filter restricted to records in the scope of the current actor."""
    scope = actor_scope()
    return {"$and": [scope, where or {}]} if scope else where


def is_in_scope(scope: Mapping[str, str], metadata: Mapping[str, Any]) -> bool:
    """Return whether a record with this metadata is in a scope."""
    return all(metadata.get(name) == value for name, value in scope.items())


def assign_actor_scope(record: Scoped) -> Scoped:
    """Return a new record with the scope of the current actor in its metadata.

    Raises:
        InvalidInput: The metadata has another scope.
    """
    if not (scope := actor_scope()):
        return record
    metadata = {**scope, **record.metadata}  # type: ignore[attr-defined]
    check_actor_scope([metadata])
    return replace(record, metadata=metadata)  # type: ignore[type-var]


def check_actor_scope(metadatas: Iterable[Mapping[str, Any]]) -> None:
    """Raise `InvalidInput` if a record's metadata is outside of the current actor's scope."""
    scope = actor_scope()
    if scope and not all(is_in_scope(scope, metadata) for metadata in metadatas):
        scope_text = ", ".join(f"{name} = {value!r}" for name, value in scope.items())
        raise InvalidInput(
            f"{actor_name('')} may only write records with {scope_text}; omit the scope, as it is added to each new "
            "record"
        )


def refuse_in_scope(action: str) -> None:
    """Raise `NotAllowed` if the current actor is bound to a scope.

    Args:
        action: What the actor wants to do, which affects the whole store, such as `list deleted records`.
    """
    if actor_scope():
        raise NotAllowed(
            f"{actor_name('')} is bound to a scope and may not {action}, which concerns the whole store; ask an "
            "administrator for a key without a scope"
        )


def has_role(role: Role) -> bool:
    """Return whether the current actor has a role, or a higher one."""
    actor = current_actor()
    return actor is None or actor.role >= role


def check_role(role: Role, action: str) -> None:
    """Raise `NotAllowed` unless the current actor has a role, or a higher one.

    Args:
        action: What the actor wants to do, for the message, such as `purge records`.
    """
    actor = current_actor()
    if actor is not None and actor.role < role:
        raise NotAllowed(
            f"{actor.name} is a {actor.role} and may not {action}, which needs the role {role}; ask an administrator "
            "for it"
        )


def check_kind(kind: str) -> None:
    """Raise `NotAllowed` if this kind of operation requires a higher role than the current actor's."""
    required_role = next((role for role, kinds in _KINDS_BY_ROLE.items() if kind in kinds), Role.WRITER)
    check_role(required_role, f"do what the history calls {kind!r}")


def changes_own_only(kind: str) -> bool:
    """Return whether operations of this kind by the current actor may change only the actor's own records."""
    return kind not in _ADDING_KINDS and not has_role(Role.CURATOR)


def check_store(directory: Path) -> None:
    """Raise `NotAllowed` if the current actor has no access to a directory's store.

    A page may still be open in a browser after the access ended.
    """
    actor = current_actor()
    if actor is not None and actor.store is not None and actor.store.resolve() != directory.resolve():
        raise NotAllowed(f"{actor.name} has access to another store, not to this one; reload the page of this store")
