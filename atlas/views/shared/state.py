"""The state of a store that a page shows, which is the cache key of derived results."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import NamedTuple

from atlas.core.address import is_address
from atlas.core.settings import Settings, settings_for_store
from atlas.infra.actor import Role as Role
from atlas.infra.actor import actor_name, current_actor, is_agent, is_under_review
from atlas.infra.actor import bind_actor as bind_actor
from atlas.infra.actor import check_role as check_role
from atlas.infra.actor import has_role as has_role
from atlas.infra.actor import store_choices as store_choices
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.system import MemorySystem
from atlas.storage.frozen import frozen_at
from atlas.storage.store import EmbeddingModel as EmbeddingModel
from atlas.storage.store import identity_file
from atlas.views.kinds.kind import Kind
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.wording import utc_time_text


class StoreState(NamedTuple):
    """Equal only for equal contents of a store."""

    path: str
    is_read_only: bool
    ledger_id: str
    """Another one after a restore and after a change of the embedding model, which may bring a revision back."""

    revision: int
    writer: str = ""
    """The viewer if they have pending records, which only they see."""

    is_agent: bool = False
    """True if the viewer sees no records in quarantine."""


def store_state(memory: MemorySystem) -> StoreState:
    """Return the state of a memory's store now."""
    ledger = memory.storage.ledger
    return StoreState(
        path=str(memory.storage.path),
        is_read_only=memory.storage.read_only,
        ledger_id=ledger.position(COLLECTION).ledger_id,
        revision=ledger.revision(),
        writer=actor_name("") if is_under_review() else "",
        is_agent=is_agent(),
    )


def uses_seen(memory: MemorySystem, kind: Kind) -> int:
    """Return the number of recorded uses of a kind of memory. Uses change no revision of the store."""
    return sum(kind.records(memory).column("usage.n_uses").values())


def all_uses_seen(memory: MemorySystem) -> int:
    """Return the number of recorded uses, over all kinds of memory."""
    return sum(uses_seen(memory, kind) for kind in KINDS.values())


def ledger_file(store: Path) -> Path:
    """Return the file that is the store, or that names its address. Another one at its place is another store."""
    return identity_file(store)


def store_settings() -> Settings:
    """Return the options of the environment, for the store of the visitor."""
    settings, actor = Settings.from_environment(), current_actor()
    return settings_for_store(settings, str(actor.store)) if actor and actor.store else settings


def is_frozen(store: Path) -> bool:
    """Return whether a store is a copy that never changes again."""
    return frozen_at(store) is not None


def frozen_note(memory: MemorySystem) -> str:
    """Return a sentence on the time at which a copy was frozen, or an empty string for a live store."""
    at = frozen_at(memory.storage.path)
    return f"A copy for demonstrations, as the memory was on {utc_time_text(at)}." if at else ""


def index_problem(memory: MemorySystem) -> str:
    """Return the note that the index is out of reach, or an empty string if it is reachable."""
    return memory.storage.indexes.problem


def index_fault(memory: MemorySystem) -> str:
    """Return the reason, for the person at the machine. Untrusted text of the service."""
    return memory.storage.indexes.fault if may_name_paths() else ""


def has_visitor() -> bool:
    """Return whether the page runs for a user who has signed in to a server."""
    return current_actor() is not None


def may_name_paths() -> bool:
    """Return whether the visitor runs the server, and so may name files of its machine."""
    actor = current_actor()
    return actor is None or actor.is_owner


def location_fact(memory: MemorySystem) -> dict[str, str]:
    """Return where a store is, by label, or nothing for visitors of a server. The home directory is written as `~`."""
    if not may_name_paths():
        return {}
    store = memory.storage
    index = {"Index": store.indexes.location} if store.indexes.location else {}
    if is_address(store.location):
        return {"Address": store.location, **index}
    return {"Location": path_text(PurePath(store.location)), **index}


def path_text(path: PurePath) -> str:
    """Return a path as text, with the home directory written as `~`."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def visitor_name_and_role() -> str:
    """Return `Ada, curator` for a visitor of a server, else an empty string."""
    actor = current_actor()
    return f"{actor.name}, {actor.role}" if actor else ""


def check_entrance() -> None:
    """Raise `NotAllowed` if the visitor's access was revoked."""
    current_actor()
