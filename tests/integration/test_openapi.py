"""The API against its own description: whatever it is sent, it answers as the description says, and never fails."""

from __future__ import annotations

import hypothesis
import pytest
import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

import atlas
from atlas.access import wrong_keys
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from atlas.testing import HashEmbedder
from tests.support.records import attempts, concept
from tests.support.serving import serving

N_EXAMPLES = 8
"""Requests of each kind in the gate. `make test-slow` sends 150 times as many."""

VERBS = r"^/verbs/"
ACCESS = r"^/(access/|review)"
OTHERS = r"^/(?!verbs/|access/|review|changes$)"
"""The requests of agents, without the stream of changes."""

N_EXAMPLES_OF_VERBS = 2
"""Requests of each verb in the gate: there are a hundred verbs, which share one route's code."""

# What no schema can say is refused with a sentence: a NUL deep in metadata, a filter of unknown operators.


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A served memory with something of each kind: its address, and the headers of keys by role."""
    with atlas.open_memory(tmp_path_factory.mktemp("openapi"), embedder=HashEmbedder()) as memory:
        memory.experience.store_many(attempts(30))
        memory.concepts.add(concept())
        memory.strategies.add(atlas.Strategy(situation="a report is wrong", suggestion="read the log first"))
        memory.journal.add("reflection", "the report counts customers twice", generation=3)
        api_keys = ApiKeys(memory.storage.path)
        roles = (Role.WRITER, Role.ADMIN)
        secrets = {role: api_keys.add(f"the {role}", role, created_by="owner")[1] for role in roles}
        with serving(memory) as address, pytest.MonkeyPatch.context() as patch:
            patch.setattr(wrong_keys, "FREE_ATTEMPTS", 10**9)  # many wrong keys are tried, each to be answered by 401
            yield f"{address}/api/v1", {role: {"Authorization": f"Bearer {secret}"} for role, secret in secrets.items()}


def send(served: tuple[str, dict[Role, dict[str, str]]], n_examples: int, paths: str, role: Role = Role.WRITER) -> int:
    """Send requests of every operation of some paths, and return how many operations there were."""
    address, headers = served
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json").include(path_regex=paths)
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:

        @hypothesis.given(case=operation.as_strategy())
        @hypothesis.settings(max_examples=n_examples, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
        def sent(case):
            case.call_and_validate(base_url=address, headers=headers[role], excluded_checks=[positive_data_acceptance])

        sent()
    return len(operations)


def test_every_answer_is_as_described(served):
    assert send(served, N_EXAMPLES, OTHERS) >= 14


def test_every_answer_to_an_administrator_is_as_described(served):
    assert send(served, N_EXAMPLES, ACCESS, Role.ADMIN) == 16


def test_every_answer_of_a_verb_is_as_described(served):
    assert send(served, N_EXAMPLES_OF_VERBS, VERBS) > 90


@pytest.mark.slow
def test_every_answer_is_as_described_at_length(served):
    assert send(served, N_EXAMPLES * 150, OTHERS) >= 14
    assert send(served, N_EXAMPLES * 30, ACCESS, Role.ADMIN) == 16
    assert send(served, N_EXAMPLES_OF_VERBS * 100, VERBS) > 90
