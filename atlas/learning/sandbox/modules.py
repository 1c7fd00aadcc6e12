"""The public names of modules. Modules are imported in the sandbox, because an import may run any code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from atlas.learning.sandbox.runner import RunResult, Sandbox

_NAME_PREFIX = "public "
_LOCATION_PREFIX = " at line "

_LISTING_CODE = """
names = {{}}
exec("from {module} import *", names)
globals().update(dict.fromkeys("{mark}" + name for name in names if name != "__builtins__"))
del names
"""


class PublicNames:
    """A cache of the names that `from … import *` imports from modules. The sandbox imports the modules."""

    def __init__(self, sandbox: Sandbox, *, is_cancelled: Callable[[], bool] | None = None) -> None:
        """Create an empty cache."""
        self._sandbox = sandbox
        self._is_cancelled = is_cancelled
        self._names: dict[str, frozenset[str] | str] = {}

    def __call__(self, modules: Collection[str]) -> Mapping[str, frozenset[str] | str]:
        """Return the names that a star import binds, keyed by module. For a failed import, return a one-line reason.

        Raises:
            Cancelled: `is_cancelled` returned True.
        """
        new = [module for module in modules if module not in self._names]
        programs = [(_LISTING_CODE.format(module=module, mark=_NAME_PREFIX), "") for module in new]
        results = self._sandbox.run_all(programs, is_cancelled=self._is_cancelled)
        self._names |= {module: _parse_names(result) for module, result in zip(new, results, strict=True)}
        return {module: self._names[module] for module in modules}


def _parse_names(result: RunResult) -> frozenset[str] | str:
    """Return the names in a result, or the reason for which the run failed."""
    if result.outcome != "passed":
        return result.detail.rpartition(_LOCATION_PREFIX)[0] or result.detail
    return frozenset(name.removeprefix(_NAME_PREFIX) for name in result.values if name.startswith(_NAME_PREFIX))
