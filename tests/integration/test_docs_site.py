"""The docs' site builds without a warning, loads nothing from elsewhere, and leaves out nothing that is generated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import atlas
from atlas.cli import SUMMARIES
from atlas.verbs.table import VERBS
from tests.support.repository import REPOSITORY


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, as `make docs` builds it. What MkDocs complains of is the message of a failure."""
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(built)]
    environ = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return built


def page(site: Path, name: str) -> str:
    return (site / name / "index.html").read_text(encoding="utf-8")


def test_no_page_loads_anything_from_elsewhere(site):
    pages = {file: file.read_text(encoding="utf-8") for file in site.rglob("*.html")}
    assert len(pages) > 30
    loaded = re.compile(r"""\bsrc=["']?(?:https?:)?//|<link\b[^>]*stylesheet[^>]*href=["']?(?:https?:)?//""")
    assert [str(file) for file, text in pages.items() if loaded.search(text)] == []


def test_every_public_name_is_in_the_python_reference(site):
    pages = "".join(file.read_text(encoding="utf-8") for file in (site / "reference").rglob("*.html"))
    names = set(atlas.__all__) - {"__version__"}
    assert {name for name in names if f'id="atlas.{name}"' not in pages} == set()


def test_every_command_prints_its_help_on_the_page_of_options(site):
    text = page(site, "reference/commands")
    assert {name for name in SUMMARIES if f'id="atlas-{name}' not in text} == set()
    assert "--never-retrieved-days" in text


def test_every_setting_is_in_the_table(site):
    text = page(site, "reference/settings")
    settings = {f"ATLAS_{field.name.upper()}" for field in fields(atlas.Settings)}
    assert {name for name in settings if f"<code>{name}</code>" not in text} == {
        "ATLAS_ADDRESS",  # as ATLAS_STORE
        "ATLAS_RANKING",  # a profile's, or a program's
        "ATLAS_SERVER",  # as ATLAS_STORE
    }


def test_every_verb_and_every_request_is_listed(site):
    verbs, http = page(site, "reference/verbs"), page(site, "reference/http")
    assert {verb.name for verb in VERBS if f"<code>{verb.name}</code>" not in verbs} == set()
    assert {
        path for path in ("POST /attempts", "GET /{memory}", "GET /changes") if f"<code>{path}</code>" not in http
    } == set()
    assert "Idempotency-Key" in http
