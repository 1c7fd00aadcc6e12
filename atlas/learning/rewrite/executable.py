"""Source code of rewritten programs together with the functions that they call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atlas.learning.analysis.functions import Function, function_source, program_source
from atlas.learning.rewrite.workspace import Workspace


class Executables:
    """A cache of the source of a workspace's functions and programs. Create a new cache after a change."""

    def __init__(self, workspace: Workspace, functions: Mapping[str, Function]) -> None:
        self._workspace = workspace
        self._functions = functions
        self._sources: dict[str, str] = {}

    def standalone(self, name: str, disabled: str = "") -> str:
        """Return the code of a program, preceded by the functions that it needs, so that it can be run.

        Args:
            disabled: A function to replace by a stub that raises.
        """
        parts = map(self.function, self._workspace.called_patterns(name))
        stubs = [raising_stub(self._functions[disabled].name)] if disabled else []
        return "\n\n\n".join([*parts, *stubs, self.program(name)])

    def function(self, name: str) -> str:
        """Return the code of a function."""
        if name not in self._sources:
            function = replace(self._functions[name], pattern=self._workspace.patterns[name])
            self._sources[name] = function_source(function, self._functions)
        return self._sources[name]

    def program(self, name: str) -> str:
        """Return the source of a rewritten program, without the imports that it no longer needs."""
        if name not in self._sources:
            removable = self._workspace.removable_imports.get(name, frozenset())
            self._sources[name] = program_source(self._workspace.programs[name], self._functions, removable)
        return self._sources[name]


def function_sources(workspace: Workspace, functions: Mapping[str, Function]) -> dict[str, str]:
    """Return the code of every function in a workspace, callees first."""
    executables = Executables(workspace, functions)
    return {name: executables.function(name) for name in workspace.patterns}


def raising_stub(name: str) -> str:
    """Return the source of a function of this name that raises, so that programs that call it fail."""
    return f"def {name}(*_, **__): raise RuntimeError('disabled')"
