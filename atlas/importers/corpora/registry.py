"""Discovery of evaluation corpora in files and directories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from atlas.core.errors import ImportFailed
from atlas.core.settings import Settings
from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus
from atlas.importers.corpora import protea, queries, reflexion, swe_agent, tau_bench
from atlas.importers.files import read_head
from atlas.importers.formats.protea import SQLITE_MARK
from atlas.importers.registry import all_formats
from atlas.importers.rows import Item, Limits
from atlas.importers.run import source_files

JUDGED, LOG = "judged queries", "Protea log"

SUPPORTED_DATA = (
    "τ-bench runs, Reflexion's programming logs, SWE-agent trajectories with several runs of one issue, a Protea log "
    "with crashes and reflections, or a JSON file with `about` and `queries` beside attempts in ATLAS JSONL"
)


def find_corpora(paths: Sequence[Path], settings: Settings) -> list[JudgedCorpus]:
    """Return the evaluation corpora in files and directories. Other files are skipped.

    Raises:
        ImportFailed: A path has no file of a known kind, or such a file has an unreadable row. Results on a part of the
            data would be mistaken for results on all of it.
    """
    limits = Limits.from_settings(settings)
    files_by_kind: dict[str, list[Path]] = defaultdict(list)
    for path in paths:
        kinds = {file.path: _corpus_kind(file.path, limits) for file in source_files([path])}
        if not any(kinds.values()):
            raise ImportFailed(f"{path} has no data to evaluate on; looked for {SUPPORTED_DATA}")
        for file, kind in kinds.items():
            if file.resolve() not in map(Path.resolve, files_by_kind[kind]):
                files_by_kind[kind].append(file)
    corpora = _build_corpora(files_by_kind, limits)
    if not any(task.queries for corpus in corpora for task in corpus.tasks):
        raise ImportFailed(f"the files contain no query; looked for {SUPPORTED_DATA}")
    return corpora


def _build_corpora(files: dict[str, list[Path]], limits: Limits) -> list[JudgedCorpus]:
    attempts = [
        attempt for attempt in _read_trajectories("reflexion", files, limits) if reflexion.is_programming(attempt)
    ]
    runs = _read_trajectories("swe-agent", files, limits)
    corpora = [
        loaded for path in files["tau-bench"] for loaded in tau_bench.corpora(_trajectories("tau-bench", path, limits))
    ]
    corpora += [reflexion.build_corpus(attempts)] if attempts else []
    corpora += [corpus for path in files[LOG] for corpus in protea.corpora(protea.read_log(path))]
    corpora += [swe_agent.build_corpus(runs)] if runs else []
    corpora += [queries.build_corpus(path, _attempts_in_directory(path, limits), limits) for path in files[JUDGED]]
    return corpora


def _corpus_kind(path: Path, limits: Limits) -> str:
    """Return the kind of corpus that a file belongs to, such as `tau-bench`. Empty for other files."""
    try:
        head = read_head(path, limits)
    except (ImportFailed, OSError):
        return ""
    if head.startswith(SQLITE_MARK):
        return LOG if protea.corpora(protea.read_log(path)) else ""
    if queries.matches(head):
        return JUDGED
    names = ("tau-bench", "reflexion", "swe-agent")
    return next((name for name in names if all_formats()[name].matches(path, head)), "")


def _read_trajectories(format: str, files: dict[str, list[Path]], limits: Limits) -> list[Trajectory]:
    return [trajectory for path in files[format] for trajectory in _trajectories(format, path, limits)]


def _trajectories(format: str, path: Path, limits: Limits) -> list[Trajectory]:
    return [
        _require_attempt(path, row.item, row.position, row.reason) for row in all_formats()[format].read(path, limits)
    ]


def _attempts_in_directory(path: Path, limits: Limits) -> list[Trajectory]:
    """Return the attempts in the ATLAS JSONL files of the same directory."""
    files = sorted(path.parent.glob("*.jsonl"))
    return [attempt for file in files for attempt in _trajectories("atlas", file, limits)]


def _require_attempt(path: Path, item: Item | None, position: int, reason: str) -> Trajectory:
    if isinstance(item, Trajectory):
        return item
    raise ImportFailed(f"{path.name}, row {position}: {reason or 'expected an attempt, got another kind of record'}")
