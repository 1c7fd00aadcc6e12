"""The distribution that ATLAS is installed from: its name, its version, and the extras that features need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from atlas.core.errors import ExtraMissing

NAME = "atlas-agent-memory"

DIRECTORY = "atlas-memory"
"""Name of ATLAS's directories for caches and state. It is older than the distribution's, and stays, so that nobody's
files are orphaned."""

__version__ = "0.2.0"
"""Version of ATLAS. The build reads it here."""


@contextmanager
def extra(name: str, feature: str, error: type[Exception] = ExtraMissing) -> Iterator[None]:
    """Import optional packages in a block. Where one is missing, its error names the line that installs it.

    Args:
        name: The extra of the distribution that contains them.
        feature: Subject of the sentence: what needs them, as in "a store in PostgreSQL".
        error: Class of the error.

    Raises:
        ExtraMissing: A package is not installed; or the given error.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        raise error(
            f"{feature} needs the package {package}, which is not installed; install it: pip install '{NAME}[{name}]'"
        ) from missing
