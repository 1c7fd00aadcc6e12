"""Scan of a text for signs of an attack on the agent that reads it.

Only known signs are detected. A false statement in plain words has none, and is accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from atlas.core.unseen import escape_invisible
from atlas.llm.instructions import fold, to_latin
from atlas.scanning.encoded import find_payloads, rot13
from atlas.scanning.hidden import hidden_messages, hidden_rules
from atlas.scanning.rules import ENCODED, HIDDEN_TEXT, RULES, TOOL_CALLS, Rule

SUSPICIOUS = 0.5
"""Lowest score of a record that is reported, by default."""

EXCERPT_CHARACTERS = 160

_MIN_ACTION_WEIGHT = 0.6
"""Minimum weight of the rules for code, and for the thoughts and actions of an agent.

Such texts often mention passwords, or instructions for the future.
"""

_ACTION_RULES = tuple(rule for rule in RULES if rule.attack != TOOL_CALLS and rule.weight >= _MIN_ACTION_WEIGHT)
_ROT13_RULES = tuple(rule for rule in RULES if rule.name in ("override", "outranks", "to drop the rules"))
_DECODED_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A sign of an attack in a text."""

    rule: str
    attack: str
    """`orders`, `tool calls`, `hidden text`, `encoded`, or of the whole store `burst`, `hub` or `contradiction`."""

    why: str
    excerpt: str
    """The sign with the text around it, shortened, with invisible characters escaped. Untrusted.

    Empty for a sign that is not in the text.
    """

    weight: float
    """Confidence that a text with this sign is an attack, in (0, 1)."""

    part: str = ""
    """Name of the record's part with the sign, such as `observation of step 2`, or empty for the whole text."""


def scan_text(text: str, *, is_action: bool = False) -> tuple[Reason, ...]:
    """Return the signs of an attack in a text, the strongest first, each rule once.

    Args:
        is_action: True for code, and for the thoughts and actions of an agent. Tool calls and weak signs are usual
            there, and do not count.
    """
    return strongest_per_rule(
        [
            *_visible_reasons(text, _ACTION_RULES if is_action else RULES),
            *_hidden_reasons(text),
            *_encoded_reasons(text),
        ]
    )


def strongest_per_rule(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return the strongest reason of each rule (the first in a tie), strongest first."""
    by_rule: dict[str, Reason] = {}
    for reason in sorted(reasons, key=lambda reason: -reason.weight):
        by_rule.setdefault(reason.rule, reason)
    return tuple(by_rule.values())


def attack_confidence(reasons: Iterable[Reason]) -> float:
    """Return the confidence that a text with these signs is an attack, in [0, 1). Each rule counts once."""
    return 1.0 - math.prod(1.0 - reason.weight for reason in strongest_per_rule(reasons))


def _visible_reasons(text: str, rules: Sequence[Rule]) -> Iterator[Reason]:
    folded = fold(text)
    views = [folded] if folded.isascii() else [folded, to_latin(text)]
    for view in views:
        yield from _find_matches(view, rules)
        if "\n" in view:
            yield from _find_matches(" ".join(view.split()), rules)


def _hidden_reasons(text: str) -> Iterator[Reason]:
    yield from _find_matches(text, hidden_rules(text))
    for message in hidden_messages(text):
        yield from _relabel(HIDDEN_TEXT, "in hidden characters", _find_matches(message.lower(), RULES))


def _encoded_reasons(text: str) -> Iterator[Reason]:
    for payload in find_payloads(text):
        yield Reason(
            rule="encoded text",
            attack=ENCODED,
            why="It contains readable text in an encoded form.",
            excerpt=_excerpt(payload),
            weight=_DECODED_WEIGHT,
        )
        yield from _relabel(ENCODED, "in encoded text", _visible_reasons(payload, RULES))
    yield from _relabel(ENCODED, "in rotated letters", _find_matches(rot13(text).lower(), _ROT13_RULES))


def _find_matches(text: str, rules: Iterable[Rule]) -> Iterator[Reason]:
    for rule in rules:
        if rule.cues and not any(cue in text for cue in rule.cues):
            continue
        if (match := rule.pattern.search(text)) is not None:
            around = max(0, EXCERPT_CHARACTERS - (match.end() - match.start())) // 2
            excerpt = _excerpt(text[max(0, match.start() - around) : match.end() + around])
            yield Reason(rule=rule.name, attack=rule.attack, why=rule.why, excerpt=excerpt, weight=rule.weight)


def _relabel(attack: str, where: str, reasons: Iterable[Reason]) -> Iterator[Reason]:
    for reason in reasons:
        yield replace(reason, rule=f"{reason.rule} {where}", attack=attack)


def _excerpt(text: str) -> str:
    line = escape_invisible(re.sub(r"\s+", " ", text).strip())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[: EXCERPT_CHARACTERS - 1]}…"
