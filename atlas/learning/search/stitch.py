"""A search by Stitch (Bowers et al., POPL 2023), in a separate process."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from atlas.core.errors import Cancelled
from atlas.core.imports.distribution import require_extra
from atlas.learning.search import stitch_worker
from atlas.learning.search.engines import Corpus, EngineError, PatternProposal, empty_proposal
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.heads import (
    BLOCK,
    CALL_COST,
    DO,
    EXPRESSION,
    MODULE,
    REST,
    STATEMENT,
    THEN,
    cost_of,
    read_head,
)
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.symbols import number_symbols, replace_symbols
from atlas.learning.terms.terms import SYMBOL, Term, read_term

POLL_SECONDS = 0.05
MAX_WALL_RATIO = 20
"""Largest ratio of wall-clock time to CPU time before a search is ended."""

SPARE_SECONDS = 60
"""Extra time after which the process of a search ends by itself, in case nothing has ended it."""

MAX_SECONDS = 1e8  # timers overflow beyond some centuries
CPU_LIMIT_SIGNAL = getattr(signal, "SIGXCPU", 0)  # Windows has no such signal, and only wall-clock time ends a search
TIMEOUT_NOTE = "with the functions found by then"


class StitchEngine:
    """Stitch, extended with sorts, local variables, and costs that follow the length of the source code.

    Args:
        costs: Returns the cost of a head. Stitch itself uses 100 for every head.
    """

    name = "Stitch"

    def __init__(self, costs: Callable[[str], int] = cost_of) -> None:
        self._costs = costs

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> PatternProposal:
        """Return the abstractions, as `Engine.abstractions` does."""
        require_extra("learning", "a search by Stitch", EngineError)
        if len(corpus.terms) < 2:  # Stitch aborts on an empty list, and one program shares no code
            return empty_proposal(corpus)
        symbols = [
            number_symbols(term) for term in corpus.terms
        ]  # otherwise Stitch does not finish on programs that differ only in names
        numbered_corpus = replace(corpus, terms=tuple(map(replace_symbols, corpus.terms, symbols)))
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary)
            (directory / "request.json").write_text(
                json.dumps(_build_request(numbered_corpus, limits, self._costs)), "ascii"
            )
            stop_reason = _run_worker(directory, limits, progress, cancelled)
            proposal = _read_proposal(directory, numbered_corpus, stop_reason, limits)
        original_symbols = [{number: symbol for symbol, number in numbers.items()} for numbers in symbols]
        return replace(proposal, terms=tuple(map(replace_symbols, proposal.terms, original_symbols)))


def _split_blocks(term: Term) -> Term:
    """Return a term in which each block begins with a separate head, so that no hole stands for a whole block.

    Otherwise Stitch proposes many patterns whose holes are whole blocks, and such patterns cannot become functions.
    """
    children = [_split_blocks(child) for child in term.children]
    if not term.head.startswith(DO):
        return Term(term.head, children) if children else term
    (rest,) = children
    return Term(rest.head.replace(THEN, DO), rest.children)


def _join_blocks(term: Term, block_calls: Collection[str]) -> Term:
    """Return a term from Stitch in the form that `encode` returns. Reverses `_split_blocks`.

    Args:
        block_calls: Heads of the calls that stand for a whole block.
    """
    children = [_join_blocks(child, block_calls) for child in term.children]
    if term.head in block_calls:
        return Term(_BLOCK_HEAD, [Term(term.head, children)])
    if term.head.startswith(DO):
        return Term(_BLOCK_HEAD, [Term(term.head.replace(DO, THEN), children)])
    return Term(term.head, children) if children else term


_BLOCK_HEAD = f"{DO}/{REST}"


def _build_request(corpus: Corpus, limits: Limits, costs: Callable[[str], int]) -> dict[str, Any]:
    terms = [_split_blocks(term) for term in corpus.terms]
    heads = sorted({term.head for program in terms for term in program.walk()})
    options = {
        "max_arity": limits.max_arity,
        "cost_prim": _compact_json({head: costs(head) for head in heads}),
        "cost_prim_default": CALL_COST,
        "tdfa_json_path": "automaton.json",
        "tdfa_root": MODULE,
        "valid_roots": _compact_json([EXPRESSION, STATEMENT, BLOCK, REST]),
        "valid_metavars": _compact_json([EXPRESSION, REST]),
        "tdfa_non_eta_long_states": "{}",
        "tdfa_split": "$",
        "symvar_prefix": SYMBOL,
    }
    return {
        "programs": [str(term) for term in terms],
        "tasks": list(corpus.tasks),
        "automaton": _build_automaton(heads),
        "options": options,
        "iterations": limits.iterations,
        "megabytes": limits.megabytes,
        "cpu_seconds": math.ceil(min(max(limits.seconds, 1), MAX_SECONDS)),
        "seconds": min(MAX_WALL_RATIO * limits.seconds + SPARE_SECONDS, MAX_SECONDS),
    }


def _compact_json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))  # Stitch splits its options at spaces


def _build_automaton(heads: list[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the sorts of the children of each head, grouped by the head's sort."""
    automaton: dict[str, dict[str, tuple[str, ...]]] = {}
    for text in heads:
        if not text.startswith(SYMBOL):
            head = read_head(text)
            automaton.setdefault(head.sort, {})[text] = head.child_sorts
    return automaton


def _run_worker(directory: Path, limits: Limits, progress: StageProgress | None, cancelled: IsCancelled | None) -> str:
    """Run the search in its own process. Return why it stopped early, or an empty string."""
    command = [sys.executable, "-P", stitch_worker.__file__, str(directory)]
    with (directory / "errors.txt").open("wb") as errors:
        process = subprocess.Popen(command, cwd=directory, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + MAX_WALL_RATIO * limits.seconds
    try:
        while process.poll() is None:
            if cancelled is not None and cancelled():
                raise Cancelled("the compression was cancelled; nothing was changed")
            if time.monotonic() > deadline:
                return f"stopped after {MAX_WALL_RATIO * limits.seconds:.0f} s, {TIMEOUT_NOTE}"
            _report_progress(directory, limits, progress)
            time.sleep(POLL_SECONDS)
    finally:
        process.kill()
        process.wait()
    if process.returncode == -CPU_LIMIT_SIGNAL:
        return f"stopped after {limits.seconds:.0f} s of computing, {TIMEOUT_NOTE}"
    return "" if process.returncode == 0 else _describe_failure(directory, limits, process.returncode)


def _report_progress(directory: Path, limits: Limits, progress: StageProgress | None) -> None:
    if progress is not None and (answer := _read_answer(directory)) is not None:
        progress("searching", len(answer["patterns"]) / limits.iterations)


def _read_answer(directory: Path) -> dict[str, Any] | None:
    path = directory / "answer.json"
    if not path.exists():
        return None
    answer: dict[str, Any] = json.loads(path.read_text("ascii"))
    return answer


def _describe_failure(directory: Path, limits: Limits, exit_code: int) -> str:
    """Return why the process of a search failed: it ran out of memory, or ended with an error."""
    errors = (directory / "errors.txt").read_text("utf-8", "replace")
    if any(message in errors for message in ("memory allocation", "MemoryError", "failed to map segment")):
        return f"stopped at {limits.megabytes:,} MB, {TIMEOUT_NOTE}"
    return f"ended with code {exit_code}: {errors.strip()[-300:]!r}"


def _read_proposal(directory: Path, corpus: Corpus, stop_reason: str, limits: Limits) -> PatternProposal:
    """Return the proposal in the search's answer. Raise `EngineError` if the search ended early without patterns."""
    answer = _read_answer(directory)
    if answer is None and TIMEOUT_NOTE in stop_reason:
        return empty_proposal(corpus, [f"the search {stop_reason}: {_describe_progress(0, limits)}"])
    was_aborted = stop_reason != "" and TIMEOUT_NOTE not in stop_reason
    if answer is None or (was_aborted and not answer["patterns"]):
        raise EngineError(
            f"the search {stop_reason or 'gave no answer'}; try fewer programs, or AntiUnificationEngine()"
        )
    block_calls = {abstraction["name"] for abstraction in answer["patterns"] if abstraction["sort"] == BLOCK}
    patterns = [_read_pattern(abstraction, block_calls) for abstraction in answer["patterns"]]
    notes = [f"the search {stop_reason}: {_describe_progress(len(patterns), limits)}"] if stop_reason else []
    if answer["unchecked"]:
        notes.append("Stitch's own check of costs failed and was skipped; ATLAS checks every result itself")
    terms = tuple(_join_blocks(read_term(program), block_calls) for program in answer["programs"])
    return PatternProposal(patterns=tuple(patterns), terms=terms, notes=tuple(notes))


def _read_pattern(abstraction: Mapping[str, Any], block_calls: Collection[str]) -> Pattern:
    body, is_block = _join_blocks(read_term(abstraction["body"]), block_calls), abstraction["name"] in block_calls
    return Pattern(
        name=abstraction["name"],
        body=body.children[0] if is_block else body,
        sort=REST if is_block else abstraction["sort"],
        hole_sorts=tuple(abstraction["hole_sorts"]),
    )


def _describe_progress(n_patterns: int, limits: Limits) -> str:
    """Return the progress of a search that ended early, and how to give it more time."""
    return (
        f"{n_patterns} of at most {limits.iterations} functions; more time (ATLAS_COMPRESS_SECONDS) or memory may find "
        "the others"
    )
