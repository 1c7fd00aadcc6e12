"""Retrieval tasks of Protea's log: find the crash of a reflection, among all crashes or in the whole log."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import ImportFailed
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora.records import make_entry

CRASH, REFLECTION = "crash_log", "reflection"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of a log."""

    id: str
    generation: int
    kind: str
    """Kind of entry: `observation`, `crash_log`, `reflection`, `directive` or `task`."""

    text: str

    @property
    def task_id(self) -> str:
        """Id of the task, shared by all entries of one generation."""
        return f"protea/{self.generation}"


def read_log(path: Path) -> list[LogEntry]:
    """Return the entries of a Protea database, or an empty list for any other database.

    The database is opened read-only.

    Raises:
        ImportFailed: The database cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            names = {name for _, name, *_ in connection.execute("PRAGMA table_info(memory)")}
            if not {"id", "generation", "entry_type", "content"} <= names:
                return []
            rows = connection.execute("SELECT id, generation, entry_type, content FROM memory ORDER BY id").fetchall()
    except sqlite3.DatabaseError as error:
        raise ImportFailed(f"{path.name} is a SQLite file that cannot be read: {error}; check the file") from error
    return [LogEntry(f"protea#{number}", generation, kind, text) for number, generation, kind, text in rows]


def corpora(log: Sequence[LogEntry]) -> tuple[JudgedCorpus, ...]:
    """Return two corpora, one of the crashes and one of the whole log. Empty if no reflection is about a crash."""
    crashes = [line for line in log if line.kind == CRASH]
    crash_generations = {line.generation for line in crashes}
    reflections = [line for line in log if line.kind == REFLECTION and line.generation in crash_generations]
    if not reflections:
        return ()
    about = "A reflection → the crash log of the same generation, among all "
    return (
        _corpus("Protea, crashes", f"{about}crash logs.", reflections, crashes),
        _corpus(
            "Protea, whole log",
            f"{about}entries of other generations; other entries of the same generation, such as further reflections "
            "on that crash, are left out, as they are relevant too.",
            reflections,
            log,
        ),
    )


def _corpus(name: str, about: str, reflections: Sequence[LogEntry], entries: Sequence[LogEntry]) -> JudgedCorpus:
    queries = []
    for reflection in reflections:
        crashes = [crash for crash in entries if (crash.kind, crash.generation) == (CRASH, reflection.generation)]
        excluded_ids = frozenset(other.id for other in entries if _is_left_out(other, reflection))
        grades = {crash.id: SAME for crash in crashes}
        queries.append(
            JudgedQuery(text=reflection.text, grades=grades, group=reflection.task_id, excluded=excluded_ids)
        )
    return JudgedCorpus(
        name=name,
        trajectories=tuple(make_entry(line.id, line.task_id, line.text) for line in entries),
        tasks=(RetrievalTask(name=name, about=about, queries=tuple(queries)),),
    )


def _is_left_out(other: LogEntry, reflection: LogEntry) -> bool:
    """Return whether an entry is excluded from a reflection's search.

    An entry is excluded if it has the reflection's text, or if it belongs to the same generation and is not a crash.
    """
    if other.generation == reflection.generation and other.kind != CRASH:
        return True
    return other.text == reflection.text
