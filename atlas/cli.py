"""The command line: parse, call the library, print. The only module that prints or exits."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from atlas.core.errors import AtlasError, NotFound
from atlas.core.exchange import encode_line
from atlas.core.settings import Settings
from atlas.core.types import Experience, Operation
from atlas.importers.formats import FORMATS
from atlas.importers.run import ImportReport, import_paths
from atlas.importers.sink import ExperienceSink
from atlas.memory.pruning import PrunePlan
from atlas.memory.system import MemorySystem, open_memory, open_storage, reembed_store
from atlas.storage.backup import backup, restore
from atlas.storage.doctor import examine
from atlas.storage.store import Store

EXPORT_BATCH = 500
HISTORY_BATCH = 100
SHOWN = 10
"""Records of a plan that are printed; all of them with --all."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 0 done, 1 not done, 2 wrong usage, 130 interrupted.

    With ATLAS_DEBUG set, an error that ATLAS did not foresee shows its traceback too.
    """
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        status: int = options.run(options, settings)
    except AtlasError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("atlas: interrupted; what was stored until now is kept (see: atlas history)", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains again while it exits
        return 1
    except OSError as error:
        print(f"atlas: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - the end of the line: whatever it is, the person gets a sentence
        _report_bug(error)
        return 1
    return status


def _report_bug(error: Exception) -> None:
    if os.environ.get("ATLAS_DEBUG"):
        traceback.print_exception(error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    print(f"atlas: {what} (this is a bug in ATLAS; ATLAS_DEBUG=1 shows the traceback)", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atlas", description="See, trust and curate what an agent has learned.")
    parser.add_argument("--store", type=Path, help="the store directory (default: ATLAS_STORE, or .atlas)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_reading(commands)
    _add_curating(commands)
    _add_keeping(commands)
    return parser


def _add_reading(commands: Any) -> None:
    command = _command(commands, "init", _init, "create the store and say which embedding model it uses")
    command = _command(commands, "import", _import, "import agent runs; importing twice adds nothing")
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or directories of them")
    command.add_argument("--format", default="auto", choices=["auto", *FORMATS])
    command.add_argument("--strict", action="store_true", help="stop at the first row that is refused")
    command = _command(commands, "search", _search, "find experiences for a task")
    command.add_argument("text")
    command.add_argument("-k", type=_count, default=4, help="how many (default: 4)")
    command.add_argument("--words", action="store_true", help="by the words themselves instead of their meaning")
    command = _command(commands, "show", _show, "print one experience, step by step")
    command.add_argument("id", help="its id, or a beginning of it")
    _command(commands, "status", _status, "what the store holds")


def _add_curating(commands: Any) -> None:
    command = _command(commands, "prune", _prune, "remove low-value experiences; `atlas undo` brings them back")
    command.add_argument("--min-success-rate", type=float, metavar="RATE", help="lowest success rate to keep, 0 to 1")
    command.add_argument("--max-age-days", type=float, metavar="DAYS", help="older attempts go")
    command.add_argument("--never-retrieved-days", type=float, metavar="DAYS", help="not retrieved for so long goes")
    command.add_argument("--max-count", type=_count, metavar="N", help="how many to keep")
    command.add_argument("--keep-diverse", action="store_true", help="save the last of each neighbourhood")
    command.add_argument("--dry-run", action="store_true", help="say what would go, and touch nothing")
    command.add_argument("--all", action="store_true", help="print every experience that goes, not the first ten")
    command = _command(commands, "undo", _undo, "take an operation back, exactly")
    command.add_argument(
        "operation", nargs="?", default="", help="its id, or a beginning of it (default: the newest that is not undone)"
    )
    command = _command(commands, "history", _history, "what was done to the store, newest first")
    command.add_argument("-n", type=_count, default=20, help="how many (default: 20)")


def _add_keeping(commands: Any) -> None:
    command = _command(commands, "export", _export, "write every experience as JSONL, one a line")
    command.add_argument("file", type=Path, help="a new file, or - for the terminal")
    command.add_argument("--vectors", action="store_true", help="with their vectors")
    command = _command(commands, "backup", _backup, "copy the whole store into one file, while others write")
    command.add_argument("file", type=Path)
    command = _command(commands, "restore", _restore, "make the store what it was at a backup")
    command.add_argument("file", type=Path)
    command = _command(commands, "doctor", _doctor, "check the store against its ledger")
    command.add_argument("--fix", action="store_true", help="mend what differs")
    command = _command(commands, "reembed", _reembed, "embed everything anew with another model")
    command.add_argument("--model", required=True, help="for example BAAI/bge-base-en-v1.5")


def _command(commands: Any, name: str, run: Callable[..., int], summary: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary)
    command.set_defaults(run=run)
    return command


def _init(options: argparse.Namespace, settings: Settings) -> int:
    with _opened(settings, create=True) as memory:
        model = memory.storage.model
        print(
            f"{memory.storage.path}: {len(memory.experience)} experiences, "
            f"embedding model {model.name if model else 'not chosen'}"
        )
    return 0


def _import(options: argparse.Namespace, settings: Settings) -> int:
    with _opened(settings, create=True) as memory:
        sink = ExperienceSink(memory.experience, f"imported {', '.join(_safe(path.name) for path in options.paths)}")
        with _bytes_bar() as on_progress:
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
    with _opened(settings) as memory:
        if options.words:
            for experience in memory.experience.search_words(options.text, options.k):
                print(_line(experience))
            return 0
        for hit in memory.experience.search_hits(options.text, options.k):
            signals = "  ".join(f"{name} {value:+.3f}" for name, value in hit.signals.items())
            print(f"{_line(hit.item)}\n    rank value {hit.rank_value:.3f} = {signals}")
    return 0


def _show(options: argparse.Namespace, settings: Settings) -> int:
    with _opened(settings, read_only=True) as memory:
        ids = memory.storage.ledger.ids_beginning(memory.experience.collection_name, options.id)
        if len(ids) != 1:
            raise NotFound(f"{'no' if not ids else 'more than one'} experience begins with {options.id!r}")
        experience = memory.experience.get(ids[0])
        if experience is not None:
            print(_whole(experience))
    return 0


def _status(options: argparse.Namespace, settings: Settings) -> int:
    with _opened(settings, read_only=True) as memory:
        model = memory.storage.model
        print(f"store            {memory.storage.path}")
        print(f"embedding model  {f'{model.name}, {model.dimension} dimensions' if model else 'none yet'}")
        print(f"experiences      {len(memory.experience)}")
        for key in ("outcome", "source"):
            for value, count in memory.experience.values(key).items():
                print(f"  {key:14} {_safe(str(value))}: {count}")
    return 0


def _prune(options: argparse.Namespace, settings: Settings) -> int:
    names = ("min_success_rate", "max_age_days", "never_retrieved_days", "max_count", "keep_diverse")
    criteria = {name: getattr(options, name) for name in names if getattr(options, name) not in (None, False)}
    with _opened(settings, read_only=options.dry_run) as memory:
        plan = memory.experience.plan_prune(criteria)
        _print_plan(plan, len(plan.removals) + len(plan.saved) if options.all else SHOWN)
        if options.dry_run:
            print("Nothing was touched (--dry-run).")
        elif plan.removals:
            scoped = memory.experience.within("prune", plan.criteria.reason())
            n_removed = scoped.apply_prune(plan)
            print(f"Removed {n_removed}. To bring them back: atlas undo {str(scoped.operation_id)[:8]}")
    return 0


def _undo(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        undone = storage.undo(options.operation or _newest_not_undone(storage).id)
        print(f"{undone.reason}: {_counts(undone)}. To do it again: atlas undo {undone.id[:8]}")
    return 0


def _newest_not_undone(storage: Store) -> Operation:
    for offset in itertools.count(step=HISTORY_BATCH):
        operations = storage.history(HISTORY_BATCH, offset)
        for operation in operations:
            if not operation.undoes and not operation.undone_by:
                return operation
        if not operations:
            break
    raise NotFound("there is nothing to undo: the history is empty, or all of it is undone already")


def _history(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, read_only=True, create=False) as storage:
        for operation in storage.history(options.n):
            undone = f"  (undone by {operation.undone_by[:8]})" if operation.undone_by else ""
            when = f"{operation.created_at:%Y-%m-%d %H:%M:%S}"
            what = f"{operation.kind:7} {_counts(operation):24} {_safe(operation.actor)}  {_safe(operation.reason)}"
            print(f"{operation.id[:8]}  {when}  {what}{undone}")
    return 0


def _export(options: argparse.Namespace, settings: Settings) -> int:
    with _opened(settings, read_only=True) as memory, _new_file(options.file) as write:
        rows = memory.experience.browse(order_by="", descending=False)
        for start in tqdm(range(0, len(rows), EXPORT_BATCH), unit="batch", disable=None):
            ids = [row["id"] for row in rows[start : start + EXPORT_BATCH]]
            for exported in memory.experience.export(ids, with_vectors=options.vectors):
                write(encode_line(exported) + "\n")
    print(f"Exported {len(rows)} experiences.", file=sys.stderr)
    return 0


def _backup(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        report = backup(storage, options.file)
    print(f"Backed up {report.n_records} records into {_safe(str(options.file))} ({report.n_bytes / 2**20:.1f} MB).")
    return 0


def _restore(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings) as storage:
        report = restore(storage, options.file)
    print(f"Restored {report.n_records} records from {_safe(str(options.file))}.")
    return 0


def _doctor(options: argparse.Namespace, settings: Settings) -> int:
    with open_storage(settings=settings, create=False) as storage:
        findings = examine(storage, fix=options.fix)
    for finding in findings:
        verdict = "ok" if not finding.problem else f"{finding.problem}{' (mended)' if finding.is_fixed else ''}"
        print(f"{finding.check:16} {verdict}")
    n_left = sum(bool(finding.problem) and not finding.is_fixed for finding in findings)
    if n_left and not options.fix:
        print("To mend what can be mended: atlas doctor --fix")
    return 1 if n_left else 0


def _reembed(options: argparse.Namespace, settings: Settings) -> int:
    with tqdm(unit="text", disable=None) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        n_texts = reembed_store(settings, options.model, on_progress)
    print(f"Embedded {n_texts} texts with {options.model}.")
    return 0


def _settings(options: argparse.Namespace) -> Settings:
    settings = Settings.from_environment()
    return replace(settings, store=options.store) if options.store else settings


def _opened(settings: Settings, *, read_only: bool = False, create: bool = False) -> MemorySystem:
    return open_memory(
        settings=settings, read_only=read_only, create=create, announce=lambda text: print(text, file=sys.stderr)
    )


@contextmanager
def _bytes_bar() -> Iterator[Callable[[int, int], None]]:
    with tqdm(unit="B", unit_scale=True, desc="importing", disable=None) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield on_progress


@contextmanager
def _new_file(path: Path) -> Iterator[Callable[[str], Any]]:
    """Write to a file that appears when it is complete, or to the terminal."""
    if str(path) == "-":
        yield sys.stdout.write
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            yield file.write
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _print_report(report: ImportReport, operation_id: str | None) -> None:
    for rejection in report.rejections:
        print(f"rejected: {rejection}", file=sys.stderr)
    print(
        f"{report.read} read, {report.added} added, {report.skipped} skipped as duplicates, {report.rejected} rejected"
    )
    if operation_id:
        print(f"To take it back: atlas undo {operation_id[:8]}")


def _print_plan(plan: PrunePlan, n_shown: int) -> None:
    print(
        f"{len(plan.removals)} of {plan.n_total} experiences would go ({plan.share:.1%}), {len(plan.saved)} are saved."
    )
    if plan.n_unknown:
        print(f"{plan.n_unknown} have no known outcome, so the success rate does not judge them.")
    for sign, decisions in (("-", plan.removals), ("+", plan.saved)):
        for decision in decisions[:n_shown]:
            saved = f"; saved: {decision.saved_because}" if decision.saved_because else ""
            why = "; ".join(decision.reasons) + _safe(saved)
            print(f"  {sign} {decision.id[:8]}  {_safe(decision.title)[:80]}  ({why})")
        if len(decisions) > n_shown:
            print(f"  {sign} … and {len(decisions) - n_shown} more (--all prints them)")


def _counts(operation: Operation) -> str:
    return ", ".join(f"{count} {name}" for name, count in operation.counts.items()) or "nothing"


def _line(experience: Experience) -> str:
    return f"{experience.id[:8]}  {experience.outcome.label:9}  {_safe(experience.task.description)[:100]}"


def _whole(experience: Experience) -> str:
    head = {
        "id": experience.id,
        "task": experience.task.description,
        "outcome": experience.outcome.label,
        "agent": experience.agent_id,
        "when": experience.created_at.isoformat(timespec="seconds"),
        "context": json.dumps(dict(experience.task.context), ensure_ascii=False) if experience.task.context else "",
    }
    parts = [f"{name}: {_safe(value, keep_lines=True)}" for name, value in head.items() if value]
    for number, step in enumerate(experience.steps, 1):
        parts.append(f"\n--- step {number}")
        said = (("thought", step.thought), ("action", step.action), ("observation", step.observation))
        parts += [f"{name}: {_safe(text, keep_lines=True)}" for name, text in said if text]
    for name, text in (("solution", experience.solution_output), ("feedback", experience.feedback)):
        parts += [f"\n--- {name}\n{_safe(text, keep_lines=True)}"] if text else []
    return "\n".join(parts)


def _safe(text: str, *, keep_lines: bool = False) -> str:
    """Text that cannot move the cursor or recolour the terminal."""
    kept = "\n\t" if keep_lines else ""
    shown = "".join(c if c.isprintable() or c in kept else " " for c in text)
    return shown if keep_lines else " ".join(shown.split())


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"should be 0 or more, but is {value}")
    return value
