"""What an actor that is bound to a scope must not find out of records outside of it, beside the records themselves."""

from __future__ import annotations

import tempfile

import pytest

import atlas
from atlas.access import recall_sockets
from atlas.cli import main
from atlas.infra.actor import Actor, Role, acting, acting_in_scope
from atlas.testing import HashEmbedder
from tests.support.records import attempts

SHOP, BANK = ({"scope.project": name} for name in ("shop", "bank"))
AGENT = Actor("agent", Role.WRITER, scope=tuple(SHOP.items()))


@pytest.fixture
def memory(tmp_path):
    """A memory in which its owner stored one attempt without a scope."""
    settings = atlas.Settings(actor="root", embedding_model="all-MiniLM-L6-v2")
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder(), settings=settings) as opened:
        opened.experience.store_many(attempts(1))
        yield opened


def test_entries_of_others_lend_an_entry_no_words(memory):
    memory.journal.add(
        "observation", "Parcels of the shop leave at noon, by the north gate", generation=1, metadata=SHOP
    )
    for _ in range(2):
        entry = f"The quokka account was closed by the auditors, number {_}"
        memory.journal.add("observation", entry, generation=1, metadata=BANK)
    with acting(AGENT):
        (hit,) = memory.journal.retrieve("quokka", k=5, threshold=0.0).hits
    assert hit.signals.get("context", 0) == 0


def test_the_owner_in_a_scope_sees_and_undoes_only_what_was_done_in_it(memory):
    (before,) = memory.history()
    with acting_in_scope("root", SHOP):
        memory.experience.store_many(attempts(1))
        assert [operation.actor for operation in memory.history()] == ["root in project=shop"]
        with pytest.raises(atlas.NotFound):
            memory.undo(before.id)


def test_attempts_of_others_at_a_shared_record_are_not_named(memory):
    strategy = memory.strategies.add(atlas.Strategy(situation="a crash", suggestion="read the log", metadata=SHOP))
    memory.strategies.record_use(strategy, True, task_id="secret-task", trajectory_id="secret-attempt")
    with acting(AGENT):
        (use,) = memory.strategies.collection.uses([strategy])[strategy]
    assert (use.success, use.task_id, use.trajectory_id, use.actor) == (True, "", "", "")


def test_a_key_with_a_scope_cannot_have_the_name_of_an_earlier_actor(memory, capsys):
    with acting(Actor("crawler", Role.WRITER)):
        memory.journal.add("observation", "The crawler was here before there was a key of its name", generation=1)
    store = str(memory.storage.path)
    assert main(["--store", store, "keys", "add", "crawler", "--scope", "project=shop"]) == 1
    assert "the history already has an actor named 'crawler'" in capsys.readouterr().err
    assert main(["--store", store, "keys", "add", "crawler-2", "--scope", "project=shop"]) == 0


def test_a_process_in_a_scope_answers_hooks_of_this_scope_alone(memory, tmp_path, monkeypatch):
    short = tempfile.TemporaryDirectory(dir="/tmp")  # a socket's path has at most 107 bytes
    monkeypatch.setenv("XDG_STATE_HOME", short.name)
    settings = atlas.Settings(store=tmp_path / "store")

    def n_seen(request):
        return {"n": memory.experience.count()}

    with acting_in_scope("root", SHOP), recall_sockets.listen_for_hooks(settings, n_seen):
        assert recall_sockets.query_open_process(settings, SHOP, {}) == {"n": 0}
        assert recall_sockets.query_open_process(settings, BANK, {}) is None
        assert recall_sockets.query_open_process(settings, {}, {}) is None
    short.cleanup()
