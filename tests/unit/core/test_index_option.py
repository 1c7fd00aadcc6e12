"""The option that names the service that keeps the index."""

from __future__ import annotations

import argparse

from atlas.cli import _settings, main
from atlas.storage.store import Store


def test_an_empty_option_switches_the_variable_off(monkeypatch):
    monkeypatch.setenv("ATLAS_INDEX", "pinecone://host")
    assert _settings(argparse.Namespace(store=None, index=None)).index == "pinecone://host"
    assert _settings(argparse.Namespace(store=None, index="")).index == ""


def test_doctor_says_which_services_a_store_never_was_in(tmp_path, capsys):
    Store.open(tmp_path / "store").close()
    leave = ["--store", str(tmp_path / "store"), "doctor", "--leave-index"]
    assert main([*leave, "pinecone://elsewhere"]) == 1
    assert "this store never had an index at pinecone://elsewhere" in capsys.readouterr().err
    assert main([*leave, "elsewhere"]) == 1
    assert "expected pinecone://INDEX-HOST" in capsys.readouterr().err
