"""Copying a whole store into another one, on whatever engine: the way from a directory to PostgreSQL, and back."""

from __future__ import annotations

from atlas.infra.actor import Role, check_role, check_store
from atlas.storage.engine import Progress
from atlas.storage.maintenance.names import names_text
from atlas.storage.store import Store


def copy_store(source: Store, target: Store, on_progress: Progress | None = None) -> int:
    """Copy a store into an empty one, with its history, so that earlier operations can still be undone.

    A copy that was cut off is no store, and goes on with the next call, unless the source was written meanwhile: then
    it begins again. What is written to the source during the copy is not copied.

    Returns:
        How many rows were copied and compared.

    Raises:
        NotAllowed: The actor is not an admin.
        InvalidInput: The target holds something.
        StoreError: The copy differs from the original. It is discarded.
    """
    check_role(Role.ADMIN, "copy a store")
    check_store(source.path)
    n_rows = source.ledger.copy_into(target.ledger, on_progress)
    if (names := names_text(source).read()) is not None:
        names_text(target).change(lambda _: names)
    return n_rows
