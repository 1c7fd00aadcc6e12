"""Creation and removal of frozen copies of a store."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from atlas.core.errors import StoreUnavailable
from atlas.infra.actor import Role, actor_name, check_role, check_store
from atlas.infra.durable_files import replace_durably
from atlas.storage.erasing import lock_scratch
from atlas.storage.frozen import PREFIX, STAMP, current_copy, frozen_copy_path
from atlas.storage.history import Reword
from atlas.storage.location.access import access_storage
from atlas.storage.maintenance.names import NAMES, names_text
from atlas.storage.store import LABEL, LEDGER, Store

OMISSION_REASON = "left out of this copy: what was deleted, and what waits for review"
"""Reason of the purge in a copy's history that left out records."""

_MAX_WRITING_SECONDS = 3_600.0
"""Age up to which another process may still be writing a copy."""


def freeze(store: Store, name: str, *, reword: Reword | None = None) -> Path:
    """Copy the store into a directory inside the store's, and return the directory of the copy.

    The copy and its history leave out deleted and pending records, and record their number. Any purge removes the copy,
    because it may contain purged records.

    Args:
        name: Name of the copy, of letters and digits.
        reword: Rewords texts in the copy that contain a part of a left-out record.

    Raises:
        NotAllowed: The actor is not an admin.
        StoreUnavailable: The copy cannot be written. The unfinished copy is removed.
    """
    check_role(Role.ADMIN, "freeze a copy of the store")
    check_store(store.path)
    target = frozen_copy_path(store.path, name)
    try:
        target.mkdir(mode=0o700)
        with lock_scratch(target):
            last_purge = access_storage(store.path).last_purge()  # a purge during the copy makes the copy unusable
            frozen_at = store.ledger.clock.now().isoformat()
            store.ledger.copies.write(target / LEDGER)
            purge = store.ledger.new_operation("purge", actor=actor_name(store.settings.actor), reason=OMISSION_REASON)
            store.ledger.copies.leave_out_hidden(target / LEDGER, purge, reword)
            if (names := names_text(store).read()) is not None:
                (target / NAMES).write_bytes(names)
            if store.ledger.is_file:  # another label names the address of the store itself
                with suppress(FileNotFoundError):
                    shutil.copyfile(store.path / LABEL, target / LABEL)
            replace_durably(target / STAMP, json.dumps({"frozen_at": frozen_at, "last_purge": last_purge}))
    except BaseException as error:
        remove_frozen_copy(store.path, name)
        if isinstance(error, OSError):
            raise StoreUnavailable(
                f"the copy {target} cannot be written ({error}); the unfinished copy was removed. Check the disk"
            ) from error
        raise
    return target


def remove_unused_copies(store: Path, names_in_use: Collection[str]) -> None:
    """Remove frozen copies that are not in use or older than a purge, and the remains of killed processes."""
    for path in store.glob(f"{PREFIX}*"):
        name = path.name.removeprefix(PREFIX)
        with suppress(FileNotFoundError):  # another process removed it
            is_old = time.time() - path.stat().st_mtime > _MAX_WRITING_SECONDS
            is_outdated = (path / STAMP).exists() and current_copy(store, name) is None
            if is_outdated or (is_old and name not in names_in_use):
                remove_frozen_copy(store, name)


def remove_frozen_copy(store: Path, name: str) -> None:
    """Remove a frozen copy, if it exists."""
    shutil.rmtree(frozen_copy_path(store, name), ignore_errors=True)
