"""The rows of a list as files for other programs."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from atlas.memory.open import open_memory
from atlas.testing import HashEmbedder
from atlas.views.kinds.experience import EXPERIENCE
from atlas.views.kinds.journal import JOURNAL
from atlas.views.lists.tables import FORMS, table_of
from tests.support.memories import attempt

READ = {"CSV": pd.read_csv, "Parquet": pd.read_parquet}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_holds_the_rows_and_a_csv_no_formula(tmp_path, form):
    hostile = '=cmd|" /c calc"!A1, a\nsecond line "quoted" \u202e'
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        ids = memory.experience.store_many([attempt("mend a tent", False), attempt(hostile)])
        content = table_of(memory, EXPERIENCE, ids[::-1], form)
    frame = READ[form](io.BytesIO(content))
    assert frame["id"].tolist() == ids[::-1]
    kept = f"'{hostile}" if form == "CSV" else hostile  # a spreadsheet runs a formula that it finds in a CSV
    assert frame["text"].tolist() == [kept, "mend a tent"]
    assert frame["outcome"].tolist() == ["succeeded", "failed"]


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_can_be_saved(tmp_path, form):
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        memory.journal.add("reflection", "the index was stale", generation=3)
        content = table_of(memory, JOURNAL, memory.journal.ids(), form)
    assert READ[form](io.BytesIO(content))["generation"].tolist() == [3]


def test_values_of_several_kinds_in_one_column_are_saved_too(tmp_path):
    with open_memory(tmp_path, embedder=HashEmbedder()) as memory:
        memory.experience.store_many([attempt("one", reward=1), attempt("two", reward="high")])
        content = table_of(memory, EXPERIENCE, memory.experience.ids(), "Parquet")
    assert len(pd.read_parquet(io.BytesIO(content))) == 2
