"""Plug-ins: additions of other distributions to ATLAS by entry points. No other module reads entry points.

Each group is one kind of plug-in, and each of its entry points names something that is called: a function or a class.
`docs/reference/plugins.md` has an example of each.

| group | the name is | called with | returns |
|---|---|---|---|
| `atlas.importers` | the format's name | nothing | an `atlas.importers.Format` |
| `atlas.primitives` | the domain | nothing | a `PrimitiveLoader` |
| `atlas.indexes` | the scheme of addresses | the address, `seconds` | a `VectorService` |
| `atlas.success_updaters` | the name in `ATLAS_SUCCESS_UPDATER` | nothing | a `SuccessRateUpdater` |
| `atlas.commands` | the command | an argument parser | nothing: it sets `run` |
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from atlas.core.errors import AtlasError, PluginUnusable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

IMPORTERS = "atlas.importers"
PRIMITIVES = "atlas.primitives"
INDEXES = "atlas.indexes"
SUCCESS_UPDATERS = "atlas.success_updaters"
COMMANDS = "atlas.commands"

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """An entry point of another distribution. Calling it imports the module."""

    name: str

    value: str
    """Object that the entry point names, as `module:object`."""

    distribution: str
    """Name and version of the distribution that has the entry point."""

    summary: str
    """The distribution's summary of one line, or an empty string."""

    point: EntryPoint = field(repr=False, compare=False)

    def make(self, kind: type[T], *args: Any, **kwargs: Any) -> T:
        """Call the entry point and return its result.

        Raises:
            PluginUnusable: The entry point cannot be imported, it fails, or its result is not of this kind.
        """
        try:
            result = self.point.load()(*args, **kwargs)
        except AtlasError:
            raise
        except Exception as error:
            raise self.unusable_error(f"{type(error).__name__}: {error}") from error
        if not isinstance(result, kind):
            raise self.unusable_error(f"expected the plug-in to make a {kind.__name__}, got {type(result).__name__}")
        return result

    def unusable_error(self, reason: str) -> PluginUnusable:
        """Return an error with the distribution and a reason."""
        return PluginUnusable(
            f"the plug-in {self.name!r} of {self.distribution} ({self.value}) cannot be used: {reason}; "
            "fix or uninstall that distribution",
            reason=reason,
        )


def installed_plugins(group: str) -> list[Plugin]:
    """Return the installed plug-ins of a group, sorted by name, without importing them."""
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=group), key=lambda point: (point.name, point.value))
    return [_from_entry_point(point) for point in points]


def find_plugin(group: str, name: str) -> Plugin | None:
    """Return the plug-in with a name, or None."""
    return next((plugin for plugin in installed_plugins(group) if plugin.name == name), None)


def log_fault(plugin: Plugin, error: PluginUnusable) -> None:
    """Log a warning about a plug-in that is left out."""
    log.warning("%s", error)


def make_from_plugins(
    group: str,
    kind: type[T],
    reserved: Collection[str],
    report: Callable[[Plugin, PluginUnusable], None] = log_fault,
) -> dict[str, T]:
    """Return the objects that the plug-ins of a group create, keyed by name. Invalid ones are reported and left out.

    Args:
        reserved: Names that ATLAS itself uses.
    """
    by_name: dict[str, T] = {}
    for plugin in installed_plugins(group):
        try:
            if plugin.name in reserved or plugin.name in by_name:
                raise plugin.unusable_error(f"the name {plugin.name!r} is taken")
            by_name[plugin.name] = plugin.make(kind)
        except AtlasError as error:
            report(plugin, error if isinstance(error, PluginUnusable) else plugin.unusable_error(str(error)))
    return by_name


def _from_entry_point(point: EntryPoint) -> Plugin:
    distribution: Any = point.dist
    return Plugin(
        name=point.name,
        value=point.value,
        distribution=f"{distribution.name} {distribution.version}" if distribution else "an unnamed distribution",
        summary=(distribution.metadata.get("Summary") or "") if distribution else "",
        point=point,
    )
