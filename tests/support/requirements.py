"""What the distribution requires: its own requirements as `pyproject.toml` has them, and theirs as installed here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Set
from importlib.metadata import requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from atlas.core.imports.distribution import NAME
from tests.support.repository import REPOSITORY

_PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

EXTRAS: dict[str, list[str]] = _PROJECT["optional-dependencies"]
"""Requirements of each extra."""

ACCELERATOR_PACKAGES = ("cuda-", "nvidia-", "triton")
"""What builds of torch for graphics cards bring in; each build pins its own."""


def closure(extras: Iterable[str] = ()) -> set[str]:
    """Return the names of all distributions that this one brings in here, with some of its extras."""
    waiting = [*map(Requirement, _PROJECT["dependencies"]), *_of_extras(set(extras))]
    found: set[str] = set()
    followed: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) not in followed and not requirement.name.startswith(ACCELERATOR_PACKAGES):
            followed.add(str(requirement))
            found.add(canonicalize_name(requirement.name))
            waiting += _needs_of(requirement)
    return found


def _of_extras(extras: Set[str]) -> Iterator[Requirement]:
    """Yield what extras require, and what those of its own extras do that they name."""
    for requirement in [Requirement(line) for extra in extras for line in EXTRAS[extra]]:
        if requirement.name == NAME:
            yield from _of_extras(requirement.extras)
        else:
            yield requirement


def _needs_of(requirement: Requirement) -> Iterator[Requirement]:
    """Yield what a requirement and its extras need in turn on this platform."""
    for line in requires(requirement.name) or []:
        need = Requirement(line)
        environments = [{"extra": extra} for extra in requirement.extras or {""}]
        if need.marker is None or any(need.marker.evaluate(environment) for environment in environments):
            yield need
