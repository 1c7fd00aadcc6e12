"""A memory that a server has: the same calls, answers and errors as one that is opened here."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.access.server_token import make_token
from atlas.cli import main
from atlas.core.operations import Operations
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import FixedClock, HashEmbedder
from tests.support.agent import KIND, run
from tests.support.browser.server import free_port
from tests.support.records import attempt, attempts, concept
from tests.support.serving import serving

QUERY = "mend the shell report of customer 37"


@pytest.fixture
def here(tmp_path):
    """A memory that is opened here, with something of each kind."""
    settings = atlas.Settings(actor="me")
    with atlas.open_memory(
        tmp_path / "store", embedder=HashEmbedder(), settings=settings, clock=FixedClock()
    ) as memory:
        memory.experience.store_many(attempts(30))
        memory.concepts.add(concept())
        memory.strategies.add(atlas.Strategy(situation="a shell report is wrong", suggestion="read the log first"))
        memory.journal.add("reflection", "the shell report counts customers twice", generation=3)
        yield memory


@pytest.fixture(params=["open", "token"])
def there(request, here):
    """The same memory, through a server that asks for nothing, and through one whose token is found."""
    token = make_token() if request.param == "token" else ""
    with serving(here, token=token) as address, atlas.connect(address) as memory:
        yield memory


@pytest.mark.parametrize("name", ["experience", "strategies", "concepts", "journal"])
def test_each_memory_gives_the_same_hits_and_records(here, there, name):
    own, remote = getattr(here, name), getattr(there, name)
    assert remote.retrieve(QUERY, 5) == own.retrieve(QUERY, 5)
    assert remote.search_hits(QUERY, 5) == own.search_hits(QUERY, 5)
    one = own.ids()[0]
    assert remote.get(one) == own.get(one)
    assert remote.get("none") is None
    assert remote.marks([one]) == own.marks([one])
    assert remote.usage([one]) == own.usage([one])


def test_a_filter_a_threshold_and_diversity_reach_the_search(here, there):
    asked = {"where": {"outcome": "failed"}, "threshold": 0.1, "distinct": True, "diversity": 0.3}
    assert there.experience.retrieve(QUERY, 5, **asked) == here.experience.retrieve(QUERY, 5, **asked)


def test_a_context_is_the_same_block(here, there):
    task = atlas.Task("task-7", "shell", QUERY, {"shell": "bash"})
    assert there.build_context(task, 700, distinct=True) == here.build_context(task, 700, distinct=True)
    assert asyncio.run(there.abuild_context(task)) == here.build_context(task)


def test_an_attempt_is_stored_as_it_is_and_sent_twice_is_stored_once(here, there):
    made = attempt("rotate the logs", False, error="no space", solution="none", source="cron", agent="crawler")
    stored = there.store(made)
    kept = here.experience.get(stored["experience"])
    assert (kept.task, kept.outcome, kept.trajectory_id) == (made.task, made.outcome, made.id)
    assert (kept.solution_output, kept.metadata["source"]) == ("none", "cron")
    assert there.store(made)["experience"] == stored["experience"]
    assert here.experience.count() == 31


def test_marks_uses_strategies_and_notes_are_written_there(here, there):
    [one, other] = here.experience.ids()[:2]
    assert there.experience.change_marks([one, other], add_tags=["shell"], pinned=True) == 2
    assert here.experience.marks([one])[one].pinned
    strategy = there.strategies.add(atlas.Strategy(situation="a disk is full", suggestion="rotate", title="Rotate"))
    there.strategies.record_use(strategy, True, task_id="task-1")
    assert there.strategies.rate(strategy) == here.strategies.rate(strategy)
    assert there.strategies.attempts(strategy) == here.strategies.attempts(strategy)
    rotate = atlas.CodeConcept(
        name="rotate",
        description="Turn a list",
        code="def rotate(x):\n    return x[1:] + x[:1]",
        examples=(("a", "b"),),
    )
    added = there.concepts.add(rotate)
    assert (here.concepts.get(added).code, here.concepts.get(added).examples) == (rotate.code, (("a", "b"),))
    crash = there.journal.add("crash_log", "crawler: no space left on device", generation=4)
    fix = there.journal.add("reflection", "rotate logs before the run", generation=4, links=[("refers_to", crash)])
    assert [link.target_id for link in here.journal.get(fix).links] == [crash]


def test_history_and_undo_are_the_same(here, there):
    stored = there.store(attempt("rotate the logs", True))
    [done] = there.history(1)
    assert [done] == here.history(1)
    assert there.history(5, where=Operations(of=stored["experience"])) == here.history(
        5, where=Operations(of=stored["experience"])
    )
    assert there.undo(done.id).undoes == done.id
    assert here.experience.get(stored["experience"]) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.experience.retrieve(QUERY, 4, where={"outcome": {"$near": 1}}),
        lambda memory: memory.experience.retrieve(QUERY, 4, threshold=2.0),
        lambda memory: memory.experience.retrieve(QUERY, -1),
        lambda memory: memory.build_context(atlas.Task("", "", "x"), -1),
        lambda memory: memory.undo("none"),
        lambda memory: memory.strategies.rate("none"),
        lambda memory: memory.experience.record_use("none", True),
        lambda memory: memory.journal.add("", "x", generation=1),
    ],
)
def test_an_error_is_of_the_same_kind(here, there, ask):
    with pytest.raises(atlas.AtlasError) as own:
        ask(here)
    with pytest.raises(type(own.value)):
        ask(there)


def test_undoing_what_has_changed_since_is_refused_there_too(here, there):
    one = here.experience.ids()[0]
    there.experience.change_marks([one], note="first")
    [first] = there.history(1)
    there.experience.change_marks([one], note="second")
    with pytest.raises(atlas.UndoRefused, match="changed"):
        there.undo(first.id)


def test_the_agents_loop_runs_over_it_unchanged(tmp_path):
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as here, serving(here) as address:
        with atlas.connect(address) as there:
            stored, blocks = run(there)
        strategy = stored[0]["strategies"]
        assert strategy in blocks[1].shown["strategies"]
        assert stored[1]["used"]["strategies"] == [strategy]
        assert [use.task_id for use in here.strategies.attempts(strategy)] == [f"{KIND}-1", f"{KIND}-2"]


def test_runs_are_remembered_over_it(here, there):
    @atlas.remember(there, judge=lambda answer: answer == 42)
    def solve(task: str) -> int:
        assert "mend the shell report" in atlas.current_run().context
        return 42

    assert solve(QUERY) == 42
    assert here.history(1)[0].kind == "store"
    [kept] = here.experience.ids({"trajectory_id": here.experience.get_many(here.experience.ids())[-1].trajectory_id})
    assert here.experience.get(kept).outcome.success


def test_a_key_is_needed_where_there_are_keys_and_says_who_did_it(here):
    secret = ApiKeys(here.storage.path).add("crawler", Role.WRITER, created_by="me")[1]
    with serving(here) as address:
        with atlas.connect(address) as stranger, pytest.raises(atlas.NotAllowed, match="needs a key"):
            stranger.history()
        with atlas.connect(address, key=secret) as crawler:
            crawler.store(attempt("rotate the logs", True))
    assert here.history(1)[0].actor == "crawler"


def test_the_token_is_sent_past_a_proxy_that_the_environment_names(here, monkeypatch):
    with serving(here, token=make_token()) as address:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
        with atlas.connect(address) as there:
            assert there.history(1) == here.history(1)


def test_a_client_goes_on_when_the_server_was_started_again_with_another_token(here):
    port = free_port()
    with atlas.connect(f"http://localhost:{port}") as there:
        for _ in range(2):
            with serving(here, token=make_token(), port=port):
                assert there.history(1) == here.history(1)
            with pytest.raises(atlas.StoreUnavailable, match="atlas serve"):
                there.history(1)


def test_a_server_with_a_token_takes_no_other_and_still_takes_keys(here):
    secret = ApiKeys(here.storage.path).add("crawler", Role.WRITER, created_by="me")[1]
    token = make_token()
    with serving(here, token=token) as address:
        for wrong in (make_token(), token[:-1], token.upper(), f"{token}0"):
            with atlas.connect(address, key=wrong) as there, pytest.raises(atlas.NotAllowed, match="each start makes"):
                there.history()
        with atlas.connect(address, key=secret) as there:
            there.store(attempt("rotate the logs", True))
        with atlas.connect(address) as there:
            there.store(attempt("rotate them again", True))
    assert [operation.actor for operation in here.history(2)] == ["owner", "crawler"]


def test_a_server_that_cannot_be_reached_is_told_as_such():
    with atlas.connect("http://127.0.0.1:9") as nowhere, pytest.raises(atlas.StoreUnavailable, match="atlas serve"):
        nowhere.history()
    with pytest.raises(atlas.InvalidInput, match="http://host:8501"):
        atlas.connect("memory.example")


def test_the_environment_says_where_and_with_which_key(here, monkeypatch):
    secret = ApiKeys(here.storage.path).add("crawler", Role.WRITER, created_by="me")[1]
    with serving(here) as address:
        monkeypatch.setenv("ATLAS_STORE", address)
        monkeypatch.setenv("ATLAS_KEY", secret)
        with atlas.connect() as there:
            assert there.history(1) == here.history(1)


@pytest.mark.parametrize("token", ["", make_token()], ids=["open", "token"])
def test_commands_that_a_server_can_meet_run_over_it(here, token, monkeypatch, capsys):
    stored = here.store(attempt("rotate the logs of the crawler"))
    with serving(here, token=token) as address:
        monkeypatch.setenv("ATLAS_STORE", address)

        def said(*words: str) -> str:
            assert main(list(words)) == 0, capsys.readouterr().err
            return capsys.readouterr().out

        assert "rotate the logs of the crawler" in said("search", "rotate the logs of the crawler")
        assert "0 records of" in said("scan", stored["experience"])
        said("quarantine", stored["experience"], "--reason", "planted")
        assert stored["experience"] in said("quarantine")
        assert "rotate the logs of the crawler" not in said("search", "rotate the logs of the crawler")
        said("quarantine", stored["experience"], "--release")
        assert "rotate the logs of the crawler" in said("search", "--words", "rotate")
        record_id = stored["experience"]
        [first, *_] = here.experience.similar(record_id, 2)
        assert first.item.id[:8] in said("similar", record_id[:8], "-k", "2").splitlines()[0]
        assert said("similar", record_id, "--threshold", "1") == "nothing found\n"
        assert "Written as" in said("journal", "add", "reflection", "the crawler fills its disk by noon")
        assert "fills its disk" in said("journal", "search", "--words", "disk")
        assert said("history", "-n", "1").split()[3] == "store"
        assert "To do it again" in said("undo")
        assert here.history(1)[0].kind == "undo"
        assert here.experience.get(stored["experience"]) is not None
        assert main(["prune", "--max-count", "0"]) == 1
        assert "needs the store's directory" in capsys.readouterr().err
        assert main(["journal", "add", "reflection", "again", "--keep-noise"]) == 1
        assert "do not work with a server" in capsys.readouterr().err


def test_what_a_killed_server_left_undone_of_an_attempt_is_done_when_it_is_sent_again(here, there):
    strategy = here.strategies.ids()[0]
    sent = attempt("rotate the logs of the crawler", used={"strategies": [strategy]})
    with acting(Actor("owner", Role.ADMIN)):
        here.experience.as_operation("store").store(sent)  # and killed before the use was counted
    assert not here.strategies.usage([strategy])[strategy].n_uses
    for _ in range(2):
        there.store(sent)
    assert here.strategies.usage([strategy])[strategy].n_uses == 1
    assert len(here.experience.ids({"trajectory_id": sent.id})) == 1


def test_the_id_of_somebody_elses_attempt_is_refused(here):
    here.store(attempt("mine"))
    taken = here.experience.get(here.experience.ids()[-1]).trajectory_id
    key = ApiKeys(here.storage.path).add("crawler", Role.WRITER, created_by="me")[1]
    theirs = replace(attempt("theirs"), id=taken)
    with (
        serving(here) as address,
        atlas.connect(address, key=key) as there,
        pytest.raises(atlas.InvalidInput, match="choose another id"),
    ):
        there.store(theirs)
