"""Checks of a store's derived data against its ledger, and repairs."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from atlas.core.errors import StoreDamaged
from atlas.infra.actor import Role, actor_name, check_role
from atlas.infra.permissions import files_open_to_others, restrict_permissions
from atlas.storage.erasing import list_own_paths
from atlas.storage.following_index import FollowingIndex, IndexUnreachable, IndexUnusable
from atlas.storage.late_interaction import read_projection
from atlas.storage.records import Check
from atlas.storage.store import Store
from atlas.storage.vectors.vector_search import VectorSearch

logger = logging.getLogger(__name__)

SETTLING_SECONDS = 10.0
"""Timeout for a service to show its latest writes."""

MAX_NAMED = 100
"""Maximum number of records listed by id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    problem: str
    """Description of the problem, or empty."""

    is_fixed: bool = False


def examine(store: Store, *, fix: bool = False) -> list[Finding]:
    """Check the store, and return the findings. With `fix`, repair derived data from the ledger, and check again.

    Raises:
        NotAllowed: `fix`, and the actor is not a curator.
        StoreDamaged: The ledger itself cannot be read.
    """
    if fix:
        check_role(Role.CURATOR, "repair the store")
    return list(_examine(store, fix))


def _examine(store: Store, fix: bool) -> Iterator[Finding]:
    """Yield the finding of each check, after a repair if `fix`, until a check forbids later ones."""
    for check in _list_checks(store):
        problem, is_fixed = check.run(), False
        if problem and fix and check.repair and not store.read_only:
            check.repair()
            remaining_problem = check.run()
            is_fixed = not remaining_problem
            problem = remaining_problem or problem
        yield Finding(check=check.name, problem=problem, is_fixed=is_fixed)
        if problem and check.stops_on_failure:
            return


def _list_checks(store: Store) -> tuple[Check, ...]:
    """Return all checks of a store: those of its ledger, then those of its derived files."""
    return (
        *store.ledger.checks(),
        Check("permissions", partial(_check_permissions, store), partial(_fix_permissions, store)),
        Check("index", partial(_check_index, store), partial(_fix_index, store)),
        Check("marks", partial(_check_marks, store), partial(_fix_marks, store)),
        Check("purges", partial(_check_purges, store), partial(_fix_purges, store)),
        Check("word pieces", partial(_check_word_pieces, store), partial(_fix_word_pieces, store)),
    )


def _check_permissions(store: Store) -> str:
    paths = files_open_to_others(store.path, list_own_paths(store.path))
    return f"other users have access to {len(paths)} of the store's files, such as {paths[0]}" if paths else ""


def _fix_permissions(store: Store) -> None:
    restrict_permissions(store.path, list_own_paths(store.path))


def _check_index(store: Store) -> str:
    problems = (_index_problem(store, name) for name in store.ledger.collections())
    return "; ".join(filter(None, problems))


def _index_problem(store: Store, name: str) -> str:
    """Return how the index of a collection differs from the ledger, or an empty string if it is equal or not used."""
    nearest = _vector_search_of(store, name)
    if store.read_only or nearest.index is None or nearest.is_exact():
        return ""
    if outage := _outage_reason(nearest.index):
        return f"the index of {name} cannot be reached, so searches compare every vector ({outage})"
    if checkpoint_problem := nearest.updater.checkpoint_problem():
        return f"{name} {checkpoint_problem}" + (f" ({nearest.index.fault})" if nearest.index.fault else "")
    if n_behind := store.ledger.position(name).revision - nearest.updater.checkpoint().revision:
        return f"the index of {name} is {n_behind} revisions behind"
    n_windows = store.ledger.vectors.count(name)
    try:
        n_indexed = _count_keys(nearest.index, n_windows)
    except IndexUnusable as error:
        return f"the index of {name} is damaged ({error})"
    return "" if n_indexed == n_windows else f"the index of {name} has {n_indexed} vectors, but the ledger {n_windows}"


def _outage_reason(index: FollowingIndex) -> str:
    """Return why a remote index does not answer, or an empty string if it answers or is local."""
    if not index.is_remote:
        return ""
    try:
        index.count()
    except IndexUnreachable as error:
        return str(error)
    except IndexUnusable:  # it answers; the next checks find missing vectors
        return ""
    return ""


def _count_keys(index: FollowingIndex, n_expected: int) -> int:
    """Return the number of keys in an index, polling a service that may count with a delay."""
    deadline = time.monotonic() + (SETTLING_SECONDS if index.is_remote else 0)
    while (n_indexed := index.count()) != n_expected and time.monotonic() < deadline:
        time.sleep(1)
    return n_indexed


def _fix_index(store: Store) -> None:
    """Update the indexes that are behind the ledger, and build those again that differ otherwise."""
    for name in store.ledger.collections():
        problem, nearest = _index_problem(store, name), _vector_search_of(store, name)
        if not problem or nearest.index is None or _outage_reason(nearest.index):
            continue
        if "behind" not in problem:
            nearest.index.clear()
        nearest.updater.catch_up()
        _await_index_update(nearest)


def _await_index_update(nearest: VectorSearch) -> None:
    """Wait until the latest writes are visible in the index. Some services need seconds."""
    deadline = time.monotonic() + SETTLING_SECONDS
    while nearest.updater.n_behind() and time.monotonic() < deadline:
        time.sleep(1)


def _check_word_pieces(store: Store) -> str:
    if store.model is None:
        return ""
    try:
        read_projection(store.ledger, store.model.dimension)
    except StoreDamaged as error:
        return str(error)
    return ""


def _fix_word_pieces(store: Store) -> None:
    """Delete the token vectors and their unreadable projection. The next write fits a new projection."""
    store.ledger.token_vectors.clear()


def _check_marks(store: Store) -> str:
    marks = store.ledger.marks
    orphans = [record_id for _, record_id in marks.orphaned_marks()]
    lost_ids = marks.ids_with_lost_marks()
    problems = [f"{name} differs from the ledger" for name in store.marks_files.outdated()]
    problems += [f"{name} is a remainder of a killed process" for name in _find_marks_leftovers(store)]
    if orphans:
        problems.append(f"{len(orphans)} marks of records that never existed, such as {orphans[0]!r}")
    if lost_ids:
        problems.append(
            f"the last mark of {len(lost_ids)} records was lost with its file; their previous marks apply until they "
            f"are marked again: {_join_ids(lost_ids)}"
        )
    return "; ".join(problems)


def _find_marks_leftovers(store: Store) -> list[str]:
    return [] if store.read_only else store.marks_files.leftovers()


def _join_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MAX_NAMED:,} more" if len(ids) > MAX_NAMED else ""
    return ", ".join(ids[:MAX_NAMED]) + more


def _fix_marks(store: Store) -> None:
    marks = store.ledger.marks
    if marks.orphaned_marks():
        reason = "of records that never existed"
        marks.drop_orphaned_marks(
            store.ledger.new_operation("mark", actor=actor_name(store.settings.actor), reason=reason)
        )
    store.marks_files.write()


def _check_purges(store: Store) -> str:
    n_unfinished = len(store.ledger.purges.unfinished())
    subject = "purge is" if n_unfinished == 1 else "purges are"
    message = f"{n_unfinished} {subject} not finished: files of the store may still contain purged data"
    return message if n_unfinished else ""


def _fix_purges(store: Store) -> None:
    if problem := store.finish_purges():
        logger.warning("%s", problem)


def _vector_search_of(store: Store, name: str) -> VectorSearch:
    return store.collection(name).parts.nearest
