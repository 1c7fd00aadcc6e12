"""Tests of what a machine may lack: skipped there, but not where nothing may be skipped."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(message: str) -> NoReturn:
    """Skip a test, or fail it in CI unless ATLAS_MAY_SKIP allows it, as on a runner that cannot have what it needs."""
    if os.environ.get("CI") and not os.environ.get("ATLAS_MAY_SKIP"):
        pytest.fail(message)
    pytest.skip(message)
