"""The scope bar narrows to a user, a project or a session."""

from __future__ import annotations

import pytest

import atlas
from atlas.testing import HashEmbedder
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.filters import options_of
from atlas.views.shared.scope import scope_with
from atlas.views.shared.scope_address import address_of, read_address


@pytest.fixture
def memory(tmp_path):
    """A memory with attempts of two projects, and one of none."""
    scopes = ({"scope.project": "shop", "scope.user": "ada"}, {"scope.project": "shop"}, {"scope.project": "bank"}, {})
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        for number, scope in enumerate(scopes):
            task = atlas.Task("", "", f"mend the export {number}")
            memory.store(atlas.Trajectory(task=task, steps=(), outcome=atlas.Outcome(None), metadata=scope))
        yield memory


def test_the_namespaces_of_a_store_are_offered_most_frequent_first(memory):
    offered = options_of(EXPERIENCE.filters, memory.experience)["namespaces"]
    assert dict(offered) == {"project=shop": 2, "user=ada": 1, "project=bank": 1}
    assert next(iter(offered)) == "project=shop"


def test_several_namespaces_must_all_match(memory):
    assert memory.experience.count(scope_with(namespaces=("project=shop",)).where()) == 2
    assert memory.experience.count(scope_with(namespaces=("project=shop", "user=ada")).where()) == 1
    assert memory.experience.count(scope_with(namespaces=("project=shop", "project=bank")).where()) == 0


def test_an_address_keeps_the_namespaces(memory):
    scope = scope_with(namespaces=("project=shop", "user=ada"))
    address = address_of(scope)
    assert address == {"scope_namespaces": ["project=shop", "user=ada"]}
    assert read_address(address, options_of(EXPERIENCE.filters, memory.experience), None).scope == scope
