"""Loaders of primitives: this package's, and those that other packages bring.

A package brings one by an entry point of the group `atlas.primitives`: a name for the domain, and a class or function
that makes a `PrimitiveLoader` from no arguments.

    [project.entry-points."atlas.primitives"]
    chess = "my_package.primitives:ChessPrimitiveLoader"

This package's own are listed here rather than as entry points, so that they are there too where it is not installed, or
an older version of it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from atlas.core.types import CodeConcept
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from atlas.protocols.strategies import PrimitiveLoader

GROUP = "atlas.primitives"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderFault:
    """A loader, or a concept of one, that is left out, and why."""

    name: str
    """Name of the entry point."""

    value: str
    """Object that the entry point names, empty for a loader that was made otherwise."""

    reason: str


def log_fault(fault: LoaderFault) -> None:
    """Report a fault as a warning in the log."""
    log.warning("primitives of %r (%s) are left out: %s", fault.name, fault.value, fault.reason)


def discover(report: Callable[[LoaderFault], None] = log_fault) -> dict[str, PrimitiveLoader]:
    """Return the loaders by domain, this package's first.

    Args:
        report: Called with every loader that fails or has the name of another. It is left out.
    """
    loaders: dict[str, PrimitiveLoader] = {"arc": ARCPrimitiveLoader(), "swe": SWEPrimitiveLoader()}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        loader = _load(point) if point.name not in loaders else f"there is a loader named {point.name!r} already"
        if isinstance(loader, str):
            report(LoaderFault(name=point.name, value=point.value, reason=loader))
        else:
            loaders[point.name] = loader
    return loaders


def _load(point: EntryPoint) -> PrimitiveLoader | str:
    """Return the loader, or why there is none."""
    try:
        loader = point.load()()
    except Exception as error:  # noqa: BLE001 - another package's code: whatever is wrong with it, the others go on
        return f"{type(error).__name__}: {error}"
    if not isinstance(loader, PrimitiveLoader):
        return f"expected it to make a PrimitiveLoader, got {type(loader).__name__}"
    return loader


def known_primitives(
    loaders: Mapping[str, PrimitiveLoader], report: Callable[[LoaderFault], None] = log_fault
) -> dict[str, CodeConcept]:
    """Return the concepts of several loaders by id.

    Args:
        report: Called with every loader that fails, and with every duplicate id. That concept is left out.
    """
    by_id: dict[str, CodeConcept] = {}
    for name, loader in loaders.items():
        try:
            concepts = list(loader.load().values())
        except Exception as error:  # noqa: BLE001 - another package's code: whatever is wrong with it, the others go on
            report(LoaderFault(name=name, value="", reason=f"{type(error).__name__}: {error}"))
            continue
        for concept in concepts:
            if by_id.setdefault(concept.id, concept) is not concept:
                report(LoaderFault(name=name, value="", reason=f"the id {concept.id!r} is taken"))
    return by_id
