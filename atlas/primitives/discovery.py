"""Loaders of primitives, of this package and of plug-ins.

A package adds a loader by an entry point of the group `atlas.primitives`: a name for the domain, and a class or
function that makes a `PrimitiveLoader` from no arguments.

    [project.entry-points."atlas.primitives"]
    chess = "my_package.primitives:ChessPrimitiveLoader"

The loaders of this package are listed here instead, so that they exist even if this version is not installed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atlas.core.errors import PluginUnusable
from atlas.core.imports.plugins import PRIMITIVES, Plugin, make_from_plugins
from atlas.core.types import CodeConcept
from atlas.primitives.arc.loader import ARCPrimitiveLoader
from atlas.primitives.swe.loader import SWEPrimitiveLoader
from atlas.protocols.strategies import PrimitiveLoader

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderFault:
    """The reason why a loader, or one of its concepts, is left out."""

    name: str
    """Name of the entry point."""

    value: str
    """Object that the entry point names, with its distribution. Empty for a loader without an entry point."""

    reason: str


def log_fault(fault: LoaderFault) -> None:
    """Report a fault as a warning in the log."""
    log.warning("primitives of %r (%s) are left out: %s", fault.name, fault.value, fault.reason)


def discover(report: Callable[[LoaderFault], None] = log_fault) -> dict[str, PrimitiveLoader]:
    """Return the loaders of primitives, keyed by domain. Those of this package come first.

    Args:
        report: Called for every loader that fails or has the name of an earlier loader. Such a loader is left out.
    """

    def report_plugin(plugin: Plugin, error: PluginUnusable) -> None:
        name = f"{plugin.value} of {plugin.distribution}"
        report(LoaderFault(name=plugin.name, value=name, reason=error.reason))

    loaders: dict[str, PrimitiveLoader] = {"arc": ARCPrimitiveLoader(), "swe": SWEPrimitiveLoader()}
    return loaders | make_from_plugins(PRIMITIVES, PrimitiveLoader, loaders, report_plugin)  # type: ignore[type-abstract]


def known_primitives(
    loaders: Mapping[str, PrimitiveLoader], report: Callable[[LoaderFault], None] = log_fault
) -> dict[str, CodeConcept]:
    """Return the concepts of several loaders, keyed by id.

    Args:
        report: Called for every loader that fails, and for every concept with a duplicate id. Both are left out.
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
