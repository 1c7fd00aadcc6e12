"""Finding the elements of a JSON document without holding it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.core.errors import ImportFailed
from atlas.importers import spans as module
from atlas.importers.spans import find_spans

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('a"\\[]{},: ü\n'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return tmp_path_factory.mktemp("spans") / "document.json"


def parsed(path, **options):
    raw = path.read_bytes()
    return [(span.key, json.loads(raw[span.start : span.end])) for span in find_spans(path, **options)]


@given(values=st.lists(VALUES, max_size=6), chunk=st.sampled_from([1, 2, 3, 7, 64]), indent=st.none() | st.just(1))
def test_the_elements_of_any_list_are_found_however_it_is_cut_into_chunks(document, values, chunk, indent):
    document.write_text(json.dumps(values, indent=indent, ensure_ascii=False), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", chunk)
        assert parsed(document) == [("", value) for value in values]


@given(samples=st.lists(VALUES, max_size=4), other=VALUES, chunk=st.sampled_from([1, 5, 64]))
def test_members_are_named_and_one_of_them_is_given_element_by_element(document, samples, other, chunk):
    document.write_text(json.dumps({"first": other, "samples": samples, "last": other}), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", chunk)
        expected = [("first", other), *(("samples", sample) for sample in samples), ("last", other)]
        assert parsed(document, expand="samples") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got neither"),
        ("12", "got neither"),
        ("hello [1]", "got other text"),
        ("[1] [2]", "other text follows"),
        ("[1}", r"begins with \[ and ends with }"),
        ('[{"a": 1}, {"b"', "ends in the middle"),
        ('["never closed', "ends in the middle"),
    ],
)
def test_what_is_no_whole_list_or_object_is_refused(document, text, message):
    document.write_text(text)
    with pytest.raises(ImportFailed, match=message):
        list(find_spans(document))


def test_elements_before_a_cut_are_found(document):
    document.write_text('[{"a": 1}, {"b": [2]}, {"c": ')
    found = find_spans(document)
    assert (next(found).end, next(found).end) == (9, 21)
    with pytest.raises(ImportFailed, match="ends in the middle"):
        next(found)


def test_a_byte_order_mark_is_passed_over(document):
    document.write_bytes(b"\xef\xbb\xbf[1, 2]")
    assert len(list(find_spans(document))) == 2
