"""The gate skips no test, and a runner that cannot have what some need skips those alone."""

from __future__ import annotations

import pytest

from tests.support.lacking import lacking
from tests.support.repository import REPOSITORY


@pytest.mark.parametrize(
    ("is_ci", "may_skip", "outcome"),
    [
        ("", "", pytest.skip.Exception),
        ("true", "", pytest.fail.Exception),
        ("true", "true", pytest.skip.Exception),
    ],
)
def test_what_a_machine_lacks_fails_only_where_nothing_may_be_skipped(monkeypatch, is_ci, may_skip, outcome):
    monkeypatch.setenv("CI", is_ci)
    monkeypatch.setenv("ATLAS_MAY_SKIP", may_skip)
    with pytest.raises(outcome, match="no such disk"):
        lacking("no such disk")


def test_a_runner_of_github_may_skip_what_it_cannot_have():
    assert "ATLAS_MAY_SKIP:" in (REPOSITORY / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
