"""The part of `atlas journal` that plans and applies a compaction."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from atlas.cli.common import (
    LINE_CHARACTERS,
    MAX_SHOWN,
    add_part,
    changes_sentence,
    open_local,
    parse_count,
    print_loss,
    progress_bar,
    sanitise,
)
from atlas.cli.llm import interactive_model
from atlas.core.errors import NotFound
from atlas.core.settings import Settings
from atlas.jobs.artefact import CACHE
from atlas.jobs.compaction import plan_now
from atlas.jobs.compaction_file import CompactionFile
from atlas.memory.journal import COLLECTION, CompactPlan, Eviction, Move, RetentionPolicy, SummaryDraft
from atlas.memory.system import MemorySystem
from atlas.views.journal.forgetting import matches_policy


def add_command(parts: Any) -> None:
    """Declare the part `compact`."""
    command = add_part(parts, "compact", _compact, "plan which entries to forget, or do it with --apply")
    command.add_argument(
        "--keep-recent",
        type=parse_count,
        default=200,
        metavar="N",
        help="number of latest entries to keep (default: 200)",
    )
    command.add_argument(
        "--keep",
        action="append",
        default=[],
        type=_parse_type_and_number,
        metavar="TYPE=N",
        help="also keep the latest N entries of a type",
    )
    command.add_argument(
        "--max-entries",
        type=parse_count,
        metavar="N",
        help="delete the least valuable entries beyond N; entries that people use are deleted last (default: no cap)",
    )
    command.add_argument("--apply", action="store_true", help="apply the plan; `atlas undo` takes it back")
    command.add_argument(
        "--all", action="store_true", help="print every entry that would move or go, not only the first ten of each"
    )
    command.add_argument(
        "--with-model", action="store_true", help="let a language model write the summaries; needs ANTHROPIC_API_KEY"
    )


def _compact(options: argparse.Namespace, settings: Settings) -> int:
    with open_local(settings, read_only=not options.apply) as memory:
        file = CompactionFile(memory.storage.path.resolve() / CACHE, COLLECTION).with_shared_state(
            memory.storage.ledger.shared
        )
        plan = _stored_plan(file, options) if options.apply else None
        if plan is None:
            plan = memory.with_loss(_plan_compaction(memory, options, settings))
        _print_plan(plan, show_all=options.all)
        if plan.loss is not None and plan.loss.n_removed:
            print_loss(plan.loss)
        if plan.spent:
            print(f"A language model was asked for it: {plan.spent}.")
        if not options.apply:
            return _save_plan(plan, file, settings)
        if plan.is_empty:
            return 0
        operation_id = memory.journal.apply_compact(plan)
        print(f"Done.{changes_sentence(memory, operation_id)}")
    return 0


def _stored_plan(file: CompactionFile, options: argparse.Namespace) -> CompactPlan | None:
    """Return the stored plan of a language model, so that the model is not called again.

    None if there is no plan, or if it was made with other limits.

    Raises:
        NotFound: A model's plan was requested, but there is none.
    """
    plan = file.load()
    policy = RetentionPolicy(
        keep_recent=options.keep_recent, keep_types=dict(options.keep), max_entries=options.max_entries
    )
    if plan is not None and plan.spent and matches_policy(plan, policy):
        return plan
    if options.with_model:
        raise NotFound(
            "there is no plan of a language model with these limits; make and review one first: atlas journal "
            "compact --with-model"
        )
    return None


def _plan_compaction(memory: MemorySystem, options: argparse.Namespace, settings: Settings) -> CompactPlan:
    memory.journal.llm = interactive_model(settings) if options.with_model else None
    with progress_bar(desc="planning", leave=False) as on_progress:
        return plan_now(
            memory,
            options.keep_recent,
            dict(options.keep),
            max_entries=options.max_entries,
            on_progress=lambda done, total, message: on_progress(done, total),
        )


def _save_plan(plan: CompactPlan, file: CompactionFile, settings: Settings) -> int:
    if settings.read_only:
        print("Nothing was changed, and the plan was not stored: the store is read-only.")
        return 0
    file.save(plan)
    if not plan.is_empty:
        exactly = " exactly this" if plan.spent else " it"
        print(f"Nothing was changed. To do{exactly}: atlas journal compact --apply")
    return 0


def _print_plan(plan: CompactPlan, *, show_all: bool) -> None:
    tiers = ", ".join(f"{n} to {tier}" for tier, n in plan.tiers.items() if n)
    moving = f"Entries that would move: {len(plan.moves):,} of {plan.n_total:,}{f' ({tiers})' if tiers else ''}."
    print(f"{moving} Summaries that would be written: {len(plan.summaries):,}.")
    if plan.max_entries:
        print(f"Entries that would be deleted to keep at most {plan.max_entries:,}: {len(plan.evictions):,}.")
    if plan.cap_problem:
        print(plan.cap_problem)
    for reason, n in plan.kept.items():
        print(f"  {n} stay: {sanitise(reason)}")
    _print_changes([(move, f"{move.from_tier} → {move.to_tier}") for move in plan.moves], show_all=show_all)
    _print_changes([(eviction, f"{eviction.tier} → deleted") for eviction in plan.evictions], show_all=show_all)
    for draft in plan.summaries:
        print(_draft_text(draft))
    for problem in plan.problems:
        print(f"not by the language model: {sanitise(problem)}", file=sys.stderr)


def _print_changes(changes: Sequence[tuple[Move | Eviction, str]], *, show_all: bool) -> None:
    shown_changes = changes if show_all else changes[:MAX_SHOWN]
    for change, tiers in shown_changes:
        details = f"{tiers}  {sanitise(change.title)[:60]}  ({sanitise(change.reason)})"
        print(f"  {change.id[:8]}  {sanitise(change.entry_type)} {change.generation}  {details}")
    if len(shown_changes) < len(changes):
        print(f"  … and {len(changes) - len(shown_changes)} more (--all prints them)")


def _draft_text(draft: SummaryDraft) -> str:
    author = "sentences of its entries" if draft.written_by == "extraction" else sanitise(draft.written_by)
    lines = sanitise(draft.content, keep_lines=True).splitlines()
    return "\n".join(["", f"summary, by {author}:", *(f"  {line[:LINE_CHARACTERS]}" for line in lines)])


def _parse_type_and_number(text: str) -> tuple[str, int]:
    """Parse a type and a number such as `task=50`."""
    name, separator, number = text.partition("=")
    if not separator or not name or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"expected TYPE=NUMBER such as task=50, got {text!r}")
    return name, int(number)
