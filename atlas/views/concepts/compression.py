"""Views of a compression: the functions found, their savings and proofs, and adding them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.core.settings import Settings, join_directories
from atlas.jobs.compression import LiveCompression as LiveCompression
from atlas.jobs.compression import add_concepts, new_strategies, read_attempts, restrict_to_successes, successful_ids
from atlas.jobs.compression_file import CompressionResult as CompressionResult
from atlas.learning.extraction import programs_of
from atlas.learning.reasons import explain_empty_result
from atlas.learning.rewritings import Rewriting
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.strategies import LearnedConcept
from atlas.learning.workflows import has_calls, is_workflow
from atlas.llm.client import is_configured
from atlas.maps.snapshot import n_changed
from atlas.memory.system import MemorySystem
from atlas.views.concepts.concept import examples_text
from atlas.views.shared.plans import PlanView
from atlas.views.shared.texts import Text
from atlas.views.shared.wording import counted, percent, stored_time_text

USUAL_PROGRAMS = Limits().max_programs
MAX_PROGRAMS = (50, 100, 200, USUAL_PROGRAMS, 1_000)
"""Choices for the number of programs to search."""

MAX_READ_ATTEMPTS = 400
"""Maximum number of attempts whose programs are counted before a search."""

MIN_SHARE_SAVED = 0.02
"""Share of saved tokens below which programs have little in common.

Programs that repeat a function on purpose save several times that.
"""

NOT_PROVEN = "not proven"
SAME, DIFFERENT, UNPROVEN = "does the same", "does something else", "is not checked by any test"
VERDICTS = {True: SAME, False: DIFFERENT, None: UNPROVEN}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressible:
    """The number of programs in a scope that can be compressed."""

    sentence: str
    """Trusted text."""

    can_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRow:
    """A function that was found. Its name is untrusted text."""

    id: str
    name: str
    saving: int
    """Tokens."""

    n_programs: int
    """Programs, or runs of tool calls, that use it."""

    n_tasks: int
    arity: int
    verified: str
    """`4 of 4`: number of programs that passed their tests with the function, of all programs whose tests run it."""

    state: str
    """In our own words, or empty if it is new and proven."""

    is_new: bool
    is_proven: bool
    """True if the tests of some program run it, and all such programs did the same."""

    is_workflow: bool
    """True if it consists of tool calls, which can be added as a strategy too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDetails:
    """One function in full. All its texts are untrusted."""

    description: Text
    code: Text
    callees: tuple[str, ...]
    """Names of the others that it calls."""

    examples: Text | None
    """Recorded calls, which were rerun, in the format of a Python session."""

    programs: tuple[BeforeAfter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """A program, and the same program with calls of the found functions."""

    experience_id: str
    is_there: bool
    task: Text
    before: Text
    after: Text
    verdict: str
    """Trusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressPlan:
    """Functions that were found in programs and would become concepts."""

    found: CompressionResult
    ids: tuple[str, ...]
    """The chosen functions."""

    n_all: int
    """Number of chosen functions with their callees."""

    n_new: int
    """Number of these missing in the library."""

    n_strategies: int = 0
    """Number of new workflows that become strategies too."""

    n_known: int = 0
    """Number of new workflows whose advice the strategies contain already."""

    with_strategies: bool = False

    removed_ids: tuple[str, ...] = ()

    @property
    def view(self) -> PlanView:
        """The words of the page, which shows each function itself."""
        return PlanView(
            title="Compress",
            headline=headline(self.found),
            button=f"Add {counted(self.n_all, 'concept')}" if self.n_all else "",
            nothing="The library has all of them already.",
        )

    @property
    def done_sentence(self) -> str:
        """`Added 3 concepts found in 40 attempts, and 2 strategies`."""
        origin = self.found.origin_text(self.found.with_callees(self.ids))
        strategies = f", and {counted(self.n_strategies, 'strategy')}" if self.n_strategies else ""
        known = f"; {counted(self.n_known, 'strategy')} with the same advice existed" if self.n_known else ""
        return f"Added {counted(self.n_new, 'concept')} found in {origin}{strategies}{known}"

    def apply(self, memory: MemorySystem) -> str | None:
        """Add the concepts as one operation and return its id, or None if the library already contains them.

        Raises:
            InvalidInput: A concept that one of them calls was deleted, or the library has one of the same name.
        """
        return add_concepts(memory, self.found, self.ids, with_strategies=self.with_strategies)


def searches(settings: Settings) -> dict[bool, str]:
    """Return the available engines: Stitch, and a language model (True) if configured."""
    model = {True: settings.llm_model} if is_configured(settings) else {}
    return {False: StitchEngine.name} | model


def program_path(settings: Settings) -> str:
    """Return the directories of modules that programs import, parsed from a text field."""
    return join_directories(settings.program_path)


def compressible(memory: MemorySystem, where: Mapping[str, Any]) -> Compressible:
    """Return how many programs a scope has or, beyond `MAX_READ_ATTEMPTS` attempts, how many attempts."""
    n_attempts = memory.experience.count(restrict_to_successes(where))
    if not n_attempts:
        return Compressible(
            sentence="No attempt in scope succeeded, and only the programs of successful ones are compressed.",
            can_run=False,
        )
    successes_text = counted(n_attempts, "successful attempt")
    if n_attempts > MAX_READ_ATTEMPTS:
        return Compressible(
            sentence=f"{successes_text} in scope. Compressing finds out how many hold Python.",
            can_run=True,
        )
    attempts = read_attempts(memory, successful_ids(memory, where))
    extraction, n_calling = programs_of(attempts), sum(map(has_calls, attempts))
    sentence = f"{counted(len(extraction.programs), 'Python program')} in {successes_text} in scope"
    calling_sentence = (
        f" {counted(n_calling, 'attempt')} with tool calls, which may share workflows." if n_calling else ""
    )
    if not extraction.programs:
        reasons_clause = f": {reasons(extraction.dropped)}" if extraction.dropped else ""
        return Compressible(sentence=f"{sentence}{reasons_clause}.{calling_sentence}", can_run=bool(n_calling))
    n_tested = sum(bool(program.tests) for program in extraction.programs)
    tested_clause = f", {n_tested:,} with tests that can prove a rewrite."
    return Compressible(sentence=f"{sentence}{tested_clause}{calling_sentence}", can_run=True)


def headline(result: CompressionResult) -> str:
    """Return a sentence on the number of found functions and their saving, or on the reason for an empty result."""
    if not result.learned:
        explanation = explain_empty_result(result.n_attempts, result.n_programs, result.dropped, result.refused)
        return f"Found no function: {explanation}. More attempts or a wider scope may help."
    n_workflows = sum(is_workflow(learned.concept) for learned in result.learned)
    workflows = f"{counted(n_workflows, 'workflow')} of tool calls" if n_workflows else ""
    if n_workflows == len(result.learned):
        return f"{workflows} in {counted(result.n_attempts, 'attempt')}."
    functions = counted(len(result.learned) - n_workflows, "function")
    programs = counted(result.n_programs, "program")
    n_tokens_after = result.tokens_after + result.tokens_library
    share_saved = 1 - n_tokens_after / result.tokens_before if result.tokens_before else 0.0
    warning = " These programs have little in common." if share_saved < MIN_SHARE_SAVED else ""
    return (
        f"{functions} in {programs}: {result.tokens_before:,} tokens become {n_tokens_after:,}, "
        f"counting the library's {result.tokens_library:,} ({percent(share_saved)} less).{warning}"
        f"{f' Also {workflows}.' if workflows else ''}"
    )


def notes(result: CompressionResult) -> list[str]:
    """Return notes to read before choosing. They come from a file, so they are shown as text."""
    verdicts = [rewriting.does_the_same for rewriting in result.rewritings]
    n_run = len(verdicts) - verdicts.count(None)
    sentences = []
    if verdicts:
        sentences.append(
            f"{counted(len(verdicts), 'program')} rewritten. Tests run the new code in {n_run:,} of them, and "
            f"{verdicts.count(True):,} of those did the same as before."
        )
    return [*sentences, *(f"{note[:1].upper()}{note[1:]}." for note in result.notes)]


def left_out(result: CompressionResult) -> list[str]:
    """Return which attempts were left out and which functions were refused, and why. They are shown as text."""
    sentences = []
    if result.dropped:
        sentences.append(f"Left out of {counted(result.n_attempts, 'attempt')}: {reasons(result.dropped)}.")
    if result.refused:
        sentences.append(f"Refused: {reasons(result.refused)}.")
    return sentences


def reasons(counts: Mapping[str, int]) -> str:
    """Return `no solution in it (3), a patch (1)`."""
    return ", ".join(f"{reason} ({n:,})" for reason, n in counts.items())


def made_caption(result: CompressionResult) -> str:
    """Return the engine and the time of a search, or an empty string if the time cannot be read."""
    time = stored_time_text(result.made_at)
    engine_text = f" by {result.engine}" if result.engine else ""
    return f"Found{engine_text} {time}." if time else ""


def why_outdated(memory: MemorySystem, result: CompressionResult, where: Mapping[str, Any]) -> str:
    """Return what has changed since a search, as trusted text, or an empty string."""
    collection = memory.experience.collection_name
    if memory.storage.ledger.position(collection).ledger_id != result.ledger_id:
        return "The store has changed since: it was restored, or embedded again."
    if n_experiences := n_changed(memory.storage, collection, result.revision):
        return f"The store has changed since: {counted(n_experiences, 'experience')} added or changed."
    return "" if dict(result.where) == dict(where) else "This was found in another scope than the current one."


def found_rows(memory: MemorySystem, result: CompressionResult) -> tuple[FunctionRow, ...]:
    """Return the functions that were found, and whether the library has them now.

    Those that save most in the half of the tasks where they save less come first, because they generalise.
    """
    stored_ids = {
        concept.id for concept in memory.concepts.get_many([learned.concept.id for learned in result.learned])
    }
    by_saving = sorted(result.learned, key=lambda learned: (learned.saving_elsewhere, learned.saving), reverse=True)
    return tuple(_function_row(learned, result, learned.concept.id in stored_ids) for learned in by_saving)


def _function_row(learned: LearnedConcept, result: CompressionResult, is_in_library: bool) -> FunctionRow:
    state = "" if learned.is_proven else NOT_PROVEN
    if is_in_library or learned.is_known:
        state = "in the library" if is_in_library else "was in the library"
    return FunctionRow(
        id=learned.concept.id,
        name=learned.concept.name,
        saving=learned.saving,
        n_programs=len(result.rewritings_with(learned.concept.id)) or learned.n_checked,
        n_tasks=learned.n_tasks,
        arity=learned.arity,
        verified=f"{learned.n_verified:,} of {learned.n_checked:,}" if learned.n_checked else "no test runs it",
        state=state,
        is_new=not (is_in_library or learned.is_known),
        is_proven=learned.is_proven,
        is_workflow=is_workflow(learned.concept),
    )


def found_function(memory: MemorySystem, result: CompressionResult, concept_id: str) -> FunctionDetails:
    """Return a function with its source programs, before and after, callers first."""
    concept = next(learned.concept for learned in result.learned if learned.concept.id == concept_id)
    names = {learned.concept.id: learned.concept.name for learned in result.learned}
    calls_it = re.compile(rf"\b{re.escape(concept.name)}\(")
    rewritings = sorted(result.rewritings_with(concept_id), key=lambda rewriting: not calls_it.search(rewriting.after))
    titles = memory.experience.titles([rewriting.program.id for rewriting in rewritings])
    return FunctionDetails(
        description=Text(concept.description),
        code=Text(concept.code, "python"),
        callees=tuple(names[called] for called in concept.calls if called in names),
        examples=Text(examples_text(concept.examples), "python") if concept.examples else None,
        programs=tuple(_before_after(rewriting, rewriting.program.id in titles) for rewriting in rewritings),
    )


def _before_after(rewriting: Rewriting, is_stored: bool) -> BeforeAfter:
    return BeforeAfter(
        experience_id=rewriting.program.id,
        is_there=is_stored,
        task=Text(rewriting.program.description),
        before=Text(rewriting.before, "python"),
        after=Text(rewriting.after, "python"),
        verdict=VERDICTS[rewriting.does_the_same],
    )


def added_with(result: CompressionResult, ids: Sequence[str]) -> list[str]:
    """Return the names of callees that are added with the chosen functions."""
    return [concept.name for concept in result.with_callees(ids) if concept.id not in ids]


def plan_adding(
    memory: MemorySystem, result: CompressionResult, ids: Sequence[str], *, with_strategies: bool = False
) -> CompressPlan:
    """Return a plan to add the chosen functions and the functions that they call."""
    concepts = result.with_callees(ids)
    stored_ids = {concept.id for concept in memory.concepts.get_many([concept.id for concept in concepts])}
    new = [concept for concept in concepts if concept.id not in stored_ids]
    n_strategies = len(new_strategies(memory, new)) if with_strategies else 0
    return CompressPlan(
        found=result,
        ids=tuple(ids),
        n_all=len(concepts),
        n_new=len(new),
        n_strategies=n_strategies,
        n_known=sum(map(is_workflow, new)) - n_strategies if with_strategies else 0,
        with_strategies=with_strategies,
    )
