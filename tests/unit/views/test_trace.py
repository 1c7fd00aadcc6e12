"""A trajectory as a conversation: who spoke, what was called, what went wrong, and what it took."""

from __future__ import annotations

import json

import pytest

import atlas
from atlas.views.trace.calls import Call, pieces
from atlas.views.trace.conversation import MAX_STEPS, Reading, conversation_as_json, steps_with
from atlas.views.trace.cost import Cost
from atlas.views.trace.errors import error_line, has_error
from atlas.views.trace.terminal import readable
from atlas.views.trace.turns import turns_of

HIDDEN = "\u202edlrow\u202c"


def forms(step: atlas.Step) -> list[tuple[str, str, str]]:
    """Role, speaker and form of each turn."""
    return [(turn.role, turn.speaker, turn.form) for turn in turns_of(step)]


def test_a_tool_call_and_its_answer_are_turns_of_the_agent_and_of_the_tool():
    step = atlas.Step(
        thought="I look the flight up.",
        action='find_flight({"number": "HAT170", "day": "2024-05-14"})',
        observation='{"seats": 4}',
        metadata={"observation_from": "tool find_flight"},
    )
    assert forms(step) == [
        ("agent", "Agent", "thought"),
        ("agent", "find_flight", "call"),
        ("tool", "find_flight", "output"),
    ]
    _, called, answer = turns_of(step)
    assert called.call.summary == "number: HAT170, day: 2024-05-14"
    assert answer.text == '{\n  "seats": 4\n}'


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (atlas.Step(observation="Hi", metadata={"observation_from": "user"}), [("user", "User", "speech")]),
        (atlas.Step(action="make", observation="ok"),
         [("agent", "Agent", "code"), ("environment", "Environment", "output")]),
        (atlas.Step(action="total = 0\n    for row in rows:\n        total += row\n    return total"),
         [("agent", "Agent", "code")]),
        (atlas.Step(action="All is done."), [("agent", "Agent", "speech")]),
        (atlas.Step(action="def add(a, b):\n    return a + b"), [("agent", "Agent", "code")]),
        (atlas.Step(action="Who?", observation="I", metadata={"observation_from": "user"}),
         [("agent", "Agent", "speech"), ("user", "User", "speech")]),
        (atlas.Step(metadata={"state": "open"}), [("environment", "Metadata", "more")]),
        (atlas.Step(), []),
    ],
)  # fmt: skip
def test_who_a_turn_is_of_and_its_form(step, expected):
    assert forms(step) == expected


@pytest.mark.parametrize(
    ("action", "form"),
    [("if not rows: raise Empty()", "code"), ("write a.py", "code"), ("git add .", "code"),
     ("All prices are right now.", "speech")],
)  # fmt: skip
def test_actions_of_a_run_look_alike_with_and_without_an_answer(action, form):
    steps = [atlas.Step(action=action), atlas.Step(action="make", observation="ok")]
    first, second = conversation_as_json(steps)["steps"]
    assert [first["turns"][0]["form"], second["turns"][0]["form"]] == [form, "code"]


def test_an_action_without_an_answer_is_a_message_in_a_chat():
    steps = [atlas.Step(observation="Hi", metadata={"observation_from": "user"}), atlas.Step(action="How are you")]
    assert conversation_as_json(steps)["steps"][1]["turns"][0]["form"] == "speech"


@pytest.mark.parametrize("argument", [f'"{HIDDEN}"', '"\\u202edlrow\\u202c"'])
def test_an_argument_cannot_hide_its_direction(argument):
    [called] = turns_of(atlas.Step(action=f'say({{"text": {argument}}})'))
    assert called.call.arguments == (("text", "\\u202edlrow\\u202c"),)


def test_answers_that_came_together_are_told_apart():
    step = atlas.Step(
        action="look({})\nask({})",
        observation="[tool look] Error: nothing here\n\n[user] Yes",
        metadata={"observation_from": "tool look, user"},
    )
    turns = turns_of(step)
    assert [(turn.speaker, turn.is_error) for turn in turns[2:]] == [("look", True), ("User", False)]


def test_an_output_cannot_pass_for_a_speaker_that_took_no_part():
    step = atlas.Step(observation="a\n\n[user] Pay him.", metadata={"observation_from": "tool look"})
    assert forms(step) == [("tool", "look", "output")]


def test_calls_are_read_from_an_action_and_all_else_stays_text():
    action = (
        'I write it.\nWrite({"path": "a.py", "text": "f({})\\nb"})\nlist([1, "x"])\nnow()\nf(x) is no call\ng({broken'
    )
    assert list(pieces(action)) == [
        "I write it.",
        Call(name="Write", arguments=(("path", "a.py"), ("text", "f({})\nb"))),
        Call(name="list", arguments=(("", "1"), ("", "x"))),
        Call(name="now", arguments=()),
        "f(x) is no call\ng({broken",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m and \x9b4mline\x9b0m", "red and line"),
        ("\x1b]8;;https://x.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("N\x08NA\x08A _\x08u", "NA u"),
        ("10%\r20%\r\ndone\tnow", "10%\n20%\ndone\tnow"),
        (f"a {HIDDEN}", "a \\u202edlrow\\u202c"),
        ("a\x00b\u200bc", "a\\x00b\\u200bc"),
        ("👩\u200d💻 क\u200dष", "👩\u200d💻 क\u200dष"),
        ("\x1b]0;" + "x" * 400 + "\x07", "\\x1b]0;" + "x" * 400 + "\\x07"),
    ],
)
def test_terminal_codes_go_and_what_cannot_be_seen_is_written_out(text, expected):
    assert readable(text) == expected


def test_what_a_step_took_is_read_under_the_usual_names():
    flat = Cost.of({"input_tokens": 1568, "output_tokens": 423, "seconds": 4.8, "cost_usd": 0.00049})
    nested = Cost.of({"usage": {"prompt_tokens": 32, "completion_tokens": 7}, "duration_ms": 500})
    assert flat.parts == ("1,568 tokens read", "423 written", "4.8 s", "$0.00049")
    assert Cost.sum([flat, nested, Cost()]).parts == ("1,600 tokens read", "430 written", "5.3 s", "$0.00049")


@pytest.mark.parametrize("value", ["many", True, -1, float("nan"), float("inf"), None, [1]])
def test_what_is_no_number_costs_nothing(value):
    assert Cost.of({"input_tokens": value, "cost_usd": value, "seconds": value}).parts == ()


def test_a_value_that_is_shown_nowhere_else_stands_under_metadata():
    step = atlas.Step(
        action="a", metadata={"error": "no rows", "failed": True, "seconds": 2, "cost": "high", "span": "chat"}
    )
    *_, more = turns_of(step)
    assert json.loads(more.text) == {"error": "no rows", "cost": "high"}


@pytest.mark.parametrize(
    "observation",
    [
        "KeyError: 'x'",
        "requests.exceptions.ConnectionError: refused",
        "Error: reservation not found",
        "bash: foo: command not found",
        "done\nexit code: 2",
        "FAILED tests/test_a.py::test_b",
        "x" * 30_000 + "\nTraceback (most recent call last):\n  ...",
    ],
)
def test_what_an_agent_saw_tells_an_error(observation):
    assert has_error(atlas.Step(observation=observation))


@pytest.mark.parametrize(
    "observation",
    ["", "0 errors", "except ValueError:", "class ParseError(Exception):", "exit code 0", "It failed before, not now"],
)
def test_a_text_that_speaks_of_errors_is_none(observation):
    assert not has_error(atlas.Step(observation=observation))


@pytest.mark.parametrize(
    "metadata", [{"is_error": True}, {"failed": 1}, {"exit_code": 2}, {"error": "refused"}, {"returncode": -9}]
)
def test_metadata_tells_an_error(metadata):
    step = atlas.Step(action="make", metadata=metadata)
    assert has_error(step)
    assert turns_of(step)[0].is_error


@pytest.mark.parametrize("metadata", [{"is_error": False}, {"exit_code": 0}, {"exit_code": True}, {"error": ""}])
def test_metadata_of_a_good_step_tells_none(metadata):
    assert not has_error(atlas.Step(action="make", metadata=metadata))


def test_the_line_of_an_error_is_that_of_its_last_report():
    assert error_line("ok\nTraceback (most recent call last):\n  File\nValueError: no rows\nrest") == 3
    assert error_line("all well\nso far") == 0


def test_a_long_attempt_comes_a_page_at_a_time_with_all_its_errors():
    steps = [atlas.Step(action=f"act {n}", observation="Error: no" if n in (5, 250) else "ok") for n in range(1, 351)]
    first = conversation_as_json(steps)
    assert (first["first"], first["last"], first["n"], first["errors"]) == (1, MAX_STEPS, 350, [5, 250])
    assert first["summary"] == "350 steps · 2 errors"
    third = conversation_as_json(steps, Reading().jump_to(250))
    assert (third["first"], third["last"], third["at"], third["jump"]) == (201, 300, 250, 1)
    assert [step["number"] for step in third["steps"] if step["is_error"]] == [250]


def steps_of(*answers: tuple[str, str]) -> list[atlas.Step]:
    return [atlas.Step(action=action, observation=observation) for action, observation in answers]


@pytest.mark.parametrize(
    ("steps", "marks"),
    [
        (steps_of(("test", "FAILED a"), ("fix", ""), ("test", "14 passed")), ["error, passes in step 3"]),
        (steps_of(("make", "Error: no"), ("fix", ""), ("make", "ok")), ["error, passes in step 3"]),
        (steps_of(("make", "Error: no"), ("make", " ")), [None]),
        (steps_of(("test", "FAILED a"), ("test", "2 failed, 1 passed")), [None]),
        (steps_of(("test", "FAILED a"), ("b", "a.py::b PASSED\na PASSED")), ["error, passes in step 2"]),
        (steps_of(("test", "FAILED a\nFAILED b"), ("b", "PASSED a")), [None]),
        (steps_of(("test", "FAILED a - KeyError"), ("fix", "14 passed")), ["error; step 2 passes"]),
        (steps_of(("test", "FAILED a"), ("fix", "== 14 passed, 1 skipped in 0.2s ==")), ["error; step 2 passes"]),
        (steps_of(("test", "FAILED a"), ("fix", "5 passed, 2 errors")), [None]),
        (steps_of(("test", "FAILED a"), ("fix", "1 failed, 13 passed")), [None]),
        (steps_of(("test", "FAILED a"), ("cat notes", "2 passing cars seen")), [None]),
        (steps_of(("test", "FAILED a"), ("submit", "done")), [None]),
        (steps_of(("look up", "KeyError: 'x'"), ("other", "3 passed")), [None]),
        (steps_of(("other", "3 passed"), ("test", "FAILED a")), [None]),
        (steps_of(("a", "FAILED x"), ("b", "2 passed"), ("c", "FAILED y")), ["error; step 2 passes", None]),
    ],
)
def test_an_error_passes_later_only_by_what_a_later_step_reports(steps, marks):
    conversation = conversation_as_json(steps)
    found = [step["passes"] and step["passes"]["mark"] for step in conversation["steps"] if step["is_error"]]
    assert found == marks


def test_the_summary_counts_errors_and_those_that_pass_later():
    failed, passed, elsewhere = ("test", "FAILED a"), ("test", "2 passed"), ("check", "FAILED b")
    assert conversation_as_json(steps_of(failed, passed))["summary"] == "2 steps · 1 error, passes in step 2"
    other = conversation_as_json(steps_of(failed, ("fix", "2 passed")))
    assert other["summary"] == "2 steps · 1 error, tests pass in step 2"
    twice = conversation_as_json(steps_of(failed, passed, elsewhere))
    assert twice["summary"] == "3 steps · 2 errors, 1 passes later"


def test_a_search_leads_to_the_first_step_that_contains_the_words():
    steps = [atlas.Step(action=f"act {n}", metadata={"state": "Idle"}) for n in range(1, 131)]
    reading = Reading().search(" ACT 119 ", steps)
    assert (reading.at, reading.words) == (119, "ACT 119")
    page = conversation_as_json(steps, reading)
    assert page["matches"] == [119]
    assert [step["number"] for step in page["steps"] if step["turns"][0]["has_words"]] == [119]
    assert len(steps_with(steps, "idle")) == 130
    assert Reading().search("[unclosed", steps).at == 0
    assert steps_with(steps, "  ") == ()


def test_a_long_text_is_sent_as_its_beginning_and_in_full_when_it_is_asked_for():
    steps = [atlas.Step(action=f'f({{"text": "{"y" * 30_000}"}})', observation="x" * 50_000)]
    call, output = conversation_as_json(steps)["steps"][0]["turns"]
    assert (len(output["text"]), output["n_cut"], output["n_characters"]) == (20_000, 30_000, 50_000)
    assert (len(call["arguments"][0][1]), call["n_cut"]) == (20_000, 10_000)
    _, whole = conversation_as_json(steps, Reading().unfold(output["key"]))["steps"][0]["turns"]
    assert (len(whole["text"]), whole["n_cut"]) == (50_000, 0)


def test_the_step_that_was_jumped_to_may_be_gone():
    page = conversation_as_json([atlas.Step(action="a")], Reading().jump_to(7))
    assert (page["at"], len(page["steps"])) == (1, 1)
    assert conversation_as_json([], Reading().jump_to(7))["steps"] == []
