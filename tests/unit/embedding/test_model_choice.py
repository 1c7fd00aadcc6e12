"""The model of a new store: a person is asked before hundreds of MB are fetched, and nothing is fetched otherwise."""

from __future__ import annotations

import io

import pytest

from atlas.cli.common import terminal_confirmation
from atlas.embedding import choice
from atlas.embedding.choice import BUNDLED, DEFAULT_MODEL, choose_model, model_size


class FakeHub:
    """A model hub that keeps what was fetched from it."""

    def __init__(self, monkeypatch, *, answers=True, serves=True):
        self.fetched = []
        self._serves = serves
        monkeypatch.setattr(choice, "_is_cached", lambda model: False)
        monkeypatch.setattr(choice, "_is_hub_reachable", lambda model, timeout: answers)
        monkeypatch.setattr(choice, "_fetch", self.fetch)

    def fetch(self, model):
        self.fetched.append(model)
        return self._serves


def test_nothing_is_fetched_where_nobody_can_be_asked(monkeypatch):
    hub = FakeHub(monkeypatch)
    chosen = choose_model(announce=pytest.fail)
    assert (chosen.name, hub.fetched) == (BUNDLED, [])
    assert "about 440 MB are fetched only if a person at a terminal agrees" in chosen.announcement
    assert f"atlas reembed --model {DEFAULT_MODEL}" in chosen.announcement


@pytest.mark.parametrize(("agrees", "name"), [(True, DEFAULT_MODEL), (False, BUNDLED)])
def test_a_person_decides_whether_it_is_fetched(monkeypatch, agrees, name):
    hub, questions, announced = FakeHub(monkeypatch), [], []

    def confirm(question):
        questions.append(question)
        return agrees

    chosen = choose_model(announce=announced.append, confirm=confirm)
    assert (chosen.name, hub.fetched) == (name, [DEFAULT_MODEL] if agrees else [])
    assert questions == [
        f"Fetch the embedding model {DEFAULT_MODEL} (about 440 MB) from the model hub? "
        f"Without it the bundled {BUNDLED} is used."
    ]
    assert len(announced) == agrees
    assert ("declined" in chosen.announcement) is not agrees


def test_a_hub_that_does_not_answer_or_serve_leaves_the_bundled_model_and_says_which(monkeypatch):
    FakeHub(monkeypatch, answers=False)
    silent = choose_model(announce=pytest.fail, confirm=pytest.fail)
    assert (silent.name, "did not answer" in silent.announcement) == (BUNDLED, True)
    FakeHub(monkeypatch, serves=False)
    broken = choose_model(announce=[].append, confirm=lambda question: True)
    assert (broken.name, "could not be fetched" in broken.announcement) == (BUNDLED, True)


def test_a_model_asked_for_by_name_is_not_asked_about(monkeypatch):
    hub = FakeHub(monkeypatch)
    assert choose_model("intfloat/e5-base-v2", announce=pytest.fail, confirm=pytest.fail).name == "intfloat/e5-base-v2"
    assert hub.fetched == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("typed", "agrees"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)]
)
def test_only_a_yes_typed_at_a_terminal_agrees(monkeypatch, typed, agrees):
    assert terminal_confirmation() is None
    screen = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("sys.stderr", screen)
    assert terminal_confirmation()("Fetch it?") is agrees
    assert screen.getvalue() == "Fetch it? [y/N] "


def test_the_size_of_a_model_is_that_of_its_files_on_this_machine(tmp_path):
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_bytes(b"x" * 10)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 1_000)
    assert model_size(str(tmp_path)) == 1_010
    assert model_size("hash") == 0
    assert 80e6 < model_size(BUNDLED) < 200e6
