"""The findings of checking a store, as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.memory.system import MemorySystem
from atlas.storage.maintenance.doctor import Finding, examine
from atlas.views.shared.wording import counted

MEANINGS = {
    "index": "the search index against the database",
    "marks": "tags, pins and notes against their files",
    "purges": "whether what was purged is erased everywhere",
}
"""Parts of a store besides its ledger, by the names of their checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRow:
    """One check, and its result."""

    check: str
    about: str
    """The part of the store that it is about."""

    verdict: str
    is_ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The findings of one examination of a store."""

    rows: tuple[FindingRow, ...]
    n_left: int
    """Number of problems that were not repaired."""

    @property
    def sentence(self) -> str:
        """The result in a sentence."""
        if not self.n_left:
            return f"All {counted(len(self.rows), 'check')} are fine."
        return f"{counted(self.n_left, 'check')} found a problem."


def verdict(finding: Finding) -> str:
    """Return `ok`, or the problem and whether it was repaired."""
    return "ok" if not finding.problem else f"{finding.problem}{' (repaired)' if finding.is_fixed else ''}"


def n_left(findings: Sequence[Finding]) -> int:
    """Return the number of problems that were not repaired."""
    return sum(bool(finding.problem) and not finding.is_fixed for finding in findings)


def examined(memory: MemorySystem, *, fix: bool = False) -> Examination:
    """Check a store against its ledger. With `fix`, repair derived data, and check again.

    Raises:
        StoreDamaged: The ledger itself cannot be read.
    """
    findings = examine(memory.storage, fix=fix)
    rows = tuple(
        FindingRow(
            check=finding.check,
            about=MEANINGS.get(finding.check, "the database itself"),
            verdict=verdict(finding),
            is_ok=not finding.problem or finding.is_fixed,
        )
        for finding in findings
    )
    return Examination(rows=rows, n_left=n_left(findings))
