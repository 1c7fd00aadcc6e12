"""What every store of marks does: the JSON file, and the plain dict that says what is meant."""

from __future__ import annotations

import json
import threading

import pytest

from atlas.core.operations import NO_MARKS, Marks
from atlas.protocols.infra import MetadataStore
from atlas.storage.marks.tinydb import TinyMetadataStore


class DictMetadataStore:
    """The reference: marks in a dict."""

    def __init__(self):
        self._marks = {}
        self._version = 0

    def get(self, ids):
        return {record_id: self._marks[record_id] for record_id in ids if record_id in self._marks}

    def all(self):
        return dict(self._marks)

    def replace(self, marks):
        self._version += 1
        self._marks |= marks
        self._marks = {record_id: value for record_id, value in self._marks.items() if value != NO_MARKS}

    def version(self):
        return self._version


@pytest.fixture(params=["dict", "json"])
def marks(request, tmp_path):
    return DictMetadataStore() if request.param == "dict" else TinyMetadataStore(tmp_path / "things_meta.json")


def test_it_is_what_the_seam_asks_for(marks):
    assert isinstance(marks, MetadataStore)


def test_it_is_empty_at_first(marks):
    assert marks.all() == {}
    assert marks.get(["a"]) == {}


def test_marks_come_back_equal(marks):
    full = Marks(tags=("zwei", "eins", "\u2028"), pinned=True, note="first\nsecond é \U0001f600")
    marks.replace({"a": full, "b": Marks(pinned=True)})
    assert marks.get(["b", "a", "c"]) == {"a": full, "b": Marks(pinned=True)}
    assert marks.all() == {"a": full, "b": Marks(pinned=True)}


def test_replacing_touches_only_the_records_named(marks):
    marks.replace({"a": Marks(note="1"), "b": Marks(note="2")})
    marks.replace({"b": Marks(tags=("x",))})
    assert marks.all() == {"a": Marks(note="1"), "b": Marks(tags=("x",))}


def test_empty_marks_take_the_entry_away(marks):
    marks.replace({"a": Marks(note="1"), "b": Marks(note="2")})
    marks.replace({"a": NO_MARKS, "never there": NO_MARKS})
    assert marks.all() == {"b": Marks(note="2")}


@pytest.mark.parametrize("record_id", ["1", "01", "é", "a b", "", "_default", "marks"])
def test_any_text_is_an_id(marks, record_id):
    marks.replace({record_id: Marks(note="x")})
    assert marks.all() == {record_id: Marks(note="x")}


def test_the_version_changes_with_every_replacement(marks):
    versions = [marks.version()]
    for note in ("1", "2", "3"):
        marks.replace({"a": Marks(note=note)})
        versions.append(marks.version())
    assert len({repr(version) for version in versions}) == 4
    assert marks.version() == versions[-1]


def test_threads_that_mark_at_once_lose_nothing(marks):
    def work(worker):
        for i in range(10):
            marks.replace({f"{worker}-{i}": Marks(note=str(i))})

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert marks.all() == {f"{worker}-{i}": Marks(note=str(i)) for worker in range(4) for i in range(10)}


def test_a_second_reader_of_the_file_sees_each_replacement(tmp_path):
    first, second = TinyMetadataStore(tmp_path / "m.json"), TinyMetadataStore(tmp_path / "m.json")
    for note in ("1", "2"):
        first.replace({"a": Marks(note=note)})
        assert second.all() == {"a": Marks(note=note)}
    second.replace({"b": Marks(pinned=True)})
    assert first.all() == {"a": Marks(note="2"), "b": Marks(pinned=True)}


def test_the_file_is_readable_json_in_a_stable_order(tmp_path):
    store = TinyMetadataStore(tmp_path / "m.json")
    store.replace({"b": Marks(tags=("é",)), "a": Marks(note="n", pinned=True)})
    text = (tmp_path / "m.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"marks": {"a": {"note": "n", "pinned": True}, "b": {"tags": ["é"]}}}
    assert text.index('"a"') < text.index('"b"')
    assert "é" in text
    assert len(text.splitlines()) > 4
    assert [path.name for path in tmp_path.iterdir() if ".lock" not in path.name] == ["m.json"]
