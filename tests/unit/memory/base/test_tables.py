"""Records as a table: what each says, how it has done, and where it lies on the map."""

from __future__ import annotations

import asyncio
import sys

import pandas as pd
import pytest

from atlas.core.errors import AtlasError
from atlas.core.operations import Marks
from atlas.jobs.artefact import CACHE
from atlas.jobs.map import MapFile, load_positions, map_positions
from atlas.maps.map import make_map
from atlas.maps.snapshot import read_embedded
from atlas.memory.base.tables import FIRST_COLUMNS, MapPosition, build_columns, build_frame, escape_formulas
from atlas.memory.open import open_memory
from atlas.testing import HashEmbedder
from tests.support.memories import attempt


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path, embedder=HashEmbedder()) as made:
        yield made


def test_a_row_holds_what_is_known_of_a_record(memory):
    first, second = memory.experience.store_many([attempt("mend a tent", False), attempt("boil an egg")])
    memory.experience.record_use(first, True, task_id="t")
    memory.experience.record_use(first, False, task_id="u")
    memory.experience.mark({second: Marks(pinned=True, tags=("food", "quick"))})
    frame = memory.experience.to_pandas().set_index("id")
    assert frame.loc[first, ["n_uses", "n_successes", "rate"]].tolist() == [2, 1, 0.5]
    assert frame.loc[first, ["outcome", "text"]].tolist() == ["failed", "mend a tent"]
    assert pd.isna(frame.loc[second, "rate"])
    assert frame.loc[second, ["pinned", "tags"]].tolist() == [True, "food, quick"]
    assert frame["domain"].isna().all()
    assert str(frame["created_at"].dtype).endswith("UTC]")


def test_rows_are_those_of_a_filter_or_of_some_ids_in_their_order(memory):
    ids = memory.experience.store_many([attempt(f"task {n}", n % 2 == 0) for n in range(6)])
    assert memory.experience.to_pandas({"outcome": "failed"})["text"].tolist() == ["task 1", "task 3", "task 5"]
    assert memory.experience.to_pandas(ids=[ids[4], ids[1]])["id"].tolist() == [ids[4], ids[1]]
    assert [*memory.experience.to_pandas(ids=ids)] == [*memory.experience.to_pandas()]
    assert asyncio.run(memory.experience.ato_pandas())["id"].tolist() == ids


def test_every_memory_is_a_table_an_empty_one_too(memory):
    memory.journal.add("reflection", "the index was stale", generation=3)
    assert memory.journal.to_pandas()["generation"].tolist() == [3]
    assert [*memory.strategies.to_pandas()] == [*FIRST_COLUMNS]


def test_the_map_that_is_kept_with_the_store_tells_domain_and_place(memory, tmp_path):
    ids = memory.experience.store_many(
        [attempt(f"{'mend a tent' if n < 20 else 'boil an egg'} {n}") for n in range(40)]
    )
    collection = memory.experience.collection_name
    made = make_map(read_embedded(memory.storage, collection), engine="pca", min_domain_size=5)
    MapFile(tmp_path / CACHE, collection).save(made)
    frame = memory.experience.to_pandas()
    positions = load_positions(tmp_path, collection)
    assert positions == map_positions(made)
    assert frame["map_x"].tolist() == [positions[one].x for one in ids]
    assert [one or "" for one in frame["domain"].where(frame["domain"].notna(), None)] == [
        positions[one].domain for one in ids
    ]
    given = memory.experience.to_pandas(positions={ids[0]: MapPosition("Tents", 1.0, 2.0)})
    assert given.loc[0, ["domain", "map_x", "map_y"]].tolist() == ["Tents", 1.0, 2.0]


def test_a_column_has_values_of_one_kind():
    rows = [
        {"id": "a", "document": "", "metadata": {"reward": 1, "tool": ["x", "y"], "content_hash": "h"}},
        {"id": "b", "document": "", "metadata": {"reward": "high", "score": 1}},
    ]
    columns = build_columns(rows, {}, {}, {})
    assert columns["reward"] == ["1", "high"]
    assert columns["tool"] == ["x, y", None]
    assert columns["score"] == [None, 1]
    assert "content_hash" not in columns


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
BLANKS = [" ", "\xa0", "\u2003", "\u3000", "\ufeff", "\u200b", " \xa0\t ", "\x00", "\x1f", "\u2028"]


@pytest.mark.parametrize("text", [*FORMULAS, *(f"{blanks}=1" for blanks in BLANKS), "  -2+3", "\xa0@SUM(A1)"])
def test_no_text_of_a_table_for_spreadsheets_is_a_formula(text):
    frame = build_frame(
        build_columns([{"id": "a", "document": text, "metadata": {text: "x", "self": text, "score": -1.5}}], {}, {}, {})
    )
    safe = escape_formulas(frame)
    assert safe.loc[0, "text"] == f"'{text}"
    assert safe.loc[0, "self"] == f"'{text}"
    assert f"'{text}" in safe
    assert safe.loc[0, "score"] == -1.5
    assert frame.loc[0, "text"] == text


@pytest.mark.parametrize("text", ["-3.5", "+12", " -3.5", "\xa0+12 ", "a = b", "'=1", "", " ", " a=1", "x\n=1"])
def test_a_table_for_spreadsheets_has_all_other_texts_as_they_are(text):
    frame = build_frame(build_columns([{"id": "a", "document": text, "metadata": {}}], {}, {}, {}))
    assert escape_formulas(frame).loc[0, "text"] == text


def test_without_pandas_it_says_what_to_install(memory, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        AtlasError, match=r"a table needs the package pandas, .* pip install 'atlas-agent-memory\[tables\]'"
    ):
        memory.experience.to_pandas()
