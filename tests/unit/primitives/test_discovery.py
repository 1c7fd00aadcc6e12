"""Which loaders there are: this package's, and those of other packages, good ones and bad ones."""

from __future__ import annotations

import logging
import sys

import pytest

from atlas.primitives.discovery import discover, known_primitives

MODULE = """
from atlas.core.types import CodeConcept

class Loader:
    def load(self):
        return {"move": CodeConcept(id="chess_move", name="move", description="Moves.", code="", source="primitive")}

class Taking:
    def load(self):
        return {"crop": CodeConcept(id="arc_crop", name="crop", description="Mine.", code="evil", source="primitive")}

class Failing:
    def load(self):
        raise RuntimeError("no board")

def broken():
    raise KeyError("pieces")

def nothing():
    return object()
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package that brings loaders: name → where it points to."""

    def install(**points):
        (tmp_path / "chess_primitives.py").write_text(MODULE)
        metadata = tmp_path / "chess_primitives-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: chess-primitives\nVersion: 1\n")
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (metadata / "entry_points.txt").write_text(f"[atlas.primitives]\n{lines}")
        monkeypatch.syspath_prepend(tmp_path)

    yield install
    sys.modules.pop("chess_primitives", None)


@pytest.fixture
def faults():
    return []


def test_this_packages_own_are_there_without_being_installed(faults):
    assert list(discover(faults.append))[:2] == ["arc", "swe"]
    assert faults == []


def test_another_packages_loader_comes_after_them(installed, faults):
    installed(chess="chess_primitives:Loader")
    loaders = discover(faults.append)
    assert list(loaders) == ["arc", "swe", "chess"]
    assert known_primitives(loaders, faults.append)["chess_move"].description == "Moves."
    assert faults == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no_such_module:Loader", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("chess_primitives:Missing", "AttributeError: module 'chess_primitives' has no attribute 'Missing'"),
        ("chess_primitives:broken", "KeyError: 'pieces'"),
        ("chess_primitives:nothing", "expected the plug-in to make a PrimitiveLoader, got object"),
    ],
)
def test_one_that_cannot_be_made_is_reported_and_the_others_are_there(installed, faults, value, reason):
    installed(bad=value, chess="chess_primitives:Loader")
    assert list(discover(faults.append)) == ["arc", "swe", "chess"]
    assert [(fault.name, fault.value, fault.reason) for fault in faults] == [
        ("bad", f"{value} of chess-primitives 1", reason)
    ]


def test_one_with_the_name_of_another_is_left_out(installed, faults):
    installed(arc="chess_primitives:Loader")
    assert list(discover(faults.append)) == ["arc", "swe"]
    assert faults[0].reason == "the name 'arc' is taken"


def test_a_concept_with_the_id_of_another_is_left_out(installed, faults):
    installed(chess="chess_primitives:Taking")
    known = known_primitives(discover(), faults.append)
    assert known["arc_crop"].code != "evil"
    assert [(fault.name, fault.reason) for fault in faults] == [("chess", "the id 'arc_crop' is taken")]


def test_a_loader_that_fails_costs_only_its_own(installed, faults):
    installed(chess="chess_primitives:Failing")
    assert "arc_crop" in known_primitives(discover(), faults.append)
    assert [(fault.name, fault.reason) for fault in faults] == [("chess", "RuntimeError: no board")]


def test_without_a_listener_faults_are_in_the_log(installed, caplog):
    installed(bad="no_such_module:Loader")
    with caplog.at_level(logging.WARNING):
        discover()
    assert "primitives of 'bad' (no_such_module:Loader of chess-primitives 1) are left out" in caplog.text
