"""Imports of uploaded files, or of local files by path if the page runs on the user's machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from atlas.core.errors import InvalidInput
from atlas.core.exchange import ExportedConcept, ExportedExperience, ExportedStrategy
from atlas.core.types import CodeConcept, JournalEntry, Trajectory, Turn
from atlas.importers.logs import LogOptions, SuccessRule
from atlas.importers.registry import all_formats
from atlas.importers.rows import Item
from atlas.importers.run import ImportReport, Progress, Rejection, Sink, import_paths
from atlas.importers.sink import CountingSink, MemorySink
from atlas.importers.uploads import Sources
from atlas.memory.experience.extraction import to_trajectory
from atlas.memory.system import MemorySystem
from atlas.views.lists.facts import Fact
from atlas.views.shared.plans import CompletedAct
from atlas.views.shared.state import may_name_paths
from atlas.views.shared.wording import counted, outcome_with_sign, shortened

AUTOMATIC = "auto"
"""Name of the choice to detect the format by a file's contents."""

TITLES: Mapping[str, str] = {AUTOMATIC: "Detected by content"} | {
    format.name: format.title for format in all_formats().values()
}
"""Selectable formats, by their names."""

TEXT_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """An import that a person asked for."""

    sources: Sources
    format: str = AUTOMATIC
    success: SuccessRule | None = None
    crashes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A preview of one record that would be added. Its texts are untrusted."""

    kind: str
    title: str
    text: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPreview:
    """The preview of an import."""

    request: ImportRequest
    headline: str
    facts: tuple[Fact, ...]
    n_refused: int

    notes: tuple[str, ...]
    """Trusted sentences on the score for outcomes, and on unknown, removed and existing attempts."""

    samples: tuple[Sample, ...]
    problems: tuple[str, ...]
    """Rows and files that would be refused, with reasons. They quote the files, so they are untrusted."""

    button: str
    """Label of the import button, or empty if there are no new attempts."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import."""

    done: CompletedAct | None
    """The operation, or None if no record was new."""

    problems: tuple[str, ...]
    """Rows and files that were refused, with reasons. They quote the files, so they are untrusted."""


def request_of(
    files: Sequence[tuple[str, bytes]],
    path: str = "",
    *,
    format: str = AUTOMATIC,
    success: str = "",
    crashes: bool = False,
) -> ImportRequest:
    """Return a person's import request. The caller closes it after the import or its cancellation.

    Args:
        files: Names of uploaded files, each with its content.
        path: A file or directory on this machine, in place of uploads.
        success: A rule such as `correctness>=0.5`, or empty.

    Raises:
        InvalidInput: The rule is malformed, the path may not be named or is missing, two files have the same name, or
            there is neither path nor file.
    """
    rule = SuccessRule.parse(success) if success.strip() else None
    return ImportRequest(sources=_sources(files, path.strip()), format=format, success=rule, crashes=crashes)


def preview_import(memory: MemorySystem, request: ImportRequest, on_progress: Progress | None = None) -> ImportPreview:
    """Return the preview of an import. Nothing is stored."""
    counting_sink = CountingSink(memory)
    report = _run_import(memory, counting_sink, request, on_progress)
    return ImportPreview(
        request=request,
        headline=f"{counted(report.added, 'record')} of {counted(report.files, 'file')} would be added.",
        facts=_facts(report),
        n_refused=report.rejected,
        notes=tuple(_notes(report)),
        samples=tuple(map(_sample, counting_sink.samples)),
        problems=_problems(report),
        button=f"Import {counted(report.added, 'record')}" if report.added else "",
    )


def import_request(memory: MemorySystem, request: ImportRequest, on_progress: Progress | None = None) -> ImportResult:
    """Import as one operation. Rows that are refused do not stop the import of others."""
    sink = MemorySink(memory, "import from the dashboard")
    report = _run_import(memory, sink, request, on_progress)
    sentence = f"Imported {counted(report.added, 'record')} from {counted(report.files, 'file')}"
    done = CompletedAct(sink.operation_id, sentence) if report.added and sink.operation_id else None
    return ImportResult(done, _problems(report))


def _run_import(memory: MemorySystem, sink: Sink, request: ImportRequest, on_progress: Progress | None) -> ImportReport:
    return import_paths(
        sink,
        request.sources.paths,
        format=request.format,
        log_options=LogOptions(success=request.success, crashes=request.crashes),
        settings=memory.storage.settings,
        on_progress=on_progress,
    )


def _sources(files: Sequence[tuple[str, bytes]], path: str) -> Sources:
    if path and not may_name_paths():
        raise InvalidInput("with a key, files must be uploaded; paths are only for the server's own machine")
    if not path and not files:
        raise InvalidInput("choose files to upload, or name a path on this machine")
    return Sources.from_path(path) if path else Sources.from_upload(files)


def _facts(report: ImportReport) -> tuple[Fact, ...]:
    counts_by_name = {
        "Experiences": report.added_attempts,
        "Concepts": report.added_concepts,
        "Strategies": report.added_strategies,
        "Journal entries": report.added_entries,
        "Turns of conversations": report.added_turns,
    }
    facts = {name: n for name, n in counts_by_name.items() if n}
    facts |= {"Here already": report.skipped, "Refused": report.rejected}
    return tuple(Fact(name, f"{n:,}") for name, n in facts.items())


def _notes(report: ImportReport) -> list[str]:
    unknown_notes = [
        f"Of what was read, {counted(n, 'attempt')} {'has' if n == 1 else 'have'} an unknown outcome: {reason}."
        for reason, n in report.unknown.items()
        if n
    ]
    score_notes = [f"Outcomes from the score {rule}: {counted(n, 'attempt')}." for rule, n in report.judged.items()]
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(report.scrubbed.items()))
    secret_notes = [f"Secrets that are taken out of the texts: {kinds}."] if kinds else []
    purged_note = [f"{counted(report.purged, 'record')} had been purged here, and are not taken again."]
    skipped_note = [f"{counted(report.unclaimed, 'file')} empty or in no known format, and skipped."]
    return [
        *score_notes,
        *unknown_notes,
        *secret_notes,
        *(skipped_note if report.unclaimed else []),
        *(purged_note if report.purged else []),
    ]


def _problems(report: ImportReport) -> tuple[str, ...]:
    n_unlisted = report.rejected - len(report.rejections)
    further = (f"and {n_unlisted:,} more",) if n_unlisted > 0 else ()
    return (*(_refusal(rejection) for rejection in report.rejections), *further)


def _refusal(rejection: Rejection) -> str:
    row = f", row {rejection.row}" if rejection.row else ""
    return f"{rejection.path.name}{row}: {rejection.reason}"


def _sample(item: Item) -> Sample:
    show = next(show for kinds, show in _SHOWN if isinstance(item, kinds))
    return show(item)


def _attempt_sample(item: Trajectory | ExportedExperience) -> Sample:
    attempt = to_trajectory(item.experience) if isinstance(item, ExportedExperience) else item
    answer = attempt.metadata.get("solution", "")
    last_output = next((step.observation or step.action for step in reversed(attempt.steps)), "")
    outcome = outcome_with_sign(attempt.outcome.label)
    return Sample(
        kind="Experience",
        title=_one_line(attempt.task.description),
        text=_one_line(str(answer or last_output)),
        about=f"{outcome}, {counted(len(attempt.steps), 'step')}, {attempt.agent_id or 'agent not named'}",
    )


def _strategy_sample(item: ExportedStrategy) -> Sample:
    strategy = item.strategy
    return Sample(kind="Strategy", title=_one_line(strategy.situation), text=_one_line(strategy.suggestion), about="")


def _concept_sample(item: CodeConcept | ExportedConcept) -> Sample:
    concept = item.concept if isinstance(item, ExportedConcept) else item
    return Sample(kind="Concept", title=_one_line(concept.name), text=_one_line(concept.description), about="")


def _entry_sample(item: JournalEntry) -> Sample:
    return Sample(kind="Journal entry", title=_one_line(item.entry_type), text=_one_line(item.content), about="")


def _turn_sample(item: Turn) -> Sample:
    return Sample(
        kind="Turn of a conversation", title=_one_line(item.user_text), text=_one_line(item.response), about=""
    )


_SHOWN: Sequence[tuple[tuple[type, ...], Callable[..., Sample]]] = (
    ((Trajectory, ExportedExperience), _attempt_sample),
    ((ExportedStrategy,), _strategy_sample),
    ((CodeConcept, ExportedConcept), _concept_sample),
    ((JournalEntry,), _entry_sample),
    ((Turn,), _turn_sample),
)


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split()), TEXT_CHARACTERS)
