"""Closing a store does no work that no query asks for."""

from __future__ import annotations

import subprocess
import sys

from tests.support.storage.ledgers import THINGS, vector_of

FEW = {"exact_max_rows": 10, "index_lag_rows": 10**6}

USE_A_SMALL_STORE = """
import sys
import numpy as np
from atlas.storage.store import EmbeddingModel, Store

with Store.open(sys.argv[1]) as store:
    store.bind(EmbeddingModel("test", 8))
    things = store.collection("things")
    things.add(["a", "b"], list(np.eye(8)[:2]), [{}, {}], ["a text", "another"])
    assert things.query(np.eye(8)[1], 1).ids == ["b"]
    assert things.search_text("another", 1).ids == ["b"]
    things.delete(["a"])
print(*sys.modules, sep="\\n")
"""


def test_a_process_that_uses_a_small_store_never_imports_the_index(tmp_path):
    command = [sys.executable, "-c", USE_A_SMALL_STORE, str(tmp_path / "store")]
    modules = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in modules if name.partition(".")[0] == "chromadb"] == []
    assert [path.name for path in (tmp_path / "store").iterdir() if path.name.startswith("chroma")] == []


def test_a_store_that_outgrows_exact_search_gets_its_index_when_it_is_closed(open_store):
    opened = open_store(**FEW)
    index = opened.store.collection(THINGS).parts.nearest.index
    opened.add(*[f"r{i}" for i in range(10)])
    opened.store.close()
    assert not index.exists()
    opened.add("r10")
    opened.store.close()
    assert index.checkpoint().n_keys == 11
    assert open_store(**FEW).nearest("r10") == ["r10"]


def test_an_index_that_was_left_behind_is_followed_again_when_queries_need_it(open_store):
    opened = open_store(**FEW)
    opened.add(*[f"r{i}" for i in range(12)])
    opened.store.close()
    opened.delete("r0", "r1", "r2")
    opened.edit("r3", "another text")
    opened.store.close()
    nearest = opened.store.collection(THINGS).parts.nearest
    assert nearest.index.checkpoint().n_keys == 12
    opened.add("r12", "r13", "r14")
    opened.store.close()
    assert nearest.index.checkpoint().n_keys == 12
    found = opened.store.collection(THINGS).query(vector_of("another text"), 20).ids
    assert (found[0], sorted(found)) == ("r3", sorted(f"r{i}" for i in range(3, 15)))
