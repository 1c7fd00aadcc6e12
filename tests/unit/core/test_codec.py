"""Records as JSON and back without loss, and a clear word for what JSON cannot hold."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.core.codec import (
    decode_concept,
    decode_experience,
    decode_strategy,
    decode_trajectory,
    encode_experience,
    encode_trajectory,
)
from atlas.core.errors import InvalidInput
from atlas.core.exchange import decode_line
from atlas.core.journal_codec import decode_entry
from atlas.core.json_values import MAX_DEPTH, check_json, to_text
from atlas.core.types import Experience, Outcome, Step, Task, Trajectory, VerificationSpec

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
INSTANTS = st.datetimes(timezones=st.just(UTC))
TASKS = st.builds(Task, TEXTS, TEXTS, TEXTS, OBJECTS, st.builds(VerificationSpec, TEXTS, OBJECTS))
STEPS = st.lists(st.builds(Step, TEXTS, TEXTS, TEXTS, OBJECTS), max_size=3).map(tuple)
OUTCOMES = st.builds(
    Outcome, st.none() | st.booleans(), st.none() | st.floats(0, 1) | st.integers(0, 1), st.none() | TEXTS, OBJECTS
)
TRAJECTORIES = st.builds(
    Trajectory, TASKS, STEPS, OUTCOMES, TEXTS, st.none() | INSTANTS, OBJECTS, st.text("abcdef", min_size=1)
)
EXPERIENCES = st.builds(
    Experience,
    id=TEXTS,
    task=TASKS,
    trajectory_summary=TEXTS,
    outcome=OUTCOMES,
    embedding_text=TEXTS,
    created_at=INSTANTS,
    metadata=OBJECTS,
    solution_output=TEXTS,
    feedback=TEXTS,
    trajectory_id=TEXTS,
    agent_id=TEXTS,
    steps=STEPS,
)
PLAIN = Trajectory(task=Task("t", "", "d"), steps=(Step(),), outcome=Outcome(None), id="x")


@given(TRAJECTORIES)
def test_a_trajectory_comes_back_equal(trajectory):
    assert decode_trajectory(json.loads(to_text(encode_trajectory(trajectory)))) == trajectory


@given(EXPERIENCES)
def test_an_experience_comes_back_equal(experience):
    assert decode_experience(json.loads(to_text(encode_experience(experience)))) == experience


@given(JSON)
def test_canonical_json_comes_back_equal_and_does_not_depend_on_the_order_of_keys(value):
    assert json.loads(to_text(value)) == value
    if isinstance(value, dict):
        assert to_text(dict(reversed(value.items()))) == to_text(value)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "value is nan, which JSON cannot represent"),
        ([1, float("inf")], r"value\[1\] is inf"),
        ({"a": {"b": float("-inf")}}, r"value\.a\.b is -inf"),
        ("\ud800", "value contains a lone surrogate at character 0"),
        ({"a": "x\udfff"}, r"value\.a contains a lone surrogate at character 1"),
        ({"\ud800": 1}, "lone surrogate"),
        ("a\x00", "value contains a NUL character; remove it"),
        ({"n": 10**5000}, r"value\.n is an integer of more than 4096 bits; use a float or a string"),
        ({1: 2}, "the key 1; use a string as the key"),
        ({"a": {1, 2}}, r"value\.a is of type set"),
        (b"bytes", "value is of type bytes"),
        (nested(MAX_DEPTH + 1), f"nests more than {MAX_DEPTH} levels deep"),
        (nested(900), "levels deep"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_name(value, message):
    with pytest.raises(InvalidInput, match=message):
        to_text(value)


def test_the_deepest_value_allowed_is_allowed():
    check_json(nested(MAX_DEPTH - 1), "value")


def test_a_time_without_a_zone_is_refused_when_it_is_written_and_taken_for_utc_when_it_is_read():
    with pytest.raises(InvalidInput, match=r"has no time zone; use datetime\.now\(UTC\)"):
        encode_trajectory(replace(PLAIN, timestamp=datetime(2026, 1, 1)))
    encoded = {**encode_trajectory(PLAIN), "timestamp": "2026-05-01T12:00:00"}
    assert decode_trajectory(encoded).timestamp == datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_a_time_in_another_zone_stays_the_same_instant():
    local = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=-7)))
    encoded = encode_trajectory(replace(PLAIN, timestamp=local))
    assert encoded["timestamp"] == "2026-05-01T19:00:00+00:00"
    assert decode_trajectory(encoded).timestamp == local


def test_what_may_be_missing_is_empty():
    bare = {"task": {"id": "t", "description": "d"}, "outcome": {}}
    trajectory = decode_trajectory(bare)
    assert trajectory.task == Task("t", "", "d")
    assert trajectory.outcome == Outcome(None)
    assert (trajectory.steps, trajectory.agent_id, trajectory.timestamp) == ((), "", None)
    assert len(trajectory.id) == 32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": None}, "expected an object.* for .*task, got nothing"),
        ({"task": {"description": "d"}}, "expected a string.* for .*id, got nothing"),
        ({"task": {"id": "t", "description": 5}}, "expected a string.* for .*trajectory.task.description, got 5"),
        ({"steps": "go"}, "expected a list.* for .*steps, got 'go'"),
        ({"steps": ["go"]}, r"expected an object.* for .*steps\[0\], got 'go'"),
        ({"steps": [{"action": 1}]}, r"expected a string.* for .*trajectory\.steps\[0\]\.action"),
        ({"outcome": {"success": 1}}, "expected true, false or null.* for .*outcome.success, got 1"),
        ({"outcome": {"success": "yes"}}, "got 'yes'"),
        ({"outcome": {"partial_score": "high"}}, "expected a number or null.* for .*outcome.partial_score"),
        ({"outcome": {"partial_score": 1.5}}, r"expected a number from 0 to 1 for outcome.partial_score, got 1.5"),
        ({"outcome": {"error_info": []}}, "expected a string or null.* for .*outcome.error_info"),
        ({"timestamp": "yesterday"}, "expected an ISO 8601 time.* for .*timestamp, got 'yesterday'"),
        ({"timestamp": 5}, "expected an ISO 8601 time.* for .*timestamp"),
        ({"metadata": []}, "expected an object.* for .*metadata"),
        ({"id": 5}, "expected a string.* for .*id"),
    ],
)
def test_a_field_of_the_wrong_kind_is_named(changes, message):
    with pytest.raises(InvalidInput, match=message):
        decode_trajectory({**encode_trajectory(PLAIN), **changes})


def test_an_experience_needs_a_time():
    with pytest.raises(InvalidInput, match=r"expected an ISO 8601 time such as .*.* for .*created_at, got nothing"):
        decode_experience({"id": "e", "task": {"id": "t", "description": "d"}, "outcome": {}})


STRATEGY = {"situation": "s", "suggestion": "t"}
CONCEPT = {"name": "f", "description": "d", "code": "def f(): pass"}
ENTRY = {"entry_type": "reflection", "content": "c"}
TURN = {"conversation": "c", "user_text": "u", "response": "r", "created_at": "2026-05-01T12:00:00+00:00"}


@pytest.mark.parametrize(
    ("read", "encoded"),
    [
        (decode_strategy, STRATEGY),
        (decode_concept, CONCEPT),
        (decode_entry, ENTRY),
        (lambda encoded: decode_line({"kind": "turn", "turn": encoded}), TURN),
    ],
)
def test_only_a_trajectory_may_lack_its_id_as_a_new_one_at_each_import_would_add_the_record_again(read, encoded):
    with pytest.raises(InvalidInput, match=r"expected a string.* for .*\.id, got nothing"):
        read(encoded)
    read({**encoded, "id": "x"})


def test_an_entry_without_a_generation_is_of_generation_0():
    assert decode_entry({**ENTRY, "id": "x"}).generation == 0
