"""Commands that bring attempts in and look at what is there."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from atlas.cli.common import add_command, count, full_ids, line, opened, progress_bar, safe
from atlas.core.errors import InvalidInput
from atlas.core.hits import Hit
from atlas.core.settings import Settings
from atlas.core.types import Experience
from atlas.importers.registry import FORMATS
from atlas.importers.run import ImportReport, import_paths
from atlas.importers.sample import is_new, load_sample
from atlas.importers.sink import MemorySink
from atlas.memory.base.ranking import explain
from atlas.views.experience.finding import profile_problems
from atlas.views.shared.wording import attempts_text, counted, hidden_text, in_words


def add_commands(commands: Any) -> None:
    """Declare them."""
    command = add_command(commands, "init", _init, "create the store and say which embedding model it uses")
    command.add_argument("--sample", type=Path, metavar="DIR", help="fill it with this sample data if it is new")
    command = add_command(commands, "import", _import, "import agent runs; importing twice adds nothing")
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or directories of them")
    command.add_argument("--format", default="auto", choices=["auto", *FORMATS])
    command.add_argument("--strict", action="store_true", help="stop at the first row that is refused")
    command = add_command(commands, "search", _search, "find experiences for a task")
    command.add_argument("text")
    command.add_argument("-k", type=count, default=4, help="how many (default: 4)")
    command.add_argument("--words", action="store_true", help="by the words alone")
    command.add_argument("--all", action="store_true", help="also what has little or nothing to do with it")
    command.add_argument("--distinct", action="store_true", help="attempts at one task that are alike as one, the best")
    command.add_argument("--diverse", type=float, default=0.0, metavar="X", help="from 0 to below 1: fewer hits alike")
    command = add_command(commands, "show", _show, "print one experience, step by step")
    command.add_argument("id", help="its id, or a beginning of it")
    add_command(commands, "status", _status, "what the store holds")


def _init(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, create=True) as memory:
        if options.sample and is_new(memory) and not memory.storage.read_only:
            n_added = load_sample(memory, options.sample, settings).added
            print(f"added {n_added} experiences of sample data; the overview removes them with one click")
        model = memory.storage.model
        print(
            f"{memory.storage.path}: {len(memory.experience)} experiences, "
            f"embedding model {model.name if model else 'not chosen'}"
        )
    return 0


def _import(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, create=True) as memory:
        sink = MemorySink(memory, f"imported {', '.join(safe(path.name) for path in options.paths)}")
        with progress_bar(unit="B", unit_scale=True, desc="importing") as on_progress:
            report = import_paths(
                sink,
                options.paths,
                format=options.format,
                strict=options.strict,
                settings=settings,
                on_progress=on_progress,
            )
        _print_report(report, sink.operation_id if report.added else None)
    return 0 if report.read or not report.rejected else 1


def _search(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings) as memory:
        if options.words:
            _refuse_unheard(options)
            held = memory.experience.search_words(options.text, options.k)
            print("\n".join(map(line, held)) or "nothing found")
            return 0
        found = memory.experience.retrieve(
            options.text,
            options.k,
            threshold=0.0 if options.all else None,
            distinct=options.distinct,
            diversity=options.diverse,
        )
        for hit in found.hits:
            print("\n    ".join(_said_of(hit)))
        hidden = hidden_text(found.n_hidden, n_shown=len(found.hits), most=options.k)
        nothing = "" if found.hits else "nothing relevant found"
        for said in (
            *profile_problems(memory),
            *found.problems,
            "; ".join(filter(None, (nothing, hidden and f"{hidden}, --all shows them"))),
        ):
            if said:
                print(said, file=sys.stderr)
    return 0


def _refuse_unheard(options: argparse.Namespace) -> None:
    """A search by words alone finds whatever holds one, and knows neither relevance nor who is alike."""
    unheard = [f"--{name}" for name in ("all", "distinct", "diverse") if getattr(options, name)]
    if unheard:
        raise InvalidInput(
            f"a search by --words has no {' and no '.join(unheard)}: it lists what holds any word, most telling first; "
            "leave one of the two out"
        )


def _said_of(hit: Hit[Experience]) -> list[str]:
    """A hit in lines: what it is, for how many attempts it stands if for several, and why it stands where it does."""
    signals = "  ".join(f"{name} {value:+.3f}" for name, value in hit.signals.items())
    attempts = attempts_text(hit.outcomes)
    return [
        line(hit.item),
        *([attempts] if attempts else []),
        explain(hit),
        f"rank value {hit.rank_value:.3f} = {signals}",
    ]


def _show(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=True) as memory:
        experience = memory.experience.get(full_ids(memory, [options.id])[0])
        if experience is not None:
            print(_whole(experience))
    return 0


def _status(options: argparse.Namespace, settings: Settings) -> int:
    with opened(settings, read_only=True) as memory:
        model = memory.storage.model
        print(f"store            {memory.storage.path}")
        print(f"embedding model  {f'{model.name}, {model.dimension} dimensions' if model else 'none yet'}")
        print(f"concepts         {len(memory.concepts)}")
        print(f"strategies       {len(memory.strategies)}")
        print(f"experiences      {len(memory.experience)}")
        print(f"journal entries  {len(memory.journal)}")
        for key in ("outcome", "source"):
            for value, count in memory.experience.values(key).items():
                print(f"  {key:14} {safe(str(value))}: {count}")
    return 0


def _print_report(report: ImportReport, operation_id: str | None) -> None:
    for rejection in report.rejections:
        print(f"rejected: {rejection}", file=sys.stderr)
    is_mixed = report.added_concepts or report.added_entries or report.added_strategies
    of_what = f" ({_of_what(report)})" if is_mixed else ""
    print(
        f"{report.read} read, {report.added} added{of_what}, {report.skipped} skipped as duplicates, "
        f"{report.rejected} rejected"
    )
    if report.purged:
        print(f"{report.purged} of those skipped had been purged here, and are not taken again")
    if operation_id:
        print(f"To take it back: atlas undo {operation_id[:8]}")


def _of_what(report: ImportReport) -> str:
    """`51 concepts`, or `3 experiences and 51 concepts`."""
    n_attempts = report.added - report.added_concepts - report.added_entries - report.added_strategies
    named = {
        "experience": n_attempts,
        "concept": report.added_concepts,
        "journal line": report.added_entries,
        "strategy": report.added_strategies,
    }
    return in_words([counted(n, noun) for noun, n in named.items() if n])


def _whole(experience: Experience) -> str:
    head = {
        "id": experience.id,
        "task": experience.task.description,
        "outcome": experience.outcome.label,
        "agent": experience.agent_id,
        "when": experience.created_at.isoformat(timespec="seconds"),
        "context": json.dumps(dict(experience.task.context), ensure_ascii=False) if experience.task.context else "",
    }
    parts = [f"{name}: {safe(value, keep_lines=True)}" for name, value in head.items() if value]
    for number, step in enumerate(experience.steps, 1):
        parts.append(f"\n--- step {number}")
        said = (("thought", step.thought), ("action", step.action), ("observation", step.observation))
        parts += [f"{name}: {safe(text, keep_lines=True)}" for name, text in said if text]
    for name, text in (("solution", experience.solution_output), ("feedback", experience.feedback)):
        parts += [f"\n--- {name}\n{safe(text, keep_lines=True)}"] if text else []
    return "\n".join(parts)
