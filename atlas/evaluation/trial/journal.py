"""The journal of a trial: a line for each finished cell, so that an interrupted trial can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atlas.core.errors import InvalidInput
from atlas.core.schema import decode
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.infra.durable_files import append_durably, replace_durably

TRACE_CHARACTERS = 8_000
"""Number of characters at the end of each text of a trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedCell:
    """A finished run of a trial's command, with its context block's records."""

    cell: Cell
    is_seen: bool
    """True if the memory already contained an attempt at its task."""

    block_tokens: int
    shown: Mapping[str, tuple[str, ...]]
    """Ids of the records in the block, keyed by memory."""

    result: RunResult
    used: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the shown records that the command's output names, or whose text reappears in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrace:
    """The context block of a run, and the end of the command's output. All texts are untrusted."""

    block: str
    output: str
    errors: str
    """Standard error of the command."""


class TrialJournal:
    """The files in a trial's directory: the design, and the finished cells."""

    def __init__(self, directory: Path) -> None:
        self._cells, self._design = directory / "cells.jsonl", directory / "trial.json"
        self._runs = directory / "runs"

    def begin(self, design: Mapping[str, Any]) -> None:
        """Write the design, or compare it with the one in the directory if a trial was started there.

        Raises:
            InvalidInput: The designs differ.
        """
        text = json.dumps(design, ensure_ascii=False, indent=1, sort_keys=True)
        if not self._design.exists():
            replace_durably(self._design, text)
            return
        earlier, new = json.loads(self._design.read_text(encoding="utf-8")), json.loads(text)
        differing = sorted(name for name in {*earlier, *new} if earlier.get(name) != new.get(name))
        if differing:
            raise InvalidInput(
                f"a trial with another design was started in {self._design.parent}: its {', '.join(differing)} differ; "
                "choose another directory, or continue with the same options"
            )

    def add(self, cell: FinishedCell) -> None:
        """Append a cell to the journal, and flush it to disk."""
        append_durably(self._cells, json.dumps(asdict(cell)) + "\n")

    def trace(self, cell: Cell) -> RunTrace:
        """Return the trace of a cell's run. A text is empty if its file was deleted."""
        block, output, errors = (
            _last_characters(self._runs / cell.directory / name)
            for name in ("block.txt", "output.txt", "output.txt.errors")
        )
        return RunTrace(block=block, output=output, errors=errors)

    def read(self) -> list[FinishedCell]:
        """Return the finished cells, in the order in which they finished. An incomplete last line is ignored."""
        if not self._cells.exists():
            return []
        cells = []
        for line in self._cells.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                encoded = json.loads(line)
            except ValueError:
                continue
            cells.append(decode(FinishedCell, encoded, "cell"))
        return cells


def _last_characters(file: Path) -> str:
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return text[-TRACE_CHARACTERS:]
