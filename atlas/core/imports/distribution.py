"""The installed distribution of ATLAS: name, version and extras."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from traceback import walk_tb

from atlas.core.errors import ExtraMissing

NAME = "atlas-agent-memory"

DIRECTORY = "atlas-memory"
"""Name of ATLAS's directories for caches and state.

The name differs from the distribution's so that existing files stay valid.
"""

__version__ = "0.2.0"
"""Version of ATLAS. The build reads it here."""

EVERY = "all"
"""The extra that contains all other extras."""

OWN_MODULES = ("atlas", "pages")
"""Top-level modules of ATLAS."""

_MAP = ("sklearn", "scipy", "umap")
_DASHBOARD = ("streamlit", "plotly", *_MAP)
_MCP = ("mcp", "httpx2")

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "chroma": ("chromadb",),
    "dashboard": _DASHBOARD,
    "learning": ("stitch_core",),
    "llm": ("anthropic", "jsonschema"),
    "map": _MAP,
    "mcp": _MCP,
    "metrics": ("prometheus_client", "opentelemetry"),
    "models": ("sentence_transformers", "torch", "onnx", "huggingface_hub"),
    "pinecone": ("pinecone",),
    "postgres": ("psycopg",),
    "server": ("fastapi", "authlib", "opentelemetry", *_DASHBOARD, *_MCP),
    "tables": ("pandas", "pyarrow"),
}
"""Packages of each extra, keyed by import name."""


@contextmanager
def extra(name: str, feature: str, error: type[Exception] = ExtraMissing) -> Iterator[None]:
    """Run a block that imports optional packages. Replace an import error by one with the install command.

    Args:
        name: The extra of ATLAS that contains the packages. `EVERY` for a block that runs plug-ins too.
        feature: The feature that needs the packages, as the subject of the error's sentence: "a store in PostgreSQL".
        error: Class of the error.

    Raises:
        ExtraMissing: A package is not installed. With `error`, that class is raised instead.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        if package in OWN_MODULES:  # a bug in ATLAS, which no installation can fix
            raise
        if name == EVERY and (foreign := _foreign_package(missing)):
            raise error(
                f"{foreign} needs the package {package}, which is not installed; neither is part of ATLAS, so "
                f"reinstall {foreign} with its dependencies"
            ) from missing
        raise error(_missing_sentence(name, feature, package)) from missing


def _foreign_package(missing: ModuleNotFoundError) -> str:
    """Return the first third-party package in a traceback, such as a plug-in. Empty if ATLAS itself needs it."""
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(missing.__traceback__))
    packages = (module.partition(".")[0] for module in modules)
    foreign_packages = (name for name in packages if name not in OWN_MODULES and name not in sys.stdlib_module_names)
    package = next(foreign_packages, "")
    return "" if any(package in names for names in EXTRAS.values()) else package


def require_extra(name: str, feature: str, error: type[Exception] = ExtraMissing) -> None:
    """Raise unless all packages of an extra are installed, without importing them.

    Raises:
        ExtraMissing: A package is not installed. With `error`, that class is raised instead.
    """
    if sentence := missing_package(name, feature):
        raise error(sentence)


def missing_package(name: str, feature: str) -> str:
    """Return a sentence that names a missing package of an extra and its install command. Empty if none is missing."""
    package = next((package for package in EXTRAS[name] if find_spec(package) is None), "")
    return _missing_sentence(name, feature, package) if package else ""


def installed_extras() -> list[str]:
    """Return the names of the extras whose packages are all installed."""
    return [name for name in EXTRAS if not missing_package(name, "")]


def _missing_sentence(name: str, feature: str, package: str) -> str:
    return f"{feature} needs the package {package}, which is not installed; install it: pip install '{NAME}[{name}]'"
