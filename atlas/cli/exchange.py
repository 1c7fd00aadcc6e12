"""The commands `import` and `export`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.cli.common import (
    add_command,
    add_scope_option,
    calibrate,
    open_local,
    progress_bar,
    replacement_file,
    sanitise,
    undo_hint,
)
from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedStrategy
from atlas.core.filters import scope_metadata
from atlas.core.operations import Marks
from atlas.core.settings import Settings, bulk_settings
from atlas.importers.logs import LogOptions, SuccessRule
from atlas.importers.marks import import_marks, is_marks_file, plan_marks
from atlas.importers.registry import all_formats
from atlas.importers.run import ImportReport, Sink, import_paths
from atlas.importers.sink import CountingSink, MemorySink
from atlas.infra.actor import acting_in_scope
from atlas.infra.durable_files import replace_atomically
from atlas.memory.kinds.table import known_kinds
from atlas.memory.system import MemorySystem
from atlas.storage.store import LABEL, LEDGER
from atlas.views.settings.copies import SOURCES, Export
from atlas.views.settings.skills import (
    OVERVIEW,
    RECORD,
    SKILL,
    decode_skill,
    files_of,
    is_overview,
    overview,
    read_skills,
)
from atlas.views.shared.kinds import KINDS
from atlas.views.shared.wording import counted, in_words

NOUNS = {"entry": "journal line", "turn": "conversation turn"}
"""Longer nouns for the kinds of records whose own noun is unclear without the name of the memory."""

MAX_NAMES = 5
"""Maximum number of edited skills in an error message, and of imported files in the history."""

MAX_CHANGES = 20
"""Maximum number of printed changes."""


def add_commands(commands: Any) -> None:
    """Declare the commands."""
    command = add_command(commands, "import", _import)
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files, or directories of files")
    add_format_option(command)
    command.add_argument("--strict", action="store_true", help="stop at the first row that is rejected")
    command.add_argument("--dry-run", action="store_true", help="count the records to add, and add nothing")
    rule = "the score of a log that decides whether an attempt succeeded, with its threshold, as in correctness>=0.5"
    command.add_argument("--success", type=_parse_rule, metavar="RULE", help=rule)
    crashes_help = "note every tool call that failed in a log as a crash in the journal"
    command.add_argument("--crashes", action="store_true", help=crashes_help)
    add_scope_option(command, "give all that is imported a scope")
    command = add_command(commands, "export", _export)
    command.epilog = (
        f"Records that are exported: {in_words([kind.page for kind in KINDS.values() if kind.is_exported])}."
    )
    target = command.add_mutually_exclusive_group(required=True)
    target.add_argument("file", nargs="?", type=Path, help="a new file, or - for the terminal")
    skills_help = "write strategies and concepts as Agent Skills into this directory instead"
    target.add_argument("--skills", type=Path, metavar="DIR", help=skills_help)
    command.add_argument("--vectors", action="store_true", help="include the vectors of experiences")
    without = f"leave out concepts from this source ({', '.join(SOURCES)}); may be repeated"
    command.add_argument("--without", action="append", default=[], choices=SOURCES, metavar="SOURCE", help=without)


def add_format_option(command: argparse.ArgumentParser) -> None:
    """Declare the option for the format of imported files."""
    command.add_argument(
        "--format",
        default="auto",
        choices=["auto", *all_formats()],
        help="their format (default: recognised for each file)",
    )


def _parse_rule(text: str) -> SuccessRule:
    try:
        return SuccessRule.parse(text)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _import(options: argparse.Namespace, settings: Settings) -> int:
    with acting_in_scope(settings.actor, scope_metadata(options.scope)):
        return _import_all(options, settings)


def _reason(paths: Sequence[Path]) -> str:
    """Return `imported a.json, b.json, c.json, d.json, e.json and 57 others`, for the history."""
    names = [sanitise(path.name) for path in paths]
    others = [counted(len(names) - MAX_NAMES, "other")] if len(names) > MAX_NAMES else []
    return f"imported {in_words([*names[:MAX_NAMES], *others])}"


def _import_all(options: argparse.Namespace, settings: Settings) -> int:
    marks_files = [path for path in options.paths if path.is_file() and is_marks_file(path)]
    if marks_files:
        options.paths = [path for path in options.paths if path not in marks_files]
        _import_marks(marks_files, options, settings)
    if not options.paths:
        return 0
    if options.dry_run:
        return _preview(options, settings)
    with open_local(bulk_settings(settings), create=True) as memory:
        sink = MemorySink(memory, _reason(options.paths))
        report = _import_paths(sink, options, settings)
        _print_report(report, "added")
        if report.added and sink.operation_id:
            print(undo_hint(sink.operation_id))
        if report.added:
            calibrate(memory)
    return _exit_status(report)


def _import_marks(paths: Sequence[Path], options: argparse.Namespace, settings: Settings) -> None:
    """Import marks from files, or print a preview."""
    with open_local(settings, read_only=options.dry_run) as memory:
        for path in paths:
            report = plan_marks(memory, path) if options.dry_run else import_marks(memory, path)
            for change in report.changes[:MAX_CHANGES]:
                print(
                    sanitise(
                        f"{change.id[:8]} {change.title}: {_marks_text(change.before)} → {_marks_text(change.after)}"
                    )
                )
            if len(report.changes) > MAX_CHANGES:
                print(f"and {len(report.changes) - MAX_CHANGES:,} more")
            verb = "would change" if options.dry_run else "changed"
            missing = f", {counted(report.n_missing, 'record')} not in the store" if report.n_missing else ""
            print(f"marks of {counted(report.n_listed, 'record')} read, {len(report.changes):,} {verb}{missing}")
            if report.operation_id:
                print(undo_hint(report.operation_id))


def _marks_text(marks: Marks) -> str:
    """Return `pinned, #red, note "…"`, or `no marks`."""
    names = [name for name in ("pinned", "buried") if getattr(marks, name)]
    note = [f"note {marks.note!r}"] if marks.note else []
    return ", ".join([*names, *(f"#{tag}" for tag in marks.tags), *note]) or "no marks"


def _preview(options: argparse.Namespace, settings: Settings) -> int:
    """Print a preview of an import, without creating a store."""
    if any((settings.directory.expanduser() / name).exists() for name in (LEDGER, LABEL)):
        with open_local(settings, read_only=True) as memory:
            report = _import_paths(CountingSink(memory), options, settings)
    else:
        report = _import_paths(CountingSink(None), options, settings)
    _print_report(report, "would be added")
    return _exit_status(report)


def _import_paths(sink: Sink, options: argparse.Namespace, settings: Settings) -> ImportReport:
    with progress_bar(unit="B", unit_scale=True, desc="importing") as on_progress:
        return import_paths(
            sink,
            options.paths,
            format=options.format,
            strict=options.strict,
            log_options=LogOptions(success=options.success, crashes=options.crashes),
            settings=settings,
            on_progress=on_progress,
        )


def _exit_status(report: ImportReport) -> int:
    has_failed = bool(report.rejected or report.unclaimed)
    return 1 if has_failed and not report.read else 0


def _print_report(report: ImportReport, verb: str) -> None:
    for rejection in report.rejections:
        print(f"rejected: {rejection}", file=sys.stderr)
    is_mixed = report.added_attempts != report.added
    details = f" ({_describe_counts(report)})" if is_mixed else ""
    print(
        f"{report.read} read, {report.added} {verb}{details}, {report.skipped} skipped as duplicates, "
        f"{report.rejected} rejected"
    )
    if report.unclaimed:
        print(f"{counted(report.unclaimed, 'file')} empty or in no known format, and skipped")
    if report.purged:
        print(f"{report.purged} of those skipped were purged from this store, and are not imported again")
    for rule, n in report.judged.items():
        print(f"outcomes from the score {sanitise(rule)}: {counted(n, 'attempt')}")
    for why, n in sorted(report.unknown.items()):
        if n:
            print(f"of those read, {n} {'has' if n == 1 else 'have'} an unknown outcome: {why}")
    if report.scrubbed:
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(report.scrubbed.items()))
        print(f"taken out of the texts: {kinds}")


def _describe_counts(report: ImportReport) -> str:
    """Return the number of records by kind, such as `51 concepts`, or `3 experiences and 51 concepts`."""
    counts = {kind.noun: report.added_by.get(kind.noun, 0) for kind in known_kinds().values()}
    return in_words([counted(n, NOUNS.get(noun, noun)) for noun, n in counts.items() if n])


def _export(options: argparse.Namespace, settings: Settings) -> int:
    if options.skills:
        if options.vectors or options.without:
            raise InvalidInput("--vectors and --without are for an export into a file; leave them out with --skills")
        return _export_skills(options.skills, settings)
    with open_local(settings, read_only=True) as memory, replacement_file(options.file) as write:
        export = Export(memory, with_vectors=options.vectors, without=options.without)
        from tqdm import tqdm

        for line in export.lines(lambda batches: tqdm(batches, unit="batch", disable=None)):
            write(line)
    print(export.sentence, file=sys.stderr)
    return 0


def _export_skills(directory: Path, settings: Settings) -> int:
    with open_local(settings, read_only=True) as memory:
        try:
            exported = export_skills(memory, directory)
        except OSError as error:
            raise InvalidInput(
                f"the skills cannot be written to {directory}: {error.strerror or error}; choose another directory"
            ) from error
    print(exported.sentence, file=sys.stderr)
    if exported.obsolete:
        print(
            f"{directory} also holds skills of records that are no longer exported: "
            f"{sanitise(', '.join(exported.obsolete[:MAX_CHANGES]))}; remove their directories if you do not need them",
            file=sys.stderr,
        )
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillExport:
    """The result of an export."""

    n_strategies: int
    n_concepts: int
    obsolete: tuple[str, ...]
    """Names of skills from an earlier export whose records are no longer exported."""

    @property
    def sentence(self) -> str:
        """The result as a sentence, such as `Exported 3 strategies and 1 concept as skills.`."""
        counts = [counted(self.n_strategies, "strategy"), counted(self.n_concepts, "concept")]
        return f"Exported {in_words(counts)} as skills."


def export_skills(memory: MemorySystem, directory: Path) -> SkillExport:
    """Write the active strategies and all concepts except primitives as skills.

    Args:
        directory: Created if missing. Files of an earlier export are replaced.

    Raises:
        InvalidInput: A `SKILL.md` has been edited since its export, or comes from another program. Nothing is written.
        OSError: A file cannot be written.
    """
    skills = read_skills(memory)
    earlier_names = {path.parent.name for path in directory.glob(f"*/{RECORD}")}
    edited = [f"{name}/{SKILL}" for name in sorted(skills) if _is_edited(directory / name)]
    overview_file = directory / OVERVIEW
    if overview_file.exists() and not is_overview(overview_file.read_bytes()):
        edited.append(OVERVIEW)
    if edited:
        raise InvalidInput(
            f"these files have been edited since the last export: {in_words(edited[:MAX_NAMES])}; move the edited "
            "version elsewhere, then export again"
        )
    for name, skill in skills.items():
        for path, text in files_of(skill).items():
            target = directory / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_atomically(target, text)
    directory.mkdir(parents=True, exist_ok=True)
    replace_atomically(overview_file, overview(skills))
    n_strategies = sum(isinstance(skill, ExportedStrategy) for skill in skills.values())
    return SkillExport(
        n_strategies=n_strategies,
        n_concepts=len(skills) - n_strategies,
        obsolete=tuple(sorted(earlier_names - skills.keys())),
    )


def _is_edited(directory: Path) -> bool:
    """Return whether the file of a skill has been edited since its export, or is not from an export."""
    skill_file, record = directory / SKILL, directory / RECORD
    if not skill_file.exists():
        return False
    if not record.exists():
        return True
    try:
        skill = decode_skill(record.read_text(encoding="utf-8"))
    except (InvalidInput, UnicodeDecodeError) as error:
        raise InvalidInput(f"{record}: {error}; move it elsewhere, then export again") from error
    return skill_file.read_bytes() != files_of(skill)[SKILL].encode()
