"""The primitives of software engineering."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from atlas.core.types import CodeConcept
from atlas.primitives.loader import concepts_of
from atlas.primitives.swe import commands as swe_commands
from atlas.primitives.swe import git as swe_git
from atlas.primitives.swe import patches as swe_patches
from atlas.primitives.swe import paths as swe_paths
from atlas.primitives.swe import texts as swe_texts

MODULES = (swe_texts, swe_paths, swe_patches, swe_commands, swe_git)

EXAMPLE_FILES = {
    "notes.txt": "first\nsecond\n",
    "package/__init__.py": "",
    "package/greeting.py": (
        'WORD = "Hello"\n\n\nclass Greeter:\n    def greet(self, name):\n        return f"{WORD}, {name}"\n'
    ),
    "test_greeting.py": (
        "import unittest\n\nfrom package.greeting import Greeter\n\n\nclass Test(unittest.TestCase):\n"
        '    def test_greet(self):\n        self.assertEqual(Greeter().greet("Ada"), "Hello, Ada")\n'
    ),
}
"""Texts of the files that the examples find below `root`, keyed by path."""


class SWEPrimitiveLoader:
    """A loader of an agent's work in a project: reading, writing, searching, patching, running, git.

    The functions are concepts with ids `swe_…`. The first argument is a root directory, which no path can leave. The
    guarantee is described in `paths`, and does not cover programs run by `commands`.
    """

    def __init__(self, root: Path | None = None) -> None:
        """Create a loader.

        Args:
            root: Root directory of the functions that `tools` returns. By default, the working directory at that time.
        """
        self._root = root

    def load(self) -> dict[str, CodeConcept]:
        """Return the concepts, keyed by name, such as `read_file`. They are the same for every root."""
        return concepts_of("swe", MODULES, {"example_files": EXAMPLE_FILES})

    def tools(self) -> dict[str, Callable[..., Any]]:
        """Return the functions with the root bound as first argument, keyed by name.

        Raises:
            FileNotFoundError: The root does not exist.
        """
        root = (self._root or Path.cwd()).resolve(strict=True)
        functions = {name: getattr(module, name) for module in MODULES for name in vars(module)}
        return {name: partial(functions[name], root) for name, concept in self.load().items() if _takes_root(concept)}


def _takes_root(concept: CodeConcept) -> bool:
    return concept.signature.startswith(f"{concept.name}(root: Path")
