"""The turns of a step: who spoke or acted, and in which form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.core.types import Step
from atlas.views.shared.texts import as_json, language_of
from atlas.views.trace.calls import Call, pieces
from atlas.views.trace.cost import NUMBERS
from atlas.views.trace.errors import ERROR_KEYS, contains_error, error_line, has_error
from atlas.views.trace.terminal import readable

USER, AGENT, TOOL, ENVIRONMENT = "user", "agent", "tool", "environment"
SPEECH, THOUGHT, CALL, CODE, OUTPUT, MORE = "speech", "thought", "call", "code", "output", "more"

SPEAKERS, SPAN = "observation_from", "span"
"""Keys of metadata in which importers name the speakers of an observation, and the span of a trace."""

_PEOPLE = ("user", "human", "customer")
_PRETTY_CHARACTERS = 20_000


_INDENTED = re.compile(
    r"^ {4,}(?:\w+(?:\[.*\])? [-+*/]?= \S|(?:if|for|while) .*:$|return\b|\w+(?:\.\w+)*\(.*\)$)", re.MULTILINE
)
LEAST_STATEMENTS = 2
"""Number of indented statements by which a text without a definition is taken for code, such as the body of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One bubble of a conversation. Its texts are untrusted, and readable."""

    role: str
    """`user`, `agent`, `tool` or `environment`."""

    speaker: str
    """`User`, `Agent`, `Environment`, or the name of a tool."""

    form: str
    """`speech`, `thought`, `call`, `code`, `output`, or `more` for metadata."""

    text: str = ""
    call: Call | None = None
    is_error: bool = False
    error_line: int = 0
    """Line of the text, from 0, that reports the error."""

    def contains(self, words: str) -> bool:
        """Return whether it contains a string, ignoring case."""
        arguments = self.call.arguments if self.call else ()
        texts = (self.text, self.speaker, *(text for argument in arguments for text in argument))
        return any(words.lower() in text.lower() for text in texts)


def is_run(steps: Sequence[Step]) -> bool:
    """Return whether steps are a run in an environment, which answers actions, and no chat with named speakers."""
    return any(step.observation.strip() for step in steps) and not any(SPEAKERS in step.metadata for step in steps)


def turns_of(step: Step, *, in_run: bool = False) -> tuple[Turn, ...]:
    """Return the turns of a step in their order.

    Args:
        in_run: Whether it is part of a run in an environment, where actions look alike with and without an answer.
    """
    turns = [*_agent(step, in_run), *_answers(step)]
    n_spoken = len(turns)
    more = as_json({name: value for name, value in step.metadata.items() if not _is_shown(name, value)})
    if more is not None:
        turns.append(Turn(role=ENVIRONMENT, speaker="Metadata", form=MORE, text=readable(more.whole)))
    if has_error(step) and turns and not any(turn.is_error for turn in turns):
        last = max(n_spoken, 1) - 1
        turns[last] = replace(turns[last], is_error=True)
    return tuple(turns)


def _is_shown(name: str, value: Any) -> bool:
    """Return whether the page shows a metadata value elsewhere: as a speaker, a mark or a part of the cost."""
    if name in (SPEAKERS, SPAN):
        return isinstance(value, str)
    return (name in ERROR_KEYS and isinstance(value, bool)) or (name in NUMBERS and isinstance(value, int | float))


def _agent(step: Step, in_run: bool) -> Iterator[Turn]:
    if step.thought.strip():
        yield Turn(role=AGENT, speaker="Agent", form=THOUGHT, text=readable(step.thought.strip()))
    parts = tuple(pieces(step.action))
    form = SPEECH if _is_speech(step, in_run) or (len(parts) > 1 and not in_run) else CODE
    for part in parts:
        if isinstance(part, Call):
            yield Turn(role=AGENT, speaker=readable(part.name), form=CALL, call=_readable_call(part))
        else:
            yield Turn(role=AGENT, speaker="Agent", form=form, text=readable(part))


def _readable_call(call: Call) -> Call:
    """Return a call with readable arguments. Its JSON is decoded first, because JSON has its own escapes."""
    return replace(call, arguments=tuple((readable(name), readable(value)) for name, value in call.arguments))


def _is_speech(step: Step, in_run: bool) -> bool:
    """Return whether an action without calls is a message. In a run, only a sentence without an answer is."""
    if SPEAKERS not in step.metadata and (step.observation.strip() or (in_run and not _is_sentence(step.action))):
        return False
    return not _is_code(step.action)


def _is_sentence(text: str) -> bool:
    """Return whether a text begins and ends like a sentence."""
    text = text.strip()
    return text[:1].isupper() and " " in text and text.endswith((".", "!", "?"))


def _is_code(text: str) -> bool:
    """Return whether a text is code: in a recognised language, or with several indented statements."""
    return language_of(text) is not None or len(_INDENTED.findall(text[:_PRETTY_CHARACTERS])) >= LEAST_STATEMENTS


def is_person(speaker: str) -> bool:
    """Return whether a speaker of an observation is a person, and not a tool."""
    return speaker.partition(" ")[0].lower() in _PEOPLE


def _answers(step: Step) -> Iterator[Turn]:
    named = step.metadata.get(SPEAKERS)
    speakers = [name.strip() for name in named.split(",")] if isinstance(named, str) else []
    for speaker, text in _split(step.observation, [name for name in speakers if name]):
        kind, _, tool = speaker.partition(" ")
        if is_person(speaker):
            yield Turn(role=USER, speaker="User", form=SPEECH, text=readable(text))
            continue
        output = readable(_pretty(text))
        is_tool = kind.lower() in ("tool", "function")
        yield Turn(
            role=TOOL if is_tool else ENVIRONMENT,
            speaker=tool or kind.capitalize() or "Environment",
            form=OUTPUT,
            text=output,
            is_error=contains_error(text),
            error_line=error_line(output),
        )


def _split(observation: str, speakers: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the answers that importers joined as `[speaker] text`, each with its speaker, `tool search` or `user`."""
    if not observation.strip():
        return
    mark = re.compile(rf"(?:^|(?<=\n\n))\[({'|'.join(map(re.escape, speakers))})\] ") if speakers else None
    if mark is None or not mark.match(observation):
        yield " ".join(speakers[:1]), observation.strip()
        return
    _, *parts = mark.split(observation)
    yield from ((speaker, text.strip()) for speaker, text in zip(parts[::2], parts[1::2], strict=True))


def _pretty(text: str) -> str:
    """Return JSON indented, and any other text unchanged."""
    stripped = text.strip()
    if stripped[:1] not in ("{", "[") or len(stripped) > _PRETTY_CHARACTERS or "\n" in stripped:
        return text
    try:
        return json.dumps(json.loads(stripped), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def note_of(metadata: Mapping[str, Any]) -> str:
    """Return the name of a step's span in its trace, or an empty string."""
    span = metadata.get(SPAN)
    return readable(span) if isinstance(span, str) else ""
