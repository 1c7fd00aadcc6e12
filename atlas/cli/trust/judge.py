"""The command that sets outcomes of attempts, one by one or by a rule."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from atlas.cli.common import (
    DRY_RUN_SENTENCE,
    add_command,
    add_filter_options,
    experience_line,
    full_ids,
    open_local,
    requested_filter,
    sanitise,
    undo_hint,
)
from atlas.core.errors import InvalidInput
from atlas.core.settings import Settings
from atlas.core.types import Experience
from atlas.memory.system import MemorySystem
from atlas.views.shared.wording import counted

BATCH = 200
"""Number of attempts that are read at once."""

MAX_SHOWN_CHARACTERS = 600
"""Characters of each part of an attempt's end that a person sees."""

ANSWERS = {"s": True, "f": False}


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "judge", _judge)
    command.add_argument("ids", nargs="*", metavar="ID", help="experiences (default: all of unknown outcome)")
    add_filter_options(command, 'judge only experiences that pass a filter, such as {"source": "codex"}')
    command.add_argument(
        "--matching",
        type=_parse_pattern,
        metavar="REGEX",
        help="judge only experiences whose last step, answer or error contains this regular expression",
    )
    verdict = command.add_mutually_exclusive_group()
    verdict.add_argument(
        "--succeeded", dest="success", action="store_true", default=None, help="all of these succeeded"
    )
    verdict.add_argument("--failed", dest="success", action="store_false", help="all of these failed")
    command.add_argument("--dry-run", action="store_true", help="print what would be judged, and change nothing")


def _parse_pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression, got {text!r:.80}: {error}") from error


def _judge(options: argparse.Namespace, settings: Settings) -> int:
    is_limited = options.ids or options.where or options.scope or options.matching
    if options.success is not None and not is_limited:
        raise InvalidInput("--succeeded and --failed need ids, --where, --scope or --matching; add one of them")
    if options.success is None and not options.dry_run and not sys.stdin.isatty():
        raise InvalidInput("judging one by one needs a terminal, but there is none; add --succeeded or --failed")
    with open_local(settings, read_only=options.dry_run) as memory:
        experiences = _select_experiences(memory, options)
        if options.success is None and not options.dry_run:
            outcomes, reason = _ask_each(experiences), "judged one by one"
        else:
            outcomes, reason = _judge_by_rule(experiences, options.success), "judged by a rule"
        if options.dry_run or not outcomes:
            print(DRY_RUN_SENTENCE if options.dry_run else "No outcome was changed.")
            return 0
        scoped = memory.experience.as_operation("outcome", reason)
        n_changed = scoped.report_outcomes(outcomes)
    print(f"Judged {counted(n_changed, 'experience')}. {undo_hint(scoped.operation_id)}")
    return 0


def _select_experiences(memory: MemorySystem, options: argparse.Namespace) -> Iterator[Experience]:
    """Yield the experiences to judge, newest first."""
    where = {"$and": [{} if options.ids else {"outcome": "unknown"}, requested_filter(options) or {}]}
    ids = memory.experience.ids(where)[::-1]
    if options.ids:
        selected = set(full_ids(memory, memory.experience, options.ids))
        ids = [record_id for record_id in ids if record_id in selected]
    for start in range(0, len(ids), BATCH):
        for experience in memory.experience.get_many(ids[start : start + BATCH]):
            texts = _judged_parts(experience).values()
            if options.matching is None or any(map(options.matching.search, texts)):
                yield experience


def _judged_parts(experience: Experience) -> Mapping[str, str]:
    """Return the texts from which a person judges an attempt, keyed by label. Empty texts are left out."""
    last = experience.steps[-1:]
    parts = {
        "did": "\n".join(step.action for step in last),
        "saw": "\n".join(step.observation for step in last),
        "answer": experience.solution_output or "",
        "error": experience.outcome.error_info or "",
    }
    return {name: text for name, text in parts.items() if text.strip()}


def _judge_by_rule(experiences: Iterator[Experience], success: bool | None) -> dict[str, bool | None]:
    outcomes: dict[str, bool | None] = {}
    for experience in experiences:
        print(experience_line(experience))
        outcomes[experience.id] = success
    print(f"{counted(len(outcomes), 'experience')}.")
    return outcomes


def _ask_each(experiences: Iterator[Experience]) -> dict[str, bool | None]:
    """Ask for the outcome of each experience, until there are no more or the person quits."""
    outcomes: dict[str, bool | None] = {}
    for experience in experiences:
        print(experience_line(experience))
        for name, text in _judged_parts(experience).items():
            print(f"  {name}: {sanitise(text[-MAX_SHOWN_CHARACTERS:], keep_lines=True)}")
        print("[s]ucceeded, [f]ailed, Enter to skip, [q]uit: ", end="", flush=True)
        answer = sys.stdin.readline()
        if not answer or answer.strip().lower() in ("q", "quit"):
            break
        if (letter := answer.strip().lower()[:1]) in ANSWERS:
            outcomes[experience.id] = ANSWERS[letter]
    return outcomes
