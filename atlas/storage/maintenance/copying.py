"""Copying a whole store into another, on any engine, such as from a directory to PostgreSQL or back."""

from __future__ import annotations

from atlas.infra.actor import Role, check_role, check_store
from atlas.storage.engine import Progress
from atlas.storage.maintenance.names import names_text
from atlas.storage.store import Store


def copy_store(source: Store, target: Store, on_progress: Progress | None = None) -> int:
    """Copy a store into an empty one, with its history, so that earlier operations can still be undone.

    An interrupted copy cannot be opened as a store. The next call resumes it, or starts again if the source has
    changed. Writes to the source during the copy are not copied.

    Returns:
        The number of rows copied and compared.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The target is not empty.
        StoreError: The copy differs from the original, and was discarded.
    """
    check_role(Role.ADMIN, "copy a store")
    check_store(source.path)
    n_rows = source.ledger.copy_into(target.ledger, on_progress)
    map_names = names_text(source).read()
    if map_names is not None:
        names_text(target).change(lambda _: map_names)
    return n_rows
