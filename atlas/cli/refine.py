"""The command that refines a store: it makes and stores a plan, and applies it with `--apply`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from atlas.cli.common import add_command, open_local, parse_count, print_plan, progress_bar, sanitise, undo_hint
from atlas.cli.llm import interactive_model
from atlas.core.errors import InvalidInput, LLMUnavailable, NotFound
from atlas.core.settings import Settings
from atlas.jobs.artefact import CACHE
from atlas.jobs.refinement import MAX_EXPERIENCES, RefinementFile, plan_now
from atlas.llm.client import ModelClient, is_configured
from atlas.memory.experience.memory import COLLECTION
from atlas.memory.experience.refinement.plan import RefinePlan
from atlas.memory.system import MemorySystem
from atlas.views.experience.plan_views import refine_plan_view
from atlas.views.experience.refinement import headline, made_caption, notes


def add_commands(commands: Any) -> None:
    """Declare the command."""
    command = add_command(commands, "refine", _refine)
    command.add_argument("--apply", action="store_true", help="apply the latest plan, exactly")
    command.add_argument(
        "--limit",
        type=parse_count,
        default=MAX_EXPERIENCES,
        metavar="N",
        help=f"judge only the newest N experiences (default: {MAX_EXPERIENCES})",
    )
    command.add_argument(
        "--outcome", choices=("succeeded", "failed", "unknown"), help="judge only experiences with this outcome"
    )
    command.add_argument("--source", metavar="NAME", help="judge only experiences from this source")
    command.add_argument(
        "--no-model", action="store_true", help="judge by rules, even if ANTHROPIC_API_KEY gives a language model"
    )
    command.add_argument(
        "--all", action="store_true", help="print every experience that would be removed, not only the first ten"
    )


def _refine(options: argparse.Namespace, settings: Settings) -> int:
    if not options.limit:
        raise InvalidInput(f"expected at least 1 for --limit, got {options.limit}")
    with open_local(settings) as memory:
        file = RefinementFile(memory.storage.path.resolve() / CACHE, COLLECTION).with_shared_state(
            memory.storage.ledger.shared
        )
        return _apply(memory, file) if options.apply else _plan(memory, file, options, settings)


def _plan(memory: MemorySystem, file: RefinementFile, options: argparse.Namespace, settings: Settings) -> int:
    llm = None if options.no_model else _model(settings)
    filters = {"outcome": options.outcome, "source": options.source}
    where = {name: value for name, value in filters.items() if value is not None}
    with progress_bar(desc="refining", leave=False) as on_progress:
        new_plan = plan_now(
            memory,
            where,
            max_experiences=options.limit,
            llm=llm,
            on_progress=lambda done, total, message: on_progress(done, total),
        )
    plan = memory.with_loss(new_plan)
    for text in (headline(plan), made_caption(plan), *notes(plan), *plan.failures):
        print(sanitise(text))
    print_plan(refine_plan_view(plan), show_all=options.all, with_head=False)
    if memory.storage.read_only:
        print("Nothing was changed, and the plan was not stored: the store is read-only.")
        return 0
    file.save(plan)
    if plan.removed_ids:
        print("Nothing was changed. To do exactly this: atlas refine --apply")
    return 0


def _apply(memory: MemorySystem, file: RefinementFile) -> int:
    plan: RefinePlan | None = file.load()
    if plan is None:
        raise NotFound("there is no plan to apply; make one first: atlas refine")
    scoped = memory.experience.as_operation("refine", plan.reason)
    if not scoped.apply_refine(plan):
        print("The plan changes nothing.")
        return 0
    sentence = f"Merged {len(plan.merged)} into others and dropped {len(plan.dropped)}."
    print(sentence, undo_hint(scoped.operation_id))
    return 0


def _model(settings: Settings) -> ModelClient | None:
    """Return the configured language model, or None if there is none. The plan reports that."""
    try:
        return interactive_model(settings)
    except LLMUnavailable as error:
        if is_configured(settings):  # so its package is missing
            print(f"refining without a language model: {error}", file=sys.stderr)
        return None
