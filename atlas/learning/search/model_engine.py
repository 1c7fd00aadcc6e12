"""A search by a language model, which reads programs and proposes functions.

A proposed function is converted to a pattern of its body, and programs are rewritten by matching the pattern, never by
the model. All later steps, such as pruning and verification, are the same as for Stitch.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from atlas.core.errors import AtlasError, Cancelled, InvalidInput, LLMError, LLMReplyInvalid
from atlas.learning.search.engines import Corpus, PatternProposal, empty_proposal
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.search.sampling import group_by_rarest_head
from atlas.learning.search.templates import extract_patterns
from atlas.learning.terms.codec import decode
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import CALL, Term
from atlas.llm.concurrency import call_concurrently, concurrency_of
from atlas.llm.prompts.abstraction import ABSTRACTION
from atlas.llm.structured_output import Question, as_data, ask, model_name
from atlas.protocols.infra import LLMClient

MAX_CHARACTERS = 24_000
"""Number of characters of programs in one prompt."""

MAX_QUESTIONS = 8
MAX_PROPOSALS = 12
"""Number of functions in one answer."""

MAX_CODE_CHARACTERS = 4_000
MAX_ANSWER_TOKENS = 4_096


def build_schema(programs: Iterable[str]) -> Mapping[str, Any]:
    """Return the JSON schema of a model's answer, which may contain only these program ids."""
    function = {
        "type": "object",
        "properties": {
            "code": {"type": "string", "maxLength": MAX_CODE_CHARACTERS},
            "programs": {"type": "array", "minItems": 2, "items": {"enum": list(programs)}},
        },
        "required": ["code", "programs"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"functions": {"type": "array", "maxItems": MAX_PROPOSALS, "items": function}},
        "required": ["functions"],
        "additionalProperties": False,
    }


class ModelEngine:
    """A search engine that has a language model propose functions for batches of similar programs."""

    def __init__(self, llm: LLMClient) -> None:
        self._llm = llm

    @property
    def name(self) -> str:
        """Display name of the search."""
        return model_name(self._llm)

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> PatternProposal:
        """Return the abstractions, as `Engine.abstractions` does. Block while the model answers.

        Raises:
            LLMError: Every question to the model failed.
        """
        if len(corpus.terms) < 2:
            return empty_proposal(corpus)
        questions = _Questions(self._llm, corpus, time.monotonic() + limits.seconds)
        for share in questions.ask_all():
            if cancelled is not None and cancelled():
                raise Cancelled("the compression was cancelled; nothing was changed")
            if progress is not None:
                progress("searching", share)
        return _rewrite_corpus(corpus, questions.codes[: limits.iterations], questions.notes)


class _Questions:
    """The questions that a model is asked about a corpus, and the model's answers."""

    def __init__(self, llm: LLMClient, corpus: Corpus, deadline: float) -> None:
        self._llm = llm
        self._deadline = deadline
        self._batches = _make_batches(corpus.terms)
        self.codes: list[str] = []
        """Code of the functions that were proposed."""

        self.notes: list[str] = []
        if len(self._batches) > MAX_QUESTIONS:
            n_shown = sum(map(len, self._batches[:MAX_QUESTIONS]))
            self.notes.append(f"{model_name(llm)} was shown {n_shown:,} of {len(corpus.terms):,} programs")

    def ask_all(self) -> Iterator[float]:
        """Ask all questions concurrently. Yield the share of answered questions, from 0 to 1, before each answer."""
        batches = self._batches[:MAX_QUESTIONS]
        answers = call_concurrently(partial(_ask_for_functions, self._llm), batches, concurrency_of(self._llm))
        n_answered = 0
        for index, batch in enumerate(batches):
            yield index / len(batches)
            if time.monotonic() > self._deadline:
                self.notes.append(f"{model_name(self._llm)} was asked {index} of {len(batches)} questions: time is up")
                return
            answer = next(answers)
            if not isinstance(answer, AtlasError):
                self.codes += answer
                n_answered += 1
                continue
            is_last = index + 1 == len(batches)
            must_raise = is_last or not isinstance(answer, LLMReplyInvalid)
            if not isinstance(answer, LLMError) or (must_raise and not n_answered):
                raise answer
            self.notes.append(f"no usable answer about {len(batch):,} programs: {answer}")
            if not isinstance(answer, LLMReplyInvalid):
                return


async def _ask_for_functions(llm: LLMClient, batch: Mapping[str, str]) -> list[str]:
    programs = as_data(batch, limit=MAX_CHARACTERS)
    question = Question(
        system=ABSTRACTION.text,
        prompt=f"The programs:\n{programs}",
        schema=build_schema(batch),
        validate=_proposed_codes,
        max_tokens=MAX_ANSWER_TOKENS,
    )
    return await ask(llm, question)


def _proposed_codes(answer: dict[str, Any]) -> list[str]:
    """Return the source of each function that an answer proposes.

    Raises:
        InvalidInput: A proposal names fewer than two programs, or its code is not a function.
    """
    for function in answer["functions"]:
        if len(set(function["programs"])) < 2:
            raise InvalidInput(
                "expected at least two different programs that contain the function's body, got "
                f"{', '.join(function['programs'])}"
            )
        extract_patterns(function["code"])
    return [function["code"] for function in answer["functions"]]


def _make_batches(terms: Sequence[Term]) -> list[dict[str, str]]:
    """Return batches of similar programs, each as large as the prompt permits, and keyed by new ids.

    A batch has at least two programs.
    """
    by_name = {str(number): term for number, term in enumerate(terms)}
    similar_first = [by_name[name] for group in group_by_rarest_head(by_name) for name in group]
    batches: list[dict[str, str]] = [{}]
    for number, term in enumerate(similar_first, start=1):
        name, source = f"p{number}", ast.unparse(decode(term))
        if batches[-1] and sum(map(len, batches[-1].values())) + len(source) > MAX_CHARACTERS:
            batches.append({})
        batches[-1][name] = source
    return [batch for batch in batches if len(batch) > 1]


def _rewrite_corpus(corpus: Corpus, codes: Sequence[str], notes: Sequence[str]) -> PatternProposal:
    """Return the corpus rewritten to call the functions that occur in at least two tasks."""
    proposed = dict.fromkeys(_most_frequent_pattern(code, corpus) for code in codes)
    shared = [pattern for pattern in proposed if _n_tasks(pattern, corpus) > 1]
    by_size = sorted(shared, key=lambda pattern: -pattern.body.size)
    patterns = tuple(replace(pattern, name=f"{CALL}{number}") for number, pattern in enumerate(by_size))
    n_absent = len(proposed) - len(patterns)
    absence_note = (
        f"{n_absent:,} of {len(proposed):,} proposed functions do not occur verbatim in programs of two tasks"
    )
    return PatternProposal(
        patterns=patterns,
        terms=tuple(rewrite(term, patterns) for term in corpus.terms),
        notes=(*notes, absence_note) if n_absent else tuple(notes),
        is_by_model=True,
    )


def _most_frequent_pattern(code: str, corpus: Corpus) -> Pattern:
    """Return the pattern of a function that occurs in the most tasks."""
    return max(extract_patterns(code), key=lambda pattern: _n_tasks(pattern, corpus))


def _n_tasks(pattern: Pattern, corpus: Corpus) -> int:
    """Return the number of tasks with a program in which a pattern occurs."""
    patterns = [replace(pattern, name=f"{CALL}0")]
    pairs = zip(corpus.terms, corpus.tasks, strict=True)
    return len({task for term, task in pairs if rewrite(term, patterns).calls})
