"""`atlas judge`: outcomes of attempts, one by one or by a rule."""

from __future__ import annotations

import io
import sys

import pytest

import atlas
from atlas.cli import main
from tests.support.records import attempt
from tests.support.stores import MODEL


class Terminal(io.StringIO):
    """The answers of a person."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def store(tmp_path, monkeypatch) -> str:
    """A store with attempts, oldest first, whose outcome is unknown for all but the last."""
    monkeypatch.setenv("ATLAS_EMBEDDING_MODEL", MODEL)
    store = tmp_path / "store"
    with atlas.open_memory(store) as memory:
        for name, success in {"mend": None, "bake": None, "sail": None, "dig": True}.items():
            steps = (atlas.Step(action=name, observation=f"3 passed, {name}"),)
            task = attempt(f"{name} the ship", success=success)
            memory.experience.store(atlas.Trajectory(task=task.task, steps=steps, outcome=task.outcome))
    return str(store)


def outcomes(store: str) -> dict[str, bool | None]:
    with atlas.open_memory(store, read_only=True) as memory:
        experiences = memory.experience.get_many(memory.experience.ids())
        return {each.steps[0].action: each.outcome.success for each in experiences}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("s\nf\n\n", {"sail": True, "bake": False, "mend": None}),
        ("\nS\nq\n", {"sail": None, "bake": True, "mend": None}),
        ("failed\n", {"sail": False, "bake": None, "mend": None}),
        ("what?\n", {"sail": None, "bake": None, "mend": None}),
    ],
)
def test_a_person_judges_the_unknown_attempts_newest_first(store, monkeypatch, capsys, answers, expected):
    monkeypatch.setattr(sys, "stdin", Terminal(answers))
    assert main(["--store", store, "judge"]) == 0
    printed = capsys.readouterr().out
    assert "  saw: 3 passed, sail" in printed
    assert "dig the ship" not in printed
    assert outcomes(store) == {**expected, "dig": True}
    assert ("To undo it: atlas undo " in printed) == any(each is not None for each in expected.values())


def test_a_rule_is_previewed_applied_and_undone(store, capsys):
    rule = ["--store", store, "judge", "--matching", "passed, (mend|bake)$", "--failed"]
    assert main([*rule, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert ("mend the ship" in printed, "sail the ship" in printed, "2 experiences." in printed) == (True, False, True)
    assert set(outcomes(store).values()) == {None, True}
    assert main(rule) == 0
    assert "Judged 2 experiences. To undo it: atlas undo " in capsys.readouterr().out
    assert outcomes(store) == {"mend": False, "bake": False, "sail": None, "dig": True}
    with atlas.open_memory(store) as memory:
        [operation] = memory.history(1)
        assert (operation.kind, operation.reason) == ("outcome", "judged by a rule")
        memory.undo(operation.id)
    assert outcomes(store)["mend"] is None


def test_an_attempt_by_its_id_gets_another_outcome(store, capsys):
    with atlas.open_memory(store, read_only=True) as memory:
        [dig] = memory.experience.ids({"outcome": "succeeded"})
    assert main(["--store", store, "judge", dig[:8], "--failed"]) == 0
    assert outcomes(store)["dig"] is False
    assert main(["--store", store, "judge", "--matching", "nothing of this", "--failed"]) == 0
    assert "No outcome was changed." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--failed"], "--succeeded and --failed need ids, --where"),
        ([], "judging one by one needs a terminal"),
    ],
)
def test_a_judgement_without_a_rule_or_a_person_is_refused(store, monkeypatch, capsys, words, message):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["--store", store, "judge", *words]) == 1
    assert message in capsys.readouterr().err
