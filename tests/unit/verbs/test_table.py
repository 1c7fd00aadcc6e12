"""The table of verbs against everything that it speaks of: tools, commands and History."""

from __future__ import annotations

import argparse

import pytest

from atlas.cli import GROUPS
from atlas.infra.actor import Role
from atlas.server.mcp.server import READS, TOOLS
from atlas.verbs.table import OWNERS, VERBS, record_class, verbs_of
from atlas.verbs.values import READERS
from atlas.views.history.sentences import VERBS as SENTENCES

COMMANDS = {command for declared in GROUPS.values() for command in declared}


def test_each_verb_of_an_owner_is_in_one_row_and_is_its_method():
    rows = [(owner, verb.name) for verb in VERBS for owner in verb.owners]
    assert len(rows) == len(set(rows))
    assert all(callable(getattr(OWNERS[owner], name)) for owner, name in rows)


def test_each_tool_does_a_verb_and_shows_itself_to_the_roles_of_that():
    roles = {tool: {verb.role for verb in VERBS if tool in verb.tools} for verb in VERBS for tool in verb.tools}
    assert roles == {tool.__name__: {Role.VIEWER if hints == READS else Role.WRITER} for tool, hints in TOOLS}


def test_each_command_of_the_table_is_one():
    assert {command for verb in VERBS for command in verb.commands} <= COMMANDS


def test_each_kind_of_operation_has_a_sentence_in_history():
    assert {verb.kind for verb in VERBS if verb.kind} - {"undo"} <= SENTENCES.keys()


@pytest.mark.parametrize("owner", OWNERS)
def test_arguments_and_results_of_every_verb_can_be_sent(owner):
    for verb in verbs_of(owner):
        for declared in verb.types(owner).values():
            READERS.reader(declared)
    with pytest.raises(TypeError, match="expected a type with a JSON form"):
        READERS.reader(argparse.ArgumentParser)


def test_each_memory_has_its_kind_of_records():
    kinds = {owner: getattr(record_class(owner), "__name__", None) for owner in OWNERS}
    assert kinds == {
        "system": None,
        "experience": "Experience",
        "strategies": "Strategy",
        "concepts": "CodeConcept",
        "journal": "JournalEntry",
    }
