"""What holds for the whole project: locked dependencies, and pages that name only what is there."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from atlas.core.imports.distribution import __version__
from benchmarks.__main__ import BENCHMARKS
from tests.support.repository import REPOSITORY
from tests.support.requirements import closure

README = REPOSITORY / "README.md"
PAGES = [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]


def test_every_dependency_is_locked_at_the_version_installed():
    installed = {name: Version(version(name)).public for name in closure({"all", "dev"})}
    locked = locked_versions()
    assert installed == {name: locked.get(name, "not locked") for name in installed}


def test_the_readme_is_one_page():
    assert len(text_of(README).splitlines()) <= 140


def test_a_version_takes_at_most_forty_lines_of_the_changelog():
    latest, *earlier = re.split(r"^## ", text_of(REPOSITORY / "CHANGELOG.md"), flags=re.MULTILINE)[1:]
    assert latest.startswith("[Unreleased]")
    assert earlier[0].startswith(f"[{__version__}]")
    assert {one.splitlines()[0] for one in (latest, *earlier) if len(one.strip().splitlines()) > 40} == set()


def test_the_citation_names_this_version():
    assert f"\nversion: {__version__}\n" in text_of(REPOSITORY / "CITATION.cff")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_of_a_page_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", text_of(page))
    inside = [link for link in links if not link.startswith("https://")]
    assert [link for link in inside if not leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_file_that_a_page_names_is_there(page):
    named = re.findall(r"`((?:atlas|pages|tests|benchmarks|sample_data|docs)/[\w/.-]*)`", text_of(page))
    assert [path for path in named if not (REPOSITORY / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_benchmark_and_make_target_that_a_page_names_is_there(page):
    targets = re.findall(r"^([a-z-]+):", text_of(REPOSITORY / "Makefile"), re.MULTILINE)
    assert {"check", "test"} <= set(targets)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text_of(page), re.MULTILINE)) <= set(targets)
    named = {name for names in re.findall(r"python -m benchmarks ([a-z_ ]+)", text_of(page)) for name in names.split()}
    assert named <= set(BENCHMARKS)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def leads_somewhere(page: Path, link: str) -> bool:
    """Return whether a link of a page leads to a file, and to a heading of it where it names one."""
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """Return what GitHub calls the headings of a page in links."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def locked_versions() -> dict[str, str]:
    """Name → version, as constraints.txt has them."""
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))
