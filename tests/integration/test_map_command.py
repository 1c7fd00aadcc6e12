"""`atlas map` writes the map as one file that needs nothing else."""

from __future__ import annotations

import base64
import json
import re

import pytest

import atlas
from atlas.cli import main
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.testing import HashEmbedder

HOSTILE = "</script><img src=x onerror=alert(1)> cancel the flight"


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    return tmp_path / "store"


def fill(store, n=40):
    texts = [f"{('sort the numbers', 'rotate the grid')[i % 2]} of case {i}" for i in range(n)]
    with atlas.open_memory(store, embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store_many([attempt(text) for text in [HOSTILE, *texts]])


def attempt(text):
    return atlas.Trajectory(task=atlas.Task(text, "", text), steps=(), outcome=atlas.Outcome(True))


def content(page):
    return json.loads(base64.b64decode(re.search(r"toBytes\('([A-Za-z0-9+/=]+)'\)", page)[1]))


def test_the_file_holds_the_whole_map_and_asks_the_network_for_nothing(store, tmp_path, capsys):
    fill(store)
    assert main(["map", "--out", str(tmp_path / "map.html"), "--min-domain-size", "8"]) == 0
    assert "Wrote" in capsys.readouterr().err
    page = (tmp_path / "map.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page)
    assert len(content(page)["titles"]) == 41
    assert "41 experiences" in page


def test_what_memories_say_is_never_part_of_the_page(store, tmp_path):
    fill(store)
    assert main(["map", "--out", str(tmp_path / "map.html"), "--engine", "pca"]) == 0
    page = (tmp_path / "map.html").read_text()
    assert "onerror" not in page
    assert page.count("</script>") == 1
    assert HOSTILE in content(page)["titles"]


def test_an_empty_store_is_told_what_to_do(store, tmp_path, capsys):
    fill(store, 0)
    with atlas.open_memory(store, embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.delete(memory.experience.ids())
    assert main(["map", "--out", str(tmp_path / "map.html")]) == 1
    assert "import some first: atlas import PATH" in capsys.readouterr().err
    assert not (tmp_path / "map.html").exists()
