"""The list of fields that a filter can name."""

from __future__ import annotations

import atlas
from atlas.cli import main
from atlas.testing import HashEmbedder
from atlas.views.kinds.filterable import EVERY, FIELDS, filterable_fields
from atlas.views.shared.kinds import KINDS


def test_each_memory_has_the_fields_that_are_listed(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        assert {name: KINDS[name].records(memory).fields for name in FIELDS} == dict(FIELDS)


def test_no_listed_field_is_refused_by_its_memory(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        for field in filterable_fields():
            for name in FIELDS if field.memory == EVERY else (field.memory,):
                assert KINDS[name].records(memory).ids({field.key: "x"}) == []


def test_a_field_of_few_values_lists_them():
    outcome = next(field for field in filterable_fields() if field.key == "outcome")
    assert (outcome.memory, outcome.label) == ("experiences", "Outcome")
    assert outcome.values == ("succeeded", "failed", "unknown")


def test_the_command_lists_them(capsys):
    assert main(["fields"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  outcome               Outcome, one of succeeded, failed, unknown" in lines
    assert [line for line in lines if line in FIELDS] == list(FIELDS)
