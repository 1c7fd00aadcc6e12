"""Rules that decide an unknown outcome from the content of the log, such as the expected answer.

A rule has to be right in 95 of 100 attempts whose outcome is known but hidden from it. The figures by source are in
`docs/how-to/import-logs.md`. Plausible rules that are right less often stay out: on τ-bench, thanks of the user mean a
success in 39 of 100 attempts, a complaint a failure in 47, a failed tool call in 75, and a transfer to a person in 27.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeGuard

from atlas.core.types import Outcome, Step, Trajectory

_CALL = re.compile(r"^([A-Za-z_]\w*)\((?=\{)", re.MULTILINE)
_READ_ONLY_TOOLS = re.compile(r"(?:get|find|search|list)_|calculate$|think$|transfer_")
"""Tools of τ-bench that change nothing."""


def with_decided_outcome(attempt: Trajectory) -> Trajectory:
    """Return an attempt with the outcome that its log proves, or unchanged if the log proves none.

    The details of the outcome name the rule. Attempts that crashed, or that the log itself scores,
    are not changed, even if the scores leave the outcome unknown.
    """
    if attempt.outcome != Outcome(None):
        return attempt
    for name, rule in RULES.items():
        if (success := rule(attempt)) is not None:
            return replace(attempt, outcome=Outcome(success, verification_details={"rule": name}))
    return attempt


def outcome_by_changes(attempt: Trajectory) -> bool | None:
    """Return whether an agent in τ-bench made exactly the expected changes, and gave the expected answers.

    None if the attempt is not from τ-bench, or has no steps.
    """
    expected = attempt.task.verification.parameters.get("actions")
    if attempt.task.verification.method != "reward" or not attempt.steps or not _are_calls(expected):
        return None
    expected_changes = [
        json.dumps([action["name"], action["kwargs"]], sort_keys=True) for action in expected if _is_change(action)
    ]
    if sorted(expected_changes) != sorted(_accepted_changes(attempt)):
        return False
    actions_text = " ".join(step.action for step in attempt.steps).replace(",", "").casefold()
    answers = attempt.task.verification.parameters.get("outputs") or []
    answer_patterns = [re.escape(str(answer).replace(",", "").casefold()) for answer in answers]
    return all(re.search(rf"(?<!\w){pattern}(?!\w)", actions_text) for pattern in answer_patterns)


def _are_calls(expected: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether a value of a log is a list of tool calls, each with a name and arguments."""
    return isinstance(expected, list) and all(
        isinstance(call, dict) and isinstance(call.get("name"), str) and "kwargs" in call for call in expected
    )


def _is_change(action: Mapping[str, Any]) -> bool:
    return not _READ_ONLY_TOOLS.match(action["name"])


def _accepted_changes(attempt: Trajectory) -> Iterator[str]:
    """Yield the tool calls that changed something, as JSON."""
    for step in attempt.steps:
        if not step.observation.startswith("Error"):
            yield from (
                json.dumps(call, sort_keys=True) for call in _calls(step) if not _READ_ONLY_TOOLS.match(call[0])
            )


def _calls(step: Step) -> Iterator[list[Any]]:
    """Yield the name and the arguments of each tool call of a step."""
    for match in _CALL.finditer(step.action):
        try:
            arguments, _ = json.JSONDecoder().raw_decode(step.action, match.end())
        except ValueError:  # no call, or one whose arguments were cut
            continue
        yield [match[1], arguments]


def outcome_by_answer(attempt: Trajectory) -> bool | None:
    """Return True if the final answer equals the expected one, else None: a right answer may be worded differently."""
    target, answer = attempt.task.verification.parameters.get("target"), attempt.metadata.get("solution")
    if not isinstance(target, str) or not isinstance(answer, str):
        return None
    return (_normalise(answer) == _normalise(target) != "") or None


def _normalise(text: str) -> str:
    """Normalise a text for comparison, ignoring case, spaces, width and the last full stop."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).removesuffix(".")


RULES: Mapping[str, Callable[[Trajectory], bool | None]] = {
    "the expected changes": outcome_by_changes,
    "the expected answer": outcome_by_answer,
}
"""Rules, keyed by their name in the details of an outcome."""
