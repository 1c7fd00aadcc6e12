"""A store directory: opening and closing, binding to an embedding model, history and undo."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from types import TracebackType
from typing import Any

from atlas.core.address import Address, is_address
from atlas.core.errors import (
    EmbeddingModelMismatch,
    InvalidInput,
    NotFound,
    ReadOnlyStore,
    StoreError,
    StoreUnavailable,
)
from atlas.core.imports.distribution import extra
from atlas.core.operations import ANY_OPERATION, BulkUndo, Operation, Operations, RecordChange
from atlas.core.settings import Settings
from atlas.embedding.prompts import NO_PROMPT, NO_PROMPTS, Prompts, prompts_of, prompts_text, read_prompts
from atlas.infra.actor import Role, actor_name, actor_scope, check_role, current_actor, is_agent, refuse_in_scope
from atlas.infra.clock import SystemClock
from atlas.infra.durable_files import replace_durably
from atlas.infra.fork_safety import InterProcessLock
from atlas.infra.permissions import restrict_permissions
from atlas.protocols.infra import Clock
from atlas.storage import erasing
from atlas.storage.collection_parts import CollectionParts
from atlas.storage.damage import damage_error
from atlas.storage.engine import LedgerEngine
from atlas.storage.erasing import LEDGER as LEDGER
from atlas.storage.frozen import frozen_at
from atlas.storage.late_interaction import LateInteraction
from atlas.storage.ledger_collection import LedgerCollection
from atlas.storage.location.audit import AuditLog
from atlas.storage.location.label import LABEL as LABEL
from atlas.storage.location.label import cache_address, find_address
from atlas.storage.marks.files import MarksFiles
from atlas.storage.marks.judgements import Judgements
from atlas.storage.profiles import Profiles
from atlas.storage.records import COPY_NOTE, model_mismatch
from atlas.storage.retrievals import RetrievalLog
from atlas.storage.sqlite.ledger import open_sqlite
from atlas.storage.sqlite.schema import SCHEMA_VERSION
from atlas.storage.vector_store import LedgerVectorStore
from atlas.storage.vectors.indexes import StoreIndexes
from atlas.storage.vectors.vector_search import VectorSearch

INDEX_WAIT_SECONDS = 10.0
"""Timeout of a purge that waits for this process's index writes."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The model that computed a store's vectors."""

    name: str
    dimension: int


class Store:
    """An open store directory. Use it as a context manager, or close it."""

    schema_version = SCHEMA_VERSION
    """Version of the ledger's schema."""

    def __init__(self, path: Path, ledger: LedgerEngine, settings: Settings, address: Address | None = None) -> None:
        self.path = path
        self.location = str(address or path)
        """Location of the store: the directory, or the address without a password."""

        self._address = address
        self.ledger = ledger
        self.settings = settings
        self.marks_files = MarksFiles(path, ledger)
        self.profiles = Profiles(ledger.notes)
        self.judgements = Judgements(ledger.notes, ledger.clock)
        self.audit = AuditLog(path, ledger.clock)
        self.late: LateInteraction | None = None
        """Late interaction, if enabled. Opening a memory over the store sets it, before collections are used."""

        self.indexes = StoreIndexes(ledger, settings)
        self._collections: dict[str, CollectionParts] = {}
        self._retrievals = RetrievalLog(ledger)
        self._lock = threading.RLock()
        self._locks = threading.Lock(), InterProcessLock(path / "once.lock")

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        create: bool = True,
        settings: Settings | None = None,
        clock: Clock | None = None,
        accept_incomplete: bool = False,
    ) -> Store:
        """Open a store directory, creating it unless it is opened for reading only.

        Args:
            create: Whether to create the directory if it does not exist.
            accept_incomplete: Whether to open a directory with an incomplete copy of another store.

        Raises:
            ReadOnlyStore: There is no store, and `read_only` forbids creating one.
            StoreDamaged: The ledger cannot be read; the store was not changed.
            StoreUnavailable: The directory cannot be written or read, or there is no store and `create` is False.
            SchemaTooNew: A newer version of ATLAS wrote the store.
        """
        store = cls._open(path, settings or Settings(), clock, read_only=read_only, create=create)
        if not accept_incomplete and store.ledger.notes.read(COPY_NOTE):
            store.ledger.close()
            raise StoreUnavailable(
                f"a copy of another store was begun at {store.location} and is incomplete. To resume: "
                f"atlas copy SOURCE {store.location}"
            )
        return store

    @classmethod
    def _open(
        cls, path: str | os.PathLike[str], settings: Settings, clock: Clock | None, *, read_only: bool, create: bool
    ) -> Store:
        if is_address(str(path)):
            settings = replace(settings, address=str(path))
            path = settings.directory
        path = Path(path).expanduser().absolute()  # independent of the process's working directory
        if address := find_address(path, settings.address):
            return cls._open_address(address, path, settings, clock, read_only=read_only, create=create)
        if not create:
            _check_exists(path)
        if read_only or frozen_at(path) is not None:
            _check_not_lost(path)
            if not (path / LEDGER).exists():
                raise ReadOnlyStore(
                    f"there is no store at {path}, and opening it read-only creates none; run: atlas init"
                )
            return cls(path, _open_ledger(path, settings, clock, read_only=True), settings)
        _make_directory(path)
        _restrict_files(path)
        with InterProcessLock(path / "store.lock").locked():
            _check_not_lost(path)
            ledger = _open_ledger(path, settings, clock, read_only=False)
        store = cls(path, ledger, settings)
        store._update_label()
        store.marks_files.schedule()
        if problem := store.finish_purges():
            logger.warning("%s: %s", path, problem)
        return store

    @classmethod
    def _open_address(
        cls, address: Address, path: Path, settings: Settings, clock: Clock | None, *, read_only: bool, create: bool
    ) -> Store:
        """Open a store in PostgreSQL, whose directory has the files of this machine."""
        _make_directory(path)
        _restrict_files(path)
        with extra("postgres", "a store in PostgreSQL", StoreUnavailable):
            from atlas.storage.postgres.ledger import open_postgres
        ledger = open_postgres(
            address,
            path,
            clock=clock or SystemClock(),
            read_only=read_only,
            create=create,
            busy_timeout_seconds=settings.busy_timeout_seconds,
        )
        cache_address(path, address)
        store = cls(path, ledger, settings, address)
        if not (path / LABEL).exists():
            store._write_label()
        if not read_only and (problem := store.finish_purges()):
            logger.warning("%s: %s", store.location, problem)
        return store

    @property
    def address_with_password(self) -> str:
        """The store's address in PostgreSQL, for a child process's environment. Empty if the store is a directory."""
        return self._address.with_password if self._address else ""

    @property
    def read_only(self) -> bool:
        """True if the store was opened for reading only, or the current actor is a viewer."""
        return self.ledger.read_only

    @property
    def model(self) -> EmbeddingModel | None:
        """The embedding model of the store, or None in a new store."""
        bound = self.ledger.model()
        return EmbeddingModel(*bound) if bound else None

    @property
    def prompts(self) -> Prompts | None:
        """The prompts with which the texts were embedded, or None if there are no prompts."""
        return read_prompts(self.ledger.prompts())

    def bind(self, model: EmbeddingModel, embedder: object = None) -> None:
        """Bind a new store to an embedding model.

        Args:
            embedder: The embedder of that model, whose prompts and checksum the store remembers, if it has any.

        Raises:
            EmbeddingModelMismatch: The store is bound to another model, or to another prompt for documents.
        """
        if self.model is None and not self.read_only:
            self.ledger.bind_model(model.name, model.dimension, prompts_text(embedder))
        bound = self.model
        if bound is not None and bound != model:
            raise model_mismatch((bound.name, bound.dimension), (model.name, model.dimension))
        prompts = prompts_of(embedder)
        stored = self.prompts or NO_PROMPTS
        if bound is not None and prompts is not None and prompts.document != stored.document:
            raise EmbeddingModelMismatch(
                f"this store's documents were embedded with the prompt {stored.document!r}, but {model.name!r} puts "
                f"{prompts.document!r} before them. Open it with "
                f"ATLAS_DOCUMENT_PROMPT={stored.document or NO_PROMPT!r}, "
                f"or embed it again: atlas reembed --model {model.name}"
            )
        if not self.read_only and self.ledger.is_file and not (self.path / LABEL).exists():
            self.relabel(model, getattr(embedder, "checksum", ""))

    def vector_store(self, name: str) -> LedgerVectorStore:
        """Return a collection behind the async protocol `VectorStore`.

        Raises:
            NotFound: The store is not bound to an embedding model yet.
        """
        return self.collection(name).vector_store

    def collection(self, name: str) -> LedgerCollection:
        """Return a collection, which may be empty.

        Raises:
            NotFound: The store is not bound to an embedding model yet.
        """
        model = self.model
        if model is None:
            raise NotFound(
                f"the store at {self.path} has no embedding model yet; open it once for writing with atlas.open_memory"
            )
        with self._lock:
            parts = self._collections.get(name)
            if parts is None or (parts.model, parts.dimension) != (model.name, model.dimension):
                parts = self._collections[name] = self._make_parts(name, model)
            return LedgerCollection(parts)

    def reading(self) -> AbstractContextManager[object]:
        """Return a context manager in which this thread reads one snapshot of the store."""
        return self.ledger.reading()

    def history(self, limit: int = 50, offset: int = 0, where: Operations = ANY_OPERATION) -> list[Operation]:
        """Return operations, newest first. An actor with a scope only sees the operations of that actor."""
        own_filter = _restrict_to_own(where)
        return [] if own_filter is None else self.ledger.history.operations(limit, offset, own_filter)

    def operation(self, operation_id: str) -> Operation:
        """Return an operation by its id or a unique prefix of the id, or raise `NotFound`."""
        if not actor_scope():
            return self.ledger.history.operation(operation_id)
        with suppress(NotFound):
            operation = self.ledger.history.operation(operation_id)
            if operation.actor == actor_name(""):
                return operation
        raise NotFound(f"no operation of yours has an id that begins with {operation_id!r}; see your history")

    def count_operations(self, where: Operations = ANY_OPERATION) -> int:
        """Return the number of operations in the history."""
        own_filter = _restrict_to_own(where)
        return 0 if own_filter is None else self.ledger.history.count(own_filter)

    def changes(self, operation_id: str, limit: int = 50, offset: int = 0) -> list[RecordChange]:
        """Return an operation's changes of records, oldest first. Agents do not see changes of quarantined records."""
        changes = self.ledger.history.changes(self.operation(operation_id).id, limit, offset)
        if not is_agent():
            return changes
        collections = {change.collection for change in changes}
        quarantined = {collection: self.ledger.marks.column(collection, "quarantine") for collection in collections}
        return [change for change in changes if change.record_id not in quarantined[change.collection]]

    def collections_of(self, operation_id: str) -> set[str]:
        """Return the collections whose records an operation touched, or raise `NotFound` for an unknown operation."""
        return self.ledger.history.collections_of(self.operation(operation_id).id)

    def undo(self, operation_id: str, *, reason: str = "") -> Operation:
        """Undo an operation as one new operation. Undoing the new operation redoes the first one.

        Raises:
            NotAllowed: The operation is by another actor, and the current actor is not a curator.
            NotFound: There is no such operation.
            UndoRefused: The operation has been undone already, or one of its records has changed since.
        """
        self._check_may_undo(operation_id)
        return self.ledger.history.undo(operation_id, actor=actor_name(self.settings.actor), reason=reason)

    def plan_undo(self, where: Operations) -> BulkUndo:
        """Return a plan to undo all matching operations, newest first. The store is not changed.

        Raises:
            NotAllowed: Some operations are by other actors, and the current actor is not a curator.
            InvalidInput: The filter is empty.
        """
        return self._undo_many(where, None)

    def apply_undo(self, where: Operations, plan: BulkUndo, *, reason: str = "") -> BulkUndo:
        """Undo the operations of a plan as one operation. Operations after the plan stay, and are counted.

        Raises:
            PlanOutdated: Since the plan was made, records have changed, or operations were undone. Nothing was done.
        """
        return self._undo_many(where, plan, reason)

    def _undo_many(self, where: Operations, expected: BulkUndo | None, reason: str = "") -> BulkUndo:
        """Undo the operations of a plan, or return a plan if `expected` is None."""
        if where == ANY_OPERATION:
            raise InvalidInput(
                "expected an actor, time, kind or record of the operations to undo, got none; give one of them"
            )
        actor = current_actor()
        if actor is not None and where.actor != actor.name:
            refuse_in_scope("undo what others did")
            check_role(Role.CURATOR, "undo what others did")
        reason_text = reason or f"took back {_describe_filter(where)}"
        return self.ledger.history.undo_many(
            where, actor=actor_name(self.settings.actor), reason=reason_text, expected=expected
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the store during the block against other threads, processes and machines."""
        threads, processes = self._locks  # a thread lock needs no polling
        shared = self.ledger.shared
        with threads, shared.locked("once") if shared else processes.locked():
            yield

    def _check_may_undo(self, operation_id: str) -> None:
        """Raise `NotAllowed` unless the operation is the current actor's, or the actor is a curator."""
        actor = current_actor()
        if actor is not None and self.operation(operation_id).actor != actor.name:
            check_role(Role.CURATOR, "undo what others did")

    def n_bytes(self) -> int:
        """Return the total size of the store in bytes, on this disk and on its server."""
        total = 0
        for path in self.path.rglob("*"):
            with suppress(OSError):  # removed after it was listed
                total += path.stat().st_size if path.is_file() else 0
        return total + self.ledger.n_bytes_on_server()

    def catch_up(self) -> int:
        """Update every index that queries use from the ledger, and return the number of records added."""
        if self.read_only or self.model is None:
            return 0
        self.ledger.words.merge_parts(self.ledger.collections())
        return self._update_indexes()

    def finish_purges(self) -> str:
        """Finish all purges. Return why a purge is still unfinished, with a remedy, or an empty string."""
        if not self.ledger.purges.unfinished():
            return ""
        problem = erasing.finish_purges(self.path, self.ledger, self.marks_files, self._drop_index)
        if self.model is not None:
            self._update_indexes()  # queries may need the index that was dropped
        return problem

    def _update_indexes(self) -> int:
        """Update the indexes that queries use from the ledger. A small collection has no index."""
        return sum(self.collection(name).parts.nearest.updater.finish() for name in self.ledger.collections())

    def close(self) -> None:
        """Write buffered counts, update the indexes, and close every file, even if one of these steps fails.

        A later call opens the files again.
        """
        try:
            if not self.read_only:
                self._retrievals.flush()
                self.catch_up()
                _restrict_files(self.path)
        finally:
            with ExitStack() as stack:
                stack.callback(self.ledger.close)
                stack.callback(self.marks_files.finish)
                for parts in self._collections.values():
                    stack.callback(parts.nearest.close)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError as close_error:
            if error is None:
                raise
            logger.warning("the store at %s could not be closed properly: %s", self.path, close_error)

    def _drop_index(self, name: str) -> None:
        """Delete all indexes of a collection, current and former, after the background update of this process."""
        parts, model = self._collections.get(name), self.model
        if parts is not None:
            parts.nearest.updater.wait(INDEX_WAIT_SECONDS)
        self.indexes.drop(name, model.dimension if model else 0, parts.nearest.index if parts else None)

    def _make_parts(self, name: str, model: EmbeddingModel) -> CollectionParts:
        """Return the objects that all views of one collection share."""
        nearest = VectorSearch(
            self.ledger,
            name,
            self.indexes.index_of(name, model.dimension),
            model=(model.name, model.dimension),
            exact_max_rows=self.settings.exact_max_rows,
        )
        return CollectionParts(
            name=name,
            ledger=self.ledger,
            nearest=nearest,
            retrievals=self._retrievals,
            settings=self.settings,
            model=model.name,
            dimension=model.dimension,
            directory=self.path,
            late=self.late,
        )

    def relabel(self, model: EmbeddingModel, checksum: str) -> None:
        """Write a label file about the embedding model into the store's directory. It only informs people.

        Raises:
            NotAllowed: The actor is a viewer.
        """
        check_role(Role.WRITER, "label the store")
        self._write_label(
            embedding_model=model.name,
            embedding_dimension=model.dimension,
            embedding_checksum=checksum,
            created_at=self.ledger.clock.now().isoformat(timespec="seconds"),
        )

    def _update_label(self) -> None:
        """Write the schema version into the label if opening the store migrated the ledger. Errors are ignored."""
        with suppress(OSError, ValueError, TypeError, RecursionError, StoreUnavailable):
            label = json.loads((self.path / LABEL).read_text(encoding="utf-8"))
            if isinstance(label, dict) and label.get("schema_version") != SCHEMA_VERSION:
                self._write_label(**label)

    def _write_label(self, **label: Any) -> None:
        """Write a label with the given fields, the schema version, and the address of a store in a database."""
        if self._address:
            label["address"] = str(self._address)
        text = json.dumps({**label, "schema_version": SCHEMA_VERSION}, indent=1) + "\n"
        try:
            replace_durably(self.path / LABEL, text)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.path / LABEL} cannot be written ({error.strerror}); the records are unchanged. Check its "
                "permissions"
            ) from error


def _open_ledger(path: Path, settings: Settings, clock: Clock | None, *, read_only: bool) -> LedgerEngine:
    return open_sqlite(
        path / LEDGER,
        clock=clock or SystemClock(),
        read_only=read_only,
        busy_timeout_seconds=settings.busy_timeout_seconds,
    )


def identity_file(path: Path) -> Path:
    """Return the file that identifies a store: its ledger, or the label with its address."""
    return path / LEDGER if (path / LEDGER).exists() else path / LABEL


def _make_directory(path: Path) -> None:
    """Create the directory of a store, or raise `StoreUnavailable` if it cannot be created or written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"the store directory {path} cannot be created ({error.strerror}); choose another with --store"
        ) from error
    if not os.access(path, os.W_OK):
        raise StoreUnavailable(
            f"the store directory {path} cannot be written; open it with ATLAS_READ_ONLY=1, or fix its permissions"
        )


def _restrict_files(path: Path) -> None:
    """Remove the permissions of other users from a store's files."""
    with suppress(OSError):  # the directory is gone, or may not be listed
        restrict_permissions(path, erasing.list_own_paths(path))


def _check_not_lost(path: Path) -> None:
    """Raise `StoreDamaged` if there is a label, but the ledger is missing or empty."""
    ledger = path / LEDGER
    if (path / LABEL).exists() and (not ledger.exists() or ledger.stat().st_size == 0):
        raise damage_error(ledger, "the file is missing or empty, though the store was in use")


def _check_exists(path: Path) -> None:
    """Raise `StoreUnavailable` if there is no store in a directory, or `StoreDamaged` if its ledger was lost."""
    _check_not_lost(path)
    if not (path / LEDGER).exists():
        raise StoreUnavailable(
            f"there is no store at {path}; check the path, or create one: atlas --store {path} init, "
            f"or atlas --store {path} import PATH"
        )


def _restrict_to_own(where: Operations) -> Operations | None:
    """Return the filter, limited to the actor's own operations if the actor has a scope. None if nothing can match."""
    if not actor_scope():
        return where
    return replace(where, actor=actor_name("")) if where.actor in ("", actor_name("")) else None


def _describe_filter(where: Operations) -> str:
    """Return a description of a filter of operations, such as `all that crawler did since 2026-05-01 14:00 UTC`."""
    kind = f"every {where.kind} that" if where.kind else "all that"
    actor = where.actor or "anybody"
    target = f" to {where.of}" if where.of else ""
    since = f" since {where.since.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if where.since else ""
    text = f", with the text {where.text!r}" if where.text else ""
    return f"{kind} {actor} did{target}{since}{text}"
