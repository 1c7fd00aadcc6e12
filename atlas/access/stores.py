"""The stores of one server, and access to them. A person's role depends on the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import TypeVar

from atlas.access.keys import ApiKeys, Key
from atlas.access.links import Links, SharedLink
from atlas.access.people import Identity, People
from atlas.access.roles import store_roles
from atlas.access.wrong_keys import WrongKeyBackoff
from atlas.core.errors import InvalidInput, NotAllowed, ReadOnlyStore, StoreUnavailable
from atlas.infra.actor import Actor, Role
from atlas.infra.clock import SystemClock
from atlas.protocols.infra import Clock
from atlas.storage.frozen import current_copy
from atlas.storage.location.audit import AuditLog
from atlas.storage.location.values import DamagedText
from atlas.storage.store import Store

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")
"""Result of asking one store."""


OUTAGE = "the store cannot be reached, so access cannot be checked; try again later. The server's log has the reason"
"""Message for visitors during an outage. It names no addresses or paths, because visitors are not authenticated."""

DAMAGE = (
    "{} cannot be read, so all access is refused until the operator of the server has repaired it. The server's log "
    "has its path and the reason"
)
"""Message for visitors while an access file is damaged, also without paths."""

FOREIGN_TOKEN_PROBLEM = (
    "this is neither the token of this server nor a key of its store; each start makes a new token, so open the "
    "address that `atlas serve` printed last"
)


class AccessRefused(NotAllowed):
    """An error: access was refused to a person or key that is registered in some stores."""

    def __init__(self, message: str, stores: Sequence[ServedStore]) -> None:
        super().__init__(message)
        self.stores = tuple(stores)


@dataclass(frozen=True, slots=True)
class ServedStore:
    """A store with its access rights."""

    name: str
    directory: Path
    keys: ApiKeys
    people: People
    links: Links
    audit: AuditLog

    def key_actors(self, key_id: str) -> Mapping[str, Actor]:
        """Return the actor of a key in its store, keyed by store name. Empty if the key is no longer valid."""
        key = self.keys.find(key_id)
        return {self.name: self.actor(key)} if key else {}

    def actor(self, key: Key) -> Actor:
        """Return the actor of a key in this store."""
        return replace(key.actor, store=self.directory)

    def link_actors(self, link_id: str) -> Mapping[str, Actor]:
        """Return the actor of a link, keyed by store name. Empty if the link has ended or its copy was removed."""
        link = self.links.find(link_id)
        copy = current_copy(self.directory, link_id) if link else None
        return {self.name: replace(link.actor, store=copy)} if link and copy else {}

    def has_removed(self, person_id: str) -> bool:
        """Return whether an administrator has removed a person."""
        return any(person.id == person_id and person.removed_at is not None for person in self.people.all())


class Stores:
    """The stores of a server, in order. People whose groups name no store use the first one.

    A store with unreadable access files refuses all visitors, and does not affect the others.
    """

    def __init__(
        self,
        directories: Mapping[str, Path],
        roles: Mapping[str, Role],
        owner: str = "",
        clock: Clock | None = None,
        token: str = "",
    ) -> None:
        """Open the access files.

        Args:
            directories: Directories, keyed by the name of a store.
            roles: Roles by groups. `research/ml` is the group `ml` in the store `research` alone.
            owner: Name of the server's user, which is reserved in the history.
            token: The secret that opens every store, empty for none.
        """
        self._owner = owner
        self.token = token
        self._stores = {
            name: ServedStore(
                name=name,
                directory=directory,
                keys=ApiKeys(directory, clock),
                people=People(
                    directory,
                    store_roles(name, directories, roles),
                    clock,
                    owner=owner,
                    actors=partial(_read_actor_names, directory),
                ),
                links=Links(directory, clock),
                audit=AuditLog(directory, clock or SystemClock()),
            )
            for name, directory in directories.items()
        }
        self._logged: set[str] = set()
        self.first = next(iter(self._stores.values()))
        self.failures = WrongKeyBackoff()

    def __iter__(self) -> Iterator[ServedStore]:
        """Yield the stores in order."""
        return iter(self._stores.values())

    def __len__(self) -> int:
        """Return the number of stores."""
        return len(self._stores)

    @property
    def credential_name(self) -> str:
        """Name of the credential that a visitor has to send, for error messages."""
        return "the token that `atlas serve` printed, or a key" if self.token else "a key"

    def is_token(self, secret: str) -> bool:
        """Return whether a secret is the token, in constant time."""
        secret_bytes = secret.encode(errors="surrogatepass")
        token_bytes = self.token.encode(errors="surrogatepass")
        return bool(token_bytes) and compare_digest(secret_bytes, token_bytes)

    def owner_actor(self, store: ServedStore) -> Actor:
        """Return the actor of the server's owner in a store."""
        return Actor(self._owner, Role.ADMIN, store=store.directory, is_owner=True)

    def owner_actors(self) -> dict[str, Actor]:
        """Return the actors of the server's owner, keyed by store name."""
        return {store.name: self.owner_actor(store) for store in self}

    def has_key(self) -> bool:
        """Return whether any store has an active key.

        Raises:
            StoreUnavailable: No active key was found, and the keys of a store cannot be read.
        """
        return bool(self._query_stores(lambda store: store.keys.active_keys()))

    def authenticate_key(self, secret: str) -> tuple[ServedStore, Key]:
        """Return the key with a secret, and the one store that it belongs to.

        Raises:
            NotAllowed: The key is in no store, or it was revoked or has expired.
            StoreUnavailable: The key is in no store, but the keys of one store cannot be read.
        """
        stores = [store for store, _ in self._query_stores(lambda store: store.keys.has_secret(secret))]
        store = next(iter(stores), self.first)
        try:
            return store, store.keys.authenticate(secret)
        except NotAllowed as error:
            raise AccessRefused(str(error) if stores or not self.token else FOREIGN_TOKEN_PROBLEM, stores) from error

    def authenticate_link(self, secret: str) -> tuple[ServedStore, SharedLink]:
        """Return the link with a secret, and the store whose copy it opens.

        Raises:
            NotAllowed: The link is in no store, or it has expired.
            StoreUnavailable: The link is in no store, but the links of one store cannot be read.
        """
        stores = [store for store, _ in self._query_stores(lambda store: store.links.has_secret(secret))]
        store = next(iter(stores), self.first)
        try:
            link = store.links.authenticate(secret)
        except NotAllowed as error:
            raise AccessRefused(str(error), stores) from error
        if not store.link_actors(link.id):
            raise AccessRefused(
                "the copy behind this link was removed by a purge, or is on another server; ask its sender for a new "
                "one",
                stores,
            )
        return store, link

    def sign_in(self, identity: Identity) -> str:
        """Sign a person in to every store that their groups may see, and return the person's id.

        Raises:
            NotAllowed: The person's groups may see no store, or an administrator has removed the person.
            StoreUnavailable: No store can be read.
        """
        problems: list[NotAllowed] = []

        def admit(store: ServedStore) -> bool:
            try:
                store.people.sign_in(identity)
            except NotAllowed as error:
                problems.append(error)
                return False
            return True

        if not self._query_stores(admit):
            raise AccessRefused(str(problems[0]), [store for store in self if store.has_removed(identity.id)])
        return identity.id

    def person_actors(self, person_id: str) -> dict[str, Actor]:
        """Return the actors of a person in the stores that they may see, keyed by store name.

        Raises:
            StoreUnavailable: A store could not be read, and none of the others knows the person.
        """
        people = self._query_stores(lambda store: store.people.find(person_id))
        return {store.name: replace(person.actor, store=store.directory) for store, person in people if person}

    def record_refusal(
        self, address: str, reason: str, error: Exception | None = None, *, is_guess: bool = True
    ) -> float:
        """Record that a visitor was refused. Return the seconds that its address has to wait, or 0.

        The refusal is added to the audit log of the stores that know the visitor, or else of the first store. During
        a wait nothing is added, so that the log cannot be flooded.

        Args:
            reason: Why the visitor was refused.
            error: The error that was raised, with the stores that know the visitor.
            is_guess: Whether the visitor sent a wrong key, link or token, which may be a guess.
        """
        if is_guess and (wait := self.failures.add(address)):
            return wait
        stores = error.stores if isinstance(error, AccessRefused) else ()
        for store in stores or (self.first,):
            store.audit.add_refusal(address, reason)
        return 0.0

    def _query_stores(self, ask: Callable[[ServedStore], Answer]) -> list[tuple[ServedStore, Answer]]:
        """Call `ask` for each store. Return the stores with a truthy answer, each with its answer.

        A store that cannot be read is skipped, and logged.

        Raises:
            StoreUnavailable: No store has a truthy answer, and a store cannot be read.
        """
        answers, problem = [], None
        for store in self:
            try:
                answer = ask(store)
            except StoreUnavailable as error:
                problem = problem or error
                self._log_once(f"the store {store.name!r} is skipped: {error}")
            else:
                if answer:
                    answers.append((store, answer))
        if problem is not None and not answers:
            cause = problem.__cause__
            sentence = DAMAGE.format(cause.name) if isinstance(cause, DamagedText) else OUTAGE
            raise StoreUnavailable(sentence) from problem
        return answers

    def _log_once(self, problem: str) -> None:
        if problem not in self._logged:
            self._logged.add(problem)
            logger.error(problem)


def named_stores(first: Path, other_texts: list[str]) -> dict[str, Path]:
    """Return the directories of stores, keyed by store name. The first store is named after its directory.

    Args:
        other_texts: Names and directories of the other stores, such as `research=/srv/atlas/research`.

    Raises:
        InvalidInput: A text is malformed, or two stores have the same name or directory.
    """
    stores_by_name = {first.name.lstrip(".") or "store": first}
    for text in other_texts:
        name, sign, path = text.partition("=")
        directory = Path(path).expanduser().resolve()
        if not (sign and path) or not name.replace("-", "").replace("_", "").isalnum():
            raise InvalidInput(
                "expected NAME=DIRECTORY for --also, such as research=/srv/atlas/research, with letters, digits, - and "
                f"_ in NAME, got {text!r:.200}"
            )
        if name in stores_by_name:
            raise InvalidInput(f"there is already a store named {name!r}; choose another name")
        if directory in stores_by_name.values():
            raise InvalidInput(f"there is already a store at {directory}; give another directory, or leave it out")
        stores_by_name[name] = directory
    return stores_by_name


def _read_actor_names(directory: Path) -> list[str]:
    """Return the actors' names in a store's history. Empty if the store does not exist yet."""
    try:
        with Store.open(directory, read_only=True) as store:
            return store.ledger.history.actors()
    except ReadOnlyStore:
        return []
