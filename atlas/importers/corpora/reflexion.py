"""Reflexion's programming logs: a reflection or a problem's first sentence should find the attempts at the problem."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from atlas.core.types import Trajectory
from atlas.evaluation.measures import JudgedCorpus, JudgedQuery, RetrievalTask
from atlas.evaluation.metrics import SAME
from atlas.importers.corpora.records import make_record

_REQUEST = re.compile(r"^write (?:a|an) (?:python )?function (?:to|that|which) ", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n\s*\n|\n\s*>>>|\b(?:for example|example)\b", re.IGNORECASE)
_CODE = re.compile(
    r"""
    [`'"]\w+[`'"]                     # quoted names
    | \b\w*_\w*\b | \b[a-z]+[A-Z]\w*  # snake_case, camelCase
    | \b\w*\d\w*\b | \b[b-zB-HJ-Z]\b # names with digits, single letters but for `a` and `I`
    | \[[^\]]*\] | [`<>=*]            # literals, operators
    """,
    re.VERBOSE,
)
"""Code inside prose."""


def build_corpus(attempts: Sequence[Trajectory]) -> JudgedCorpus:
    """Return a corpus of programming attempts. A record contains only the problem and the solution."""
    ids_by_problem: dict[str, list[str]] = defaultdict(list)
    records = []
    for attempt in attempts:
        attempt_record = make_record(
            attempt, f"{attempt.task.id}#{len(ids_by_problem[attempt.task.id])}", attempt.task.description
        )
        ids_by_problem[attempt.task.id].append(attempt_record.id)
        records.append(attempt_record)
    problems = {attempt_record.task.id: attempt_record.task.description for attempt_record in records}
    return JudgedCorpus(
        name="Reflexion attempts",
        trajectories=tuple(records),
        tasks=(_reflections(attempts, ids_by_problem), _paraphrase_task(problems, ids_by_problem)),
    )


def is_programming(attempt: Trajectory) -> bool:
    """Return whether the task of an attempt is a programming problem. Household tasks have no text to search for."""
    return bool(attempt.task.context.get("prompt"))


def plain_first_sentence(description: str) -> str:
    """Return the first sentence of a problem, without code, names from code, and stock phrases."""
    prose = description.rpartition("\n\ndef ")[0] or description
    sentence = " ".join(_SENTENCE_END.split(prose.strip(), maxsplit=1)[0].split())
    words = " ".join(_CODE.sub(" ", _REQUEST.sub("", sentence)).split())
    return words or sentence


def _reflections(attempts: Sequence[Trajectory], ids_by_problem: Mapping[str, Sequence[str]]) -> RetrievalTask:
    return RetrievalTask(
        name="Reflexion, reflection",
        about="The first reflection on a failed attempt → the attempts at that problem in all logs, described by the "
        "problem and holding their solutions, but no reflections.",
        queries=tuple(
            JudgedQuery(
                text=attempt.steps[0].thought,
                grades=dict.fromkeys(ids_by_problem[attempt.task.id], SAME),
                group=attempt.task.id,
            )
            for attempt in attempts
            if attempt.steps and attempt.steps[0].thought
        ),
    )


def _paraphrase_task(problems: Mapping[str, str], ids_by_problem: Mapping[str, Sequence[str]]) -> RetrievalTask:
    return RetrievalTask(
        name="Reflexion, sentence",
        about="A problem's first sentence without signature, examples and names → the attempts at it in all logs. Its "
        "words are the record's own, so this is close to searching for a quotation.",
        queries=tuple(
            JudgedQuery(
                text=plain_first_sentence(description),
                grades=dict.fromkeys(ids_by_problem[task_id], SAME),
                group=task_id,
            )
            for task_id, description in problems.items()
        ),
    )
