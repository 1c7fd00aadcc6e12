"""The stores that one server has, and who may see which of them. In each one they have a role of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from atlas.access.keys import Key, KeyRing
from atlas.access.links import Link, Links
from atlas.access.people import Identity, People
from atlas.access.roles import roles_in
from atlas.core.errors import InvalidInput, NotAllowed
from atlas.infra.actor import Actor, Role
from atlas.infra.audit import AuditLog
from atlas.storage.frozen import frozen_copy


@dataclass(frozen=True, slots=True)
class ServedStore:
    """A store, with those who may enter it."""

    name: str
    directory: Path
    ring: KeyRing
    people: People
    links: Links
    audit: AuditLog

    def key(self, key_id: str) -> Mapping[str, Actor]:
        """Return whoever a key is for, by the store's name. Empty where the key is refused by now."""
        key = self.ring.find(key_id)
        return {self.name: self.actor(key)} if key else {}

    def actor(self, key: Key) -> Actor:
        """Return whoever acts in this store with a key of it."""
        return replace(key.actor, store=self.directory)

    def link(self, link_id: str) -> Mapping[str, Actor]:
        """Return whoever looks through a link, by the store's name. Empty where it has ended, or its copy is gone."""
        link, copy = self.links.find(link_id), frozen_copy(self.directory, link_id)
        return {self.name: replace(link.actor, store=copy)} if link and copy.is_dir() else {}


class Stores:
    """The stores of one server by their names. The first one is where people come in whom no group leads elsewhere."""

    def __init__(self, directories: Mapping[str, Path], roles: Mapping[str, Role], owner: str = "") -> None:
        """Open what says who may enter.

        Args:
            directories: Directories by the names of the stores.
            roles: Roles by groups. `research/ml` is the group `ml` in the store `research` alone.
            owner: Name of whoever runs the server, which nobody else may have in the history.
        """
        self._stores = {
            name: ServedStore(
                name=name,
                directory=directory,
                ring=KeyRing(directory),
                people=People(directory, roles_in(name, directories, roles), owner=owner),
                links=Links(directory),
                audit=AuditLog(directory),
            )
            for name, directory in directories.items()
        }
        self.first = next(iter(self._stores.values()))

    def __iter__(self) -> Iterator[ServedStore]:
        """Yield the stores, the first one first."""
        return iter(self._stores.values())

    def __len__(self) -> int:
        """Return how many stores there are."""
        return len(self._stores)

    def has_key(self) -> bool:
        """Return whether there is a key for any of them that is not refused now."""
        return any(store.ring.live_keys() for store in self)

    def recognise(self, secret: str) -> tuple[ServedStore, Key]:
        """Return the key with a secret, and the store that it is for. A key is for one store.

        Raises:
            NotAllowed: No store knows the key, or it was revoked or has expired.
        """
        store = next((one for one in self if one.ring.knows(secret)), self.first)
        return store, store.ring.recognise(secret)

    def follow(self, secret: str) -> tuple[ServedStore, Link]:
        """Return the link with a secret, and the store that it leads to a copy of.

        Raises:
            NotAllowed: No store knows the link, or it has ended.
        """
        store = next((one for one in self if one.links.knows(secret)), self.first)
        link = store.links.recognise(secret)
        if not store.link(link.id):
            raise NotAllowed("what this link led to was removed by a purge; ask whoever gave it to you for another one")
        return store, link

    def sign_in(self, identity: Identity) -> str:
        """Let somebody into every store that their groups lead to, and return their id.

        Raises:
            NotAllowed: There is none, or an administrator has removed them.
        """
        problems = []
        for store in self:
            try:
                store.people.sign_in(identity)
            except NotAllowed as error:
                problems.append(error)
        if len(problems) == len(self._stores):
            raise problems[0]
        return identity.id

    def person(self, person_id: str) -> dict[str, Actor]:
        """Return whoever somebody is in each store that they may see now, by its name."""
        found = [(store, store.people.find(person_id)) for store in self]
        return {store.name: replace(one.actor, store=store.directory) for store, one in found if one}


def named_stores(first: Path, others: list[str]) -> dict[str, Path]:
    """Return directories of stores by their names, the first one by its directory's.

    Args:
        others: Such as `research=/srv/atlas/research`.

    Raises:
        InvalidInput: One of them is malformed, or two have the same name or directory.
    """
    found = {first.name.lstrip(".") or "store": first}
    for one in others:
        name, sign, path = one.partition("=")
        directory = Path(path).expanduser().resolve()
        if not (sign and path) or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidInput(f"a further store should be like research=/srv/atlas/research, but got {one!r:.200}")
        if name in found or directory in found.values():
            raise InvalidInput(f"there is a store of the name {name!r}, or at {directory}, already; name another one")
        found[name] = directory
    return found
