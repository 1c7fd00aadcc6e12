"""Rules for unknown outcomes: their share and precision on real logs with a known outcome, and what each needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atlas.core.errors import ImportFailed
from atlas.core.settings import Settings
from atlas.core.types import Outcome, Step, Task, Trajectory, VerificationSpec
from atlas.importers.evidence import with_decided_outcome
from atlas.importers.run import import_paths, read_attempts

LEAST_PRECISION = 0.95
LEAST_SHARE = 0.4


def labelled(directory: Path) -> list[Trajectory]:
    """The attempts of a directory whose outcome the log records."""
    attempts = []
    for path in sorted(directory.iterdir()):
        try:
            attempts += read_attempts([path], settings=Settings())
        except ImportFailed:  # a licence, or a log that is invalid on purpose
            continue
    return [attempt for attempt in attempts if "rule" not in attempt.outcome.verification_details]


@pytest.mark.parametrize(
    ("source", "n_known", "n_decided", "n_right"), [("tau_bench", 200, 172, 170), ("inspect_ai", 21, 11, 11)]
)
def test_hidden_outcomes_are_decided_as_the_documentation_states(real_data, source, n_known, n_decided, n_right):
    known = [attempt for attempt in labelled(real_data / source) if attempt.outcome.success is not None]
    hidden = [with_decided_outcome(replace(attempt, outcome=Outcome(None))).outcome.success for attempt in known]
    pairs = [
        (attempt.outcome.success, success)
        for attempt, success in zip(known, hidden, strict=True)
        if success is not None
    ]
    figures = (len(known), len(pairs), sum(label == success for label, success in pairs))
    assert figures == (n_known, n_decided, n_right)
    assert n_right / n_decided >= LEAST_PRECISION
    assert n_decided / n_known >= LEAST_SHARE
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "import-logs.md").read_text()
    assert f"{n_decided} of {n_known}" in page
    assert f"{n_right} of {n_decided}" in page


@pytest.mark.parametrize("source", ["claude_code", "openhands", "mini_swe_agent", "langfuse", "reflexion"])
def test_logs_without_evidence_are_not_guessed(real_data, source):
    hidden = [with_decided_outcome(replace(attempt, outcome=Outcome(None))) for attempt in labelled(real_data / source)]
    assert hidden
    assert {attempt.outcome.success for attempt in hidden} == {None}


def attempt(
    *actions: tuple[str, str], method: str = "reward", metadata: Mapping[str, Any] | None = None, **expected: Any
) -> Trajectory:
    steps = tuple(Step(action=action, observation=observation) for action, observation in actions)
    task = Task("", "airline", "cancel my flight", verification=VerificationSpec(method, expected))
    return Trajectory(task=task, steps=steps, outcome=Outcome(None), metadata=metadata or {})


CANCEL = {"name": "cancel_reservation", "kwargs": {"id": "A1"}}
LOOK = {"name": "get_reservation_details", "kwargs": {"id": "A1"}}
CANCELLED = ('cancel_reservation({"id": "A1"})', "{}")


@pytest.mark.parametrize(
    ("run", "success"),
    [
        (attempt(CANCELLED, actions=[LOOK, CANCEL]), True),
        (attempt(('get_flight({"id": "A1"})', "{}"), CANCELLED, actions=[CANCEL]), True),
        (attempt(('cancel_reservation({"id": "A1"})', "Error: not found"), actions=[CANCEL]), False),
        (attempt(('cancel_reservation({"id": "B2"})', "{}"), actions=[CANCEL]), False),
        (attempt(CANCELLED, CANCELLED, actions=[CANCEL]), False),
        (attempt(CANCELLED, ("You get 1,327 dollars back.", ""), actions=[CANCEL], outputs=["1327"]), True),
        (attempt(CANCELLED, ("You get nothing back.", ""), actions=[CANCEL], outputs=["1327"]), False),
        (attempt(CANCELLED), None),
        (attempt(CANCELLED, method="exact", actions=[CANCEL]), None),
        (attempt(method="", metadata={"solution": " yes. "}, target="Yes"), True),
        (attempt(method="", metadata={"solution": "No"}, target=["Yes", "yes indeed"]), None),
        (attempt(method="", metadata={"solution": "It is probably a yes"}, target="Yes"), None),
        (attempt(method="", metadata={"solution": ""}, target="Yes"), None),
        (attempt(method="", metadata={"solution": "5"}, target="-5"), None),
        (attempt(method="", metadata={"solution": "A) Paris"}, target="A"), None),
        (attempt(CANCELLED, ("It costs 1000 dollars.", ""), actions=[CANCEL], outputs=["10"]), False),
        (attempt(actions=[LOOK]), None),
        (attempt(CANCELLED, actions=[{"name": "cancel_reservation"}, "look"]), None),
    ],
)
def test_a_rule_decides_by_the_evidence_of_the_log_alone(run, success):
    outcome = with_decided_outcome(run).outcome
    assert outcome.success is success
    assert ("rule" in outcome.verification_details) == (success is not None)


def test_a_scored_attempt_and_a_crashed_run_stay_as_they_are():
    right = attempt(CANCELLED, actions=[CANCEL])
    scored = [
        Outcome(False),
        Outcome(None, partial_score=0.4),
        Outcome(None, verification_details={"scores": {"a": 3}}),
    ]
    for outcome in (*scored, Outcome(None, error_info="the simulator crashed")):
        run = replace(right, outcome=outcome)
        assert with_decided_outcome(run) is run


def test_the_report_of_an_import_names_the_rule(real_data, sink):
    [path] = (real_data / "inspect_ai").glob("*dPiJ*.eval")
    report = import_paths(sink, [path], settings=Settings())
    assert report.judged == {"the expected answer": 8}
    assert sum(report.unknown.values()) == 2
