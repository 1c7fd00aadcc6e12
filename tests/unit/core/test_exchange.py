"""Experiences as lines of JSON, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy, decode_line, encode_line
from atlas.core.operations import Marks, Usage, Use
from atlas.core.types import CodeConcept, Experience, Outcome, Step, Strategy, Task, Trajectory, VerificationSpec

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)

EXPERIENCE = Experience(
    id="e1",
    task=Task("t1", "travel", "Cancel a flight", {"tier": "gold"}, VerificationSpec("reward", {"at_least": 1})),
    trajectory_summary="looked it up, cancelled it",
    outcome=Outcome(True, 0.75, None, {"tests": [1, None, "x"]}),
    embedding_text="Cancel a flight",
    created_at=NOON,
    metadata={"source": "tau-bench", "nested": {"list": [1.5, "zwei"]}},
    solution_output="cancel(1)",
    feedback="polite",
    trajectory_id="r1",
    agent_id="gpt",
    steps=(Step("think", "act", "see", {"n": 1}), Step()),
)
EXPORTED = ExportedExperience(
    content_hash="0123",
    stored_at=NOON,
    experience=EXPERIENCE,
    marks=Marks(tags=("a", "b"), pinned=True, note="keep"),
    usage=Usage(n_uses=3, n_successes=2, last_used_at=NOON, n_retrieved=9, last_retrieved_at=NOON),
)


def line(**changes):
    return json.loads(encode_line(EXPORTED)) | changes


def test_an_experience_comes_back_equal():
    assert decode_line(json.loads(encode_line(EXPORTED))) == EXPORTED


def test_an_experience_is_one_line():
    exported = replace(EXPORTED, marks=Marks(note="first\nsecond\u2028third"))
    assert "\n" not in encode_line(exported)
    assert decode_line(json.loads(encode_line(exported))) == exported


@given(note=TEXTS, tags=st.lists(TEXTS), n_uses=st.integers(0, 2**62), description=TEXTS)
def test_any_marks_and_texts_come_back_equal(note, tags, n_uses, description):
    exported = replace(
        EXPORTED,
        experience=replace(EXPERIENCE, task=replace(EXPERIENCE.task, description=description)),
        marks=Marks(tags=tuple(tags), note=note),
        usage=Usage(n_uses=n_uses),
    )
    assert decode_line(json.loads(encode_line(exported))) == exported


@given(arrays(np.float32, (3, 5), elements=st.floats(-1, 1, width=32)))
def test_vectors_come_back_bit_for_bit(numbers):
    lengths = np.linalg.norm(numbers.astype(np.float64), axis=1, keepdims=True)
    vectors = np.where(lengths > 0.01, numbers / np.maximum(lengths, 0.01), 0).astype(np.float32)
    decoded = decode_line(json.loads(encode_line(replace(EXPORTED, vectors=vectors, embedding_model="m"))))
    assert isinstance(decoded, ExportedExperience)
    assert decoded.vectors is not None
    assert decoded.vectors.dtype == np.float32
    np.testing.assert_array_equal(decoded.vectors, vectors)
    assert decoded.embedding_model == "m"


def test_times_in_other_zones_come_back_as_the_same_instant():
    local = NOON.astimezone(timezone(timedelta(hours=5, minutes=30)))
    exported = replace(EXPORTED, usage=Usage(last_used_at=local))
    decoded = decode_line(json.loads(encode_line(exported)))
    assert isinstance(decoded, ExportedExperience)
    assert decoded.usage.last_used_at == NOON


def test_a_trajectory_is_read_as_well():
    trajectory = {
        "task": {"id": "t", "description": "d"},
        "steps": [{"action": "go"}],
        "outcome": {"success": None},
        "timestamp": "2026-05-01T12:00:00Z",
    }
    decoded = decode_line({"kind": "trajectory", "trajectory": trajectory})
    assert isinstance(decoded, Trajectory)
    assert decoded.steps == (Step(action="go"),)
    assert decoded.timestamp == NOON


def test_marks_usage_and_vectors_may_be_left_out():
    bare = {name: value for name, value in line().items() if name in ("kind", "experience")}
    decoded = decode_line(bare)
    assert decoded == ExportedExperience(experience=EXPERIENCE, marks=Marks(), usage=Usage())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"kind": "note"},
            "expected one of experience, strategy, concept, trajectory, entry, turn for kind, got 'note'",
        ),
        ({"kind": None}, "for kind, got None"),
        ({"experience": None}, "expected an object.* for .*experience, got nothing"),
        ({"marks": []}, "expected an object.* for .*marks, got type list"),
        ({"marks": {"tags": "a"}}, "expected a list.* for .*marks.tags, got 'a'"),
        ({"marks": {"tags": [1]}}, r"expected a string.* for .*line\.marks\.tags\[0\], got 1"),
        ({"marks": {"pinned": 1}}, "expected true or false.* for .*marks.pinned"),
        ({"marks": {"note": 5}}, "expected a string.* for .*marks.note"),
        ({"usage": {"n_uses": -1}}, "expected a whole number.* for .*usage.n_uses"),
        ({"usage": {"n_uses": True}}, "expected a whole number.* for .*usage.n_uses"),
        ({"usage": {"n_retrieved": 2**70}}, "expected a whole number.* for .*usage.n_retrieved"),
        ({"usage": {"n_uses": 1, "n_successes": 2}}, "expected at most 1 .n_uses..* for .*usage.n_successes"),
        ({"usage": {"last_used_at": "tomorrow"}}, "expected an ISO 8601 time.* for .*usage.last_used_at"),
        ({"usage": {"last_used_at": 5}}, "expected an ISO 8601 time.* for .*usage.last_used_at"),
        ({"embedding_model": 7}, "expected a string.* for .*embedding_model"),
        ({"content_hash": 7}, "expected a string.* for .*content_hash"),
        ({"stored_at": "tomorrow"}, "^expected an ISO 8601 time.* for .*line.stored_at"),
        ({"vectors": "AAAA"}, "expected a list of lists of numbers.* for .*vectors"),
        ({"vectors": [[]]}, "expected a list of lists of numbers.* for .*vectors"),
        ({"vectors": [[1.0], [0.6, 0.8]]}, "expected rows of the same length.* for .*vectors"),
        ({"vectors": [["1"]]}, "expected only numbers for vectors"),
        ({"vectors": [[True]]}, "expected only numbers for vectors"),
        ({"vectors": [[float("nan")]]}, r"expected length 1 for vectors\[0\]"),
        ({"vectors": [[1e200]]}, r"expected length 1 for vectors\[0\], got length inf"),
        ({"vectors": [[1.0], [3.0]]}, r"expected length 1 for vectors\[1\], got length 3"),
        ({"vectors": [[10**400]]}, "expected numbers from -1 to 1 for vectors"),
        ({"marks": {"note": "\ud800"}}, "line.marks.note contains a lone surrogate"),
        ({"marks": {"note": "a\x00b"}}, "line.marks.note contains a NUL"),
        ({"extra": float("nan")}, "line.extra is nan"),
    ],
)
def test_a_line_that_cannot_be_read_names_the_field(changes, message):
    with pytest.raises(InvalidInput, match=message):
        decode_line(line(**changes))


def test_a_line_that_is_no_object_is_refused():
    with pytest.raises(InvalidInput, match="expected an object for the line, got type list"):
        decode_line([])  # type: ignore[arg-type]


def test_what_json_cannot_hold_is_not_written():
    with pytest.raises(InvalidInput, match="note contains a lone surrogate"):
        encode_line(replace(EXPORTED, marks=Marks(note="\ud800")))
    with pytest.raises(InvalidInput, match="expected finite numbers for vectors, got NaN or infinity"):
        encode_line(replace(EXPORTED, vectors=np.array([[np.nan]], dtype=np.float32)))
    with pytest.raises(InvalidInput, match="last_used_at has no time zone"):
        encode_line(replace(EXPORTED, usage=Usage(last_used_at=datetime(2026, 1, 1))))


STRATEGY = ExportedStrategy(
    strategy=Strategy(
        id="s1", title="t", situation="s", suggestion="d", parameters=({"name": "x"},), sources=("r1",), created_at=NOON
    ),
    marks=Marks(tags=("a",), buried=True),
    usage=Usage(n_uses=2, n_successes=1, last_used_at=NOON),
    uses=(
        Use(record_id="s1", success=True, task_id="t1", trajectory_id="r2", at=NOON, actor="gpt"),
        Use(record_id="s1", success=False, task_id="", trajectory_id="", at=NOON, actor=""),
    ),
    stored_at=NOON,
)


def test_a_strategy_comes_back_equal_with_every_attempt():
    assert decode_line(json.loads(encode_line(STRATEGY))) == STRATEGY


CONCEPT = ExportedConcept(
    concept=CodeConcept(
        id="c1",
        name="crop_twice",
        description="cut twice",
        code="def crop_twice(grid):\n    return crop(crop(grid))\n",
        signature="crop_twice(grid)",
        examples=(("crop_twice([[1]])", "[[1]]"),),
        source="learned",
        guidance="when the answer is a part",
        calls=("c2",),
        found_in=("e1", "e2"),
        composed_of=("c2", "c3"),
        metadata={"merged_from": ["c9"], "arity": 1},
        created_at=NOON,
    ),
    marks=Marks(tags=("a",), pinned=True, note="keep"),
    usage=Usage(n_uses=1, n_successes=1, last_used_at=NOON),
    uses=(Use(record_id="c1", success=True, task_id="t1", trajectory_id="r2", at=NOON, actor="gpt"),),
    stored_at=NOON,
)


def test_a_concept_comes_back_equal_with_its_lineage_and_every_attempt():
    assert decode_line(json.loads(encode_line(CONCEPT))) == CONCEPT


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"concept": None}, "expected an object.* for .*concept, got nothing"),
        ({"concept": ["c1"]}, "expected an object.* for .*concept, got type list"),
        ({"concept": {"id": "c1", "name": "n", "description": "d"}}, "expected a string.* for .*code, got nothing"),
        ({"uses": [{"success": True}]}, "expected an ISO 8601 time.* for .*uses.0..at, got nothing"),
        ({"usage": {"n_uses": 1, "n_successes": 2}}, "expected at most 1 .n_uses..* for .*usage.n_successes"),
        ({"marks": {"tags": "a"}}, "expected a list.* for .*marks.tags"),
    ],
)
def test_a_damaged_concept_is_refused_and_the_field_is_named(damage, said):
    with pytest.raises(InvalidInput, match=said):
        decode_line(json.loads(encode_line(CONCEPT)) | damage)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ({"calls": "c2"}, "expected .* for .*calls"),
        ({"examples": [["one"]]}, "expected a list of 2 parts for .*examples.0., got a list of 1"),
        ({"code": 7}, "expected .* for .*code"),
        ({"stolen": 1}, "stolen"),
    ],
)
def test_a_damaged_field_of_a_concept_is_named(field, said):
    line = json.loads(encode_line(CONCEPT))
    with pytest.raises(InvalidInput, match=said):
        decode_line(line | {"concept": line["concept"] | field})


@pytest.mark.parametrize(
    ("uses", "said"),
    [
        ({}, "expected a list.* for .*uses"),
        ([3], "expected an object.* for .*uses.0."),
        ([{"success": True}], "expected an ISO 8601 time.* for .*uses.0..at, got nothing"),
        ([{"at": "2026-05-01", "success": 1}], "expected true or false.* for .*uses.0..success"),
        ([{"at": "soon", "success": True}], "expected an ISO 8601 time.* for .*uses.0..at"),
    ],
)
def test_attempts_of_a_strategy_that_cannot_be_are_refused(uses, said):
    with pytest.raises(InvalidInput, match=said):
        decode_line(json.loads(encode_line(STRATEGY)) | {"uses": uses})
