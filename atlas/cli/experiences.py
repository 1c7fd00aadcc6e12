"""The commands that search, and the commands that print, tag, prune and merge experiences."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from atlas.cli.common import (
    DRY_RUN_SENTENCE,
    add_command,
    add_filter_options,
    experience_line,
    full_ids,
    open_local,
    open_or_connect,
    parse_count,
    parse_limit,
    print_loss,
    print_notes,
    print_plan,
    print_secret_counts,
    requested_filter,
    sanitise,
    undo_hint,
)
from atlas.core.errors import InvalidInput, NotFound
from atlas.core.hits import Hit
from atlas.core.settings import Settings
from atlas.core.types import Experience
from atlas.infra.secrets import counting_secrets
from atlas.memory.base.ranking import explain
from atlas.memory.context.block import BUDGET_TOKENS, DEFAULT_K, omission_line, query_task
from atlas.memory.loss import reason_with_loss
from atlas.memory.system import MemorySystem
from atlas.views.experience.profiles import profile_problems
from atlas.views.shared.wording import attempts_text, hidden_text


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    _add_search(commands)
    _add_context(commands)
    _add_similar(commands)
    command = add_command(commands, "show", _show)
    command.add_argument("id", help="its id, or a prefix of the id")
    _add_tag(commands)
    _add_prune(commands)
    command = add_command(commands, "merge", _merge)
    command.add_argument("ids", nargs="+", metavar="ID", help="two or more ids, or prefixes of ids")
    command.add_argument("--dry-run", action="store_true", help="print the merged experience, and change nothing")


def _add_search(commands: Any) -> None:
    command = add_command(commands, "search", _search)
    command.add_argument("text", help="the task")
    command.add_argument("-k", type=parse_limit, default=4, help="number of hits (default: 4)")
    command.add_argument("--words", action="store_true", help="search by keywords only")
    add_filter_options(command, 'search only records that pass a filter, such as {"outcome": "failed"}')
    command.add_argument("--all", action="store_true", help="include hits of little or no relevance")
    command.add_argument(
        "--distinct", action="store_true", help="print only the best of similar attempts at the same task"
    )
    command.add_argument(
        "--diverse",
        type=float,
        default=0.0,
        metavar="X",
        help="prefer hits that differ from each other, from 0 (off) to below 1",
    )


def _add_context(commands: Any) -> None:
    command = add_command(commands, "context", _context)
    command.add_argument("text", help="the task")
    command.add_argument(
        "--budget", type=int, default=BUDGET_TOKENS, metavar="N", help=f"maximum tokens (default: {BUDGET_TOKENS})"
    )
    command.add_argument(
        "-k", type=parse_limit, default=DEFAULT_K, help=f"hits of each memory to choose from (default: {DEFAULT_K})"
    )
    command.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="name of a tool that the agent has; may be repeated. Code that needs other tools comes last",
    )
    add_filter_options(command, 'choose only from what passes a filter, like {"created_at": {"$gte": "2026-11-01"}}')
    command.add_argument(
        "--min-trust",
        default="",
        metavar="CLASS",
        help="least origin of a record, which is then named: untrusted, imported, agent, reviewed or person",
    )
    command.add_argument(
        "--examples",
        default="",
        metavar="FORM",
        help="print successful attempts alone, each in a form with {task} and {answer}, the best one last",
    )
    command.add_argument("--json", action="store_true", help="print all fields as JSON, not the text alone")


def _add_similar(commands: Any) -> None:
    command = add_command(commands, "similar", _similar)
    command.add_argument("id", help="its id, or a prefix of the id")
    command.add_argument("-k", type=parse_limit, default=4, help="number of hits (default: 4)")
    add_filter_options(command, "search only records that pass a filter")
    command.add_argument(
        "--threshold", type=float, default=0.0, metavar="X", help="lowest relevance of a hit, 0 to 1 (default: 0)"
    )


def _add_tag(commands: Any) -> None:
    command = add_command(commands, "tag", _tag)
    command.add_argument("ids", nargs="+", metavar="ID", help="ids, or prefixes of ids")
    command.add_argument("--add", action="append", default=[], metavar="TAG", help="tag to add; may be repeated")
    command.add_argument("--remove", action="append", default=[], metavar="TAG", help="tag to remove; may be repeated")
    on_or_off = argparse.BooleanOptionalAction
    command.add_argument("--pin", dest="pinned", action=on_or_off, help="protect from pruning, or stop protecting")
    command.add_argument("--bury", dest="buried", action=on_or_off, help="hide from searches, or show again")
    command.add_argument("--note", help="new text of the note; an empty one removes the note")


def _add_prune(commands: Any) -> None:
    command = add_command(commands, "prune", _prune)
    command.add_argument("--tag", metavar="NAME", help="delete only experiences with this tag; alone, all of them")
    command.add_argument("--min-success-rate", type=float, metavar="RATE", help="lowest success rate to keep, 0 to 1")
    command.add_argument("--max-age-days", type=float, metavar="DAYS", help="delete attempts older than this")
    command.add_argument(
        "--never-retrieved-days",
        type=float,
        metavar="DAYS",
        help="delete experiences that no search has returned for this long",
    )
    command.add_argument("--max-count", type=parse_count, metavar="N", help="maximum number of experiences to keep")
    command.add_argument(
        "--keep-diverse", action="store_true", help="keep the best of each group of similar experiences"
    )
    command.add_argument(
        "--keep", action="append", default=[], metavar="ID", help="an experience to keep; may be repeated"
    )
    command.add_argument("--dry-run", action="store_true", help="print the records to delete, and change nothing")
    command.add_argument("--all", action="store_true", help="print every deleted experience, not only the first ten")


def _search(options: argparse.Namespace, settings: Settings) -> int:
    with open_or_connect(settings) as memory:
        if options.words:
            _reject_unsupported(options)
            retrieval = memory.experience.retrieve_words(
                options.text, options.k, where=requested_filter(options), threshold=0.0
            )
            print("\n".join(experience_line(hit.item) for hit in retrieval.hits) or "nothing found")
            print_notes(retrieval.notes)
            return 0
        retrieval = memory.experience.retrieve(
            options.text,
            options.k,
            where=requested_filter(options),
            threshold=0.0 if options.all else None,
            distinct=options.distinct,
            diversity=options.diverse,
        )
        for hit in retrieval.hits:
            print("\n    ".join(_hit_lines(hit)))
        hidden = hidden_text(retrieval.n_hidden, n_shown=len(retrieval.hits), most=options.k)
        empty_text = "" if retrieval.hits else "nothing relevant found"
        for note in (
            *(profile_problems(memory) if isinstance(memory, MemorySystem) else ()),
            *retrieval.problems,
            *retrieval.notes,
            "; ".join(filter(None, (empty_text, hidden and f"{hidden}, --all shows them"))),
        ):
            if note:
                print(note, file=sys.stderr)
    return 0


def _context(options: argparse.Namespace, settings: Settings) -> int:
    with open_or_connect(settings) as memory:
        block = memory.build_context(
            query_task(options.text, tools=options.tool),
            options.budget,
            options.k,
            where=requested_filter(options),
            min_trust=options.min_trust,
            examples=options.examples,
        )
    if options.json:
        print(json.dumps(asdict(block), ensure_ascii=False, indent=1))
        return 0
    if block.text:
        print(block.text)
    left_out = [f"left out: {sanitise(omission_line(omission))}" for omission in block.omitted]
    problems = [f"{name} failed: {sanitise(message)}" for name, message in block.errors.items()]
    if not block.text:
        print("nothing fits" if block.n_left_out else "nothing relevant found", file=sys.stderr)
    for sentence in (*left_out, *problems):
        print(sentence, file=sys.stderr)
    return 0


def _reject_unsupported(options: argparse.Namespace) -> None:
    """Reject options of the relevance search that a keyword search does not support."""
    unsupported = [f"--{name}" for name in ("all", "distinct", "diverse") if getattr(options, name)]
    if unsupported:
        raise InvalidInput(
            f"--words cannot be combined with {' or '.join(unsupported)}, as it lists all records with any of the "
            "words; omit one of them"
        )


def _hit_lines(hit: Hit[Experience]) -> list[str]:
    """Return a hit as lines of text: the experience, the similar attempts that it stands for, and the ranking."""
    signals = "  ".join(f"{name} {value:+.3f}" for name, value in hit.signals.items())
    ranking = f"rank value {hit.rank_value:.3f} = {signals}"
    return [text for text in (experience_line(hit.item), attempts_text(hit.outcomes), explain(hit), ranking) if text]


def _similar(options: argparse.Namespace, settings: Settings) -> int:
    with open_or_connect(settings) as memory:
        if settings.server:
            record_id = _full_id_on_server(memory, options.id)
        else:
            [record_id] = full_ids(memory, memory.experience, [options.id])
        hits = memory.experience.similar(
            record_id, options.k, where=requested_filter(options), threshold=options.threshold
        )
        print("\n".join(f"{experience_line(hit.item)}  {hit.relevance:.2f}" for hit in hits) or "nothing found")
    return 0


def _full_id_on_server(memory: MemorySystem, prefix: str) -> str:
    """Return the one id on a server that begins with a prefix."""
    ids = [record_id for record_id in memory.experience.ids() if record_id.startswith(prefix)]
    if len(ids) != 1:
        raise NotFound(
            f"{'no' if not ids else 'more than one'} experience has an id that begins with {prefix!r}; "
            "copy an id from a list or a search"
        )
    return ids[0]


def _show(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        experience = memory.experience.get(full_ids(memory, memory.experience, [options.id])[0])
        if experience is not None:
            print(_format_experience(experience))
    return 0


def _format_experience(experience: Experience) -> str:
    head = {
        "id": experience.id,
        "task": experience.task.description,
        "outcome": experience.outcome.label,
        "agent": experience.agent_id,
        "when": experience.created_at.isoformat(timespec="seconds"),
        "context": json.dumps(dict(experience.task.context), ensure_ascii=False) if experience.task.context else "",
    }
    parts = [f"{name}: {sanitise(value, keep_lines=True)}" for name, value in head.items() if value]
    for number, step in enumerate(experience.steps, 1):
        parts.append(f"\n--- step {number}")
        step_fields = (("thought", step.thought), ("action", step.action), ("observation", step.observation))
        parts += [f"{name}: {sanitise(text, keep_lines=True)}" for name, text in step_fields if text]
    for name, text in (("solution", experience.solution_output), ("feedback", experience.feedback)):
        if text:
            parts.append(f"\n--- {name}\n{sanitise(text, keep_lines=True)}")
    return "\n".join(parts)


def _tag(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings) as memory:
        ids = full_ids(memory, memory.experience, options.ids)
        loss = memory.curation_loss("experience", dict.fromkeys(ids, "")) if options.buried else None
        scoped = memory.experience.as_operation("mark", reason_with_loss("", loss))
        with counting_secrets() as secret_counts:
            n_changed = scoped.change_marks(
                ids,
                add_tags=options.add,
                remove_tags=options.remove,
                pinned=options.pinned,
                buried=options.buried,
                note=options.note,
            )
        print(f"Changed {n_changed}. {undo_hint(scoped.operation_id if n_changed else None)}".rstrip())
        if loss is not None:
            print_loss(loss)
        print_secret_counts(secret_counts)
    return 0


def _prune(options: argparse.Namespace, settings: Settings) -> int:
    from atlas.views.experience.plan_views import prune_plan_view  # not needed for a search

    names = ("min_success_rate", "max_age_days", "never_retrieved_days", "max_count", "keep_diverse", "tag")
    criteria = {name: getattr(options, name) for name in names}
    with open_local(settings, read_only=options.dry_run) as memory:
        kept_ids = full_ids(memory, memory.experience, options.keep)
        plan = memory.with_loss(memory.experience.plan_prune(criteria, keep=kept_ids))
        print_plan(prune_plan_view(plan), show_all=options.all)
        if options.dry_run:
            print(DRY_RUN_SENTENCE)
        elif plan.removals:
            scoped = memory.experience.as_operation("prune", plan.reason)
            n_removed = scoped.apply_prune(plan)
            print(f"Deleted {n_removed}. To bring them back: atlas undo {str(scoped.operation_id)[:8]}")
    return 0


def _merge(options: argparse.Namespace, settings: Settings) -> int:
    from atlas.views.experience.plan_views import merge_plan_view  # not needed for a search

    with open_local(settings, read_only=options.dry_run) as memory:
        plan = memory.with_loss(memory.experience.plan_merge([full_ids(memory, memory.experience, options.ids)]))
        print_plan(merge_plan_view(plan), show_all=True)
        if options.dry_run:
            print(DRY_RUN_SENTENCE)
            return 0
        scoped = memory.experience.as_operation("merge", plan.reason)
        [merged] = scoped.apply_merge(plan)
        print(f"Merged into {merged.id[:8]}. To undo it: atlas undo {str(scoped.operation_id)[:8]}")
    return 0
