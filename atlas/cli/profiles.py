"""The commands for ranking: profiles of weights, and the strictness of searches."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from atlas.cli.common import DRY_RUN_SENTENCE, add_command, add_part, open_or_connect, sanitise, undo_hint
from atlas.core.settings import RankingWeights, Settings
from atlas.memory.open import open_storage
from atlas.storage.profiles import Profile, Profiles, problem_in_use

if TYPE_CHECKING:
    from atlas.memory.base.strictness import StrictnessPlan

MAX_SHOWN = 10
"""Maximum number of changed queries printed without --all."""


def add_commands(commands: Any) -> None:
    """Declare the command `profiles`, with its parts, and `level`."""
    command = add_command(commands, "profiles", _list)
    parts = command.add_subparsers(metavar="ACT")
    add_part(parts, "list", _list, "list all profiles, with * before the one in use (the default)")
    save = add_part(parts, "save", _save, "save weights as a profile, replacing one of the same name")
    save.add_argument("name", help="one line of at most 60 characters")
    save.add_argument("--like", metavar="NAME", help="profile that gives the other weights (default: the one in use)")
    for option in fields(RankingWeights):
        flag = f"--{option.name.replace('_', '-')}"
        save.add_argument(flag, type=float, dest=option.name, metavar="X", help=f"weight (built in: {option.default})")
    use = add_part(parts, "use", _use, "make all searches of the store use a profile")
    use.add_argument("name", help="name of the profile; `default` is the built-in one")
    delete = add_part(parts, "delete", _delete, "delete a profile; if it was in use, the built-in one is used")
    delete.add_argument("name", help="name of the profile")
    command = add_command(commands, "level", _level)
    command.add_argument(
        "strictness",
        nargs="?",
        type=_parse_strictness,
        metavar="STRICTNESS",
        help="how many times the measured level: above 1 less is shown, at 0 all is; `calibrated` is 1",
    )
    command.add_argument("--dry-run", action="store_true", help="print the changes, and change nothing")
    command.add_argument("--all", action="store_true", help=f"print all queries that change, not {MAX_SHOWN}")


def _list(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, read_only=True, create=False) as storage:
        in_use = storage.profiles.in_use()
        for profile in storage.profiles.all():
            print(f"{'*' if profile.name == in_use.name else ' '} {_line(profile)}")
        if in_use.problem:
            print(sanitise(problem_in_use(in_use)))
    return 0


def _save(options: argparse.Namespace, settings: Settings) -> int:
    values = {option.name: getattr(options, option.name) for option in fields(RankingWeights)}
    with open_storage(settings=settings, create=False) as storage:
        profiles = storage.profiles
        weights = (profiles.get(options.like) if options.like else profiles.in_use()).weights
        profiles.save(options.name, replace(weights, **{name: x for name, x in values.items() if x is not None}))
        print(_line(profiles.get(options.name)))
    return 0


def _use(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        previous = storage.profiles.in_use().name
        storage.profiles.use(options.name)
        _print_in_use(storage.profiles, previous)
    return 0


def _delete(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        storage.profiles.delete(options.name)
        print(f"Deleted {sanitise(options.name)}. ", end="")
        _print_in_use(storage.profiles)
    return 0


def _print_in_use(profiles: Profiles, previous: str = "") -> None:
    suffix = f"; before it was {sanitise(previous)}" if previous else ""
    print(f"Searches use {sanitise(profiles.in_use().name)}{suffix}.")


def _line(profile: Profile) -> str:
    """Return a profile on one line, with its weights and the maximum that nudges can add to a rank."""
    if profile.problem:
        return f"{sanitise(profile.name)}: {sanitise(profile.problem)}"
    weights = ", ".join(
        f"{option.name} {getattr(profile.weights, option.name):g}" for option in fields(profile.weights)
    )
    return f"{sanitise(profile.name)}: {weights}; nudges add at most {profile.weights.nudges:g}"


def _parse_strictness(text: str) -> float:
    if text == "calibrated":
        return 1.0
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or calibrated, got {text!r:.80}") from None


def _level(options: argparse.Namespace, settings: Settings) -> int:
    is_change = options.strictness is not None and not options.dry_run
    with open_or_connect(settings, read_only=not is_change) as memory:
        current = memory.strictness()
        plan = memory.plan_strictness(current if options.strictness is None else options.strictness)
        _print_plan(plan, show_all=options.all)
        if options.dry_run:
            print(DRY_RUN_SENTENCE)
        elif plan.after != plan.before:
            print(f"Changed. {undo_hint(memory.apply_strictness(plan).id)}")
    return 0


def _print_plan(plan: StrictnessPlan, *, show_all: bool) -> None:
    """Print the effects of a change of strictness: tasks that lose their best record, costs, and changed queries."""
    # Imported here, because the other command does without.
    from atlas.views.evaluation.strictness import change_line, cost_lines, loss_sentences, plan_sentence

    max_rows = None if show_all else MAX_SHOWN
    print(sanitise(plan_sentence(plan)))
    if plan.after != plan.before:
        sentence, detail = loss_sentences(plan)
        print(sentence)
        for record in plan.lost[:max_rows]:
            print(f"  ! {record.id[:8]}  {sanitise(record.title)[:80]}")
        print(detail)
    for line in cost_lines(plan.costs):
        print(f"  {sanitise(line)}")
    for query in plan.changed[:max_rows]:
        print(f"  {sanitise(change_line(query))}")
    if len(plan.changed) > MAX_SHOWN and not show_all:
        print(f"  … and {len(plan.changed) - MAX_SHOWN} more (--all prints them)")
