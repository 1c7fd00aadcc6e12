"""A map of six topics, and the names of its domains."""

from __future__ import annotations

import pytest

from atlas.maps.labels import DomainNames
from atlas.maps.map import make_map
from tests.support.vectors import topical


@pytest.fixture(scope="package")
def topics_map():
    return make_map(topical(300))


@pytest.fixture
def names(tmp_path):
    return DomainNames(tmp_path, "atlas_experiences")
