"""The option that names the service that keeps the index."""

from __future__ import annotations

import argparse

from atlas.cli import _settings


def test_an_empty_option_switches_the_variable_off(monkeypatch):
    monkeypatch.setenv("ATLAS_INDEX", "pinecone://host")
    assert _settings(argparse.Namespace(store=None, index=None)).index == "pinecone://host"
    assert _settings(argparse.Namespace(store=None, index="")).index == ""
