"""Generalisation of a task's text: specific values become named parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

from atlas.core.types import Step

_CALL = re.compile(r"(?P<name>[A-Za-z_]\w*)\((?P<arguments>\{.*\})\)", re.DOTALL)
_INSTANCE = re.compile(r"[A-Z0-9_@]")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NAME = r"[A-Z][a-z]+(?:-[A-Z][a-z]+)*"
_NO_NAME = (
    r"(?:A|An|And|As|At|But|By|For|From|He|Her|His|I|If|In|It|My|Of|On|Or|Our|She|So|That|The|Then|They|This|To|User|We|"
    r"When|While|With|You|Your)"
)
QUANTITIES = frozenset({"amount", "number", "path", "percentage", "quoted", "time"})
"""Kinds that are kept in programming tasks, because they specify what the program should do."""

MIN_VALUE_CHARACTERS = 2
MAX_VALUE_CHARACTERS = 60
EXAMPLE_CHARACTERS = 60
MAX_VALUES = 500
"""Maximum number of values from tool calls."""

TEXT_CHARACTERS = 8_000
"""Maximum characters of a text. The rest is left out."""

_KINDS = (
    ("url", r"https?://[^\s)\"'>]+"),
    ("email", r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w"),
    ("quoted", r"\"[^\"\n]{3,60}\"|“[^”\n]{3,60}”|(?<!\w)'[^'\n]{3,60}'(?!\w)"),
    ("date", rf"\d{{4}}-\d\d-\d\d(?:T[\d:]+Z?)?|{_MONTH} {_DAY}(?:,? \d{{4}}(?!-))?|\d{{1,2}} {_MONTH}(?: \d{{4}})?"),
    ("time", r"\d{1,2}(?::\d\d){1,2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]m\b"),
    ("amount", r"[$€£]\s?\d[\d,]*(?:\.\d+)?"),
    ("path", r"(?:\.{0,2}/)?(?:[\w.-]{1,64}/){1,12}[\w.-]{1,64}\.\w{1,8}"),
    ("id", r"[a-z]+(?:_[a-z]+)*_\d+|(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{4,}|[0-9a-f]{8,}|[A-Z]{6,}"),
    ("place", r"(?:(?<=\bfrom )|(?<=\bto )|(?<=\())[A-Z]{3}|[A-Z]{3}(?= to )"),
    ("name", rf"(?!{_NO_NAME}\b){_NAME}(?: (?!{_MONTH}\b){_NAME})+"),
    ("percentage", r"\d+(?:\.\d+)?\s?%"),
    ("number", r"-?\d+(?:,\d{3})*(?:\.\d+)?"),
)
_SPECIFIC_VALUE = re.compile("|".join(rf"(?P<{kind}>(?<![\w{{])(?:{pattern})(?![\w}}]))" for kind, pattern in _KINDS))

_SENTENCE_START = re.compile(r"(?:\A|[.!?:\n])\s*\Z")
"""Start of a sentence, where a capital letter does not mark a name."""

_TYPES = {"number": "number", "amount": "number", "percentage": "number", "date": "date", "time": "time"}


class Generaliser:
    """A generaliser of texts. It replaces the specific values of a task by `{name}`, and records them as parameters.

    Values in tool calls are named after their arguments, with a number if several values share a name. Other values are
    recognised by form: dates, amounts, ids, quotations, numbers, and names of several words. Each of these kinds has
    one placeholder.
    """

    def __init__(self, steps: Iterable[Step] = (), *, keep: Container[str] = ()) -> None:
        """Collect the names of values in tool calls. Values of the kinds in `keep` are not replaced."""
        self._keep = keep
        self._argument_names: dict[str, str] = {}
        for step in steps:
            name_and_arguments = parse_call(step.action)
            arguments = _iterate_leaves("", name_and_arguments[1]) if name_and_arguments else ()
            for name, value in arguments:
                if _is_task_specific(value) and len(self._argument_names) < MAX_VALUES:
                    self._argument_names.setdefault(value, name)
        values = sorted(self._argument_names, key=len, reverse=True)
        self._argument_values = (
            re.compile("|".join(rf"(?<!\w){re.escape(value)}(?!\w)" for value in values)) if values else None
        )
        self._placeholder_names: dict[str, str] = {}
        self._examples: dict[str, tuple[str, str]] = {}

    def __call__(self, text: str) -> str:
        """Return a text with placeholders for specific values."""
        text = text[:TEXT_CHARACTERS]
        if self._argument_values is not None:
            text = self._argument_values.sub(
                lambda match: self._add_placeholder(self._placeholder_name(match[0]), "text", match[0]), text
            )
        return _SPECIFIC_VALUE.sub(self._replace_match, text)

    def parameters(self, *texts: str) -> tuple[dict[str, str], ...]:
        """Return `name`, `type` and `example` of each placeholder in the generalised texts, in order."""
        used_names = dict.fromkeys(re.findall(r"\{(\w+)\}", " ".join(texts)))
        return tuple(
            {"name": name, "type": self._examples[name][0], "example": self._examples[name][1]}
            for name in used_names
            if name in self._examples
        )

    def _placeholder_name(self, value: str) -> str:
        """Return the placeholder for a value in a tool call: the argument's name, numbered if it is taken."""
        if value not in self._placeholder_names:
            name = self._argument_names[value]
            same_name = [number for number in self._placeholder_names if self._argument_names[number] == name]
            self._placeholder_names[value] = f"{name}_{len(same_name) + 1}" if same_name else name
        return self._placeholder_names[value]

    def _replace_match(self, match: re.Match[str]) -> str:
        """Return the placeholder for a value that was recognised by its form, or the value if its kind is kept."""
        kind, value = str(match.lastgroup), match[0]
        if kind in self._keep:
            return value
        if kind == "name":
            first_word, _, remainder = value.partition(" ")
            if " " in remainder and _SENTENCE_START.search(match.string, 0, match.start()):
                return f"{first_word} {self._add_placeholder(kind, 'text', remainder)}"
        if kind == "quoted":
            return f"{value[0]}{self._add_placeholder('text', 'text', value[1:-1])}{value[-1]}"
        return self._add_placeholder(kind, _TYPES.get(kind, "text"), value)

    def _add_placeholder(self, name: str, parameter_type: str, value: str) -> str:
        """Return a placeholder such as `{date}`. The first value becomes the example of its parameter."""
        self._examples.setdefault(name, (parameter_type, value[:EXAMPLE_CHARACTERS]))
        return f"{{{name}}}"


def parse_call(action: str) -> tuple[str, dict[str, Any]] | None:
    """Return the name and arguments of an action of the form `name({…})`, or None for other actions."""
    match = _CALL.fullmatch(action.strip())
    if match is None:
        return None
    try:
        arguments = json.loads(match["arguments"])
    except (ValueError, RecursionError):
        return None
    return (match["name"], arguments) if isinstance(arguments, dict) else None


def _iterate_leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the strings in nested arguments, each preceded by the name of its innermost argument."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _iterate_leaves(key, item)
    elif isinstance(value, list):
        for item in value:
            yield from _iterate_leaves(name, item)
    elif isinstance(value, str):
        yield name, value


def _is_task_specific(value: str) -> bool:
    """Return whether a value is specific to a task, like an id, rather than from a fixed set, like `economy`."""
    is_short = MIN_VALUE_CHARACTERS <= len(value) <= MAX_VALUE_CHARACTERS
    return is_short and _INSTANCE.search(value) is not None and len(value.split()) <= 4
