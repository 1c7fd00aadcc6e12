"""Pages that are drawn for somebody whom a server has let in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from atlas.infra import actor as actors
from atlas.infra.actor import Actor, ActorFinder

Become = Callable[[Actor], None]


@contextmanager
def visiting(actor: Actor) -> Iterator[Become]:
    """Draw pages for an actor; what comes out makes another one of them, also for pages that stand open."""
    now = [actor]
    actors.set_actor_finder(ActorFinder(current=lambda: now[0], choices=lambda: {"store": now[0]}))
    try:
        yield lambda another: now.__setitem__(0, another)
    finally:
        actors._finders.clear()
