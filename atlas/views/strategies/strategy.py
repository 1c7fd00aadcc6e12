"""One strategy in full: its texts, its success rate with an interval, its tries and its sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

from atlas.core.operations import NO_MARKS, NO_USAGE, Marks, Usage, Use
from atlas.core.types import Strategy
from atlas.memory.effects.strategy_effects import N_SIMILAR as N_SIMILAR
from atlas.memory.effects.strategy_effects import StrategyEffect, Tries, strategy_effect
from atlas.memory.promotion import PROMOTED_FROM
from atlas.memory.strategies.memory import EDITABLE
from atlas.memory.strategies.outcomes import StrategyRate
from atlas.memory.strategies.writing import SEPARATION_REASON
from atlas.memory.strategy_sources import baseline_rates, stored_attempts
from atlas.memory.system import MemorySystem
from atlas.storage.damage import stored_instant
from atlas.views.charts.interval_bars import BarLine, bar_line
from atlas.views.kinds.metadata import SAMPLE_MARK
from atlas.views.kinds.uses import worse_than
from atlas.views.kinds.verdicts import NOT_CLEAR
from atlas.views.lists.editable import EditableFields
from atlas.views.lists.facts import Fact, facts_of, plain_facts
from atlas.views.shared.rates import Record, record_of, verdict_of
from atlas.views.shared.texts import Text, as_json, text_of
from atlas.views.shared.versions import VersionView, version_views
from atlas.views.shared.wording import counted, day_text, outcome_with_sign, utc_time_text
from atlas.views.strategies.list import domain_of, learned_text, retired_text, trend_text, written_by
from atlas.views.strategies.parameters import parameters_in, parameters_text
from atlas.views.strategies.steps import Steps, steps_of
from atlas.views.strategies.titles import readable_title

MAX_SOURCES = 20
WITH = "With it"

SHOWN_ELSEWHERE = ("derived_by", "domain", SAMPLE_MARK)
"""Metadata that is shown elsewhere on the page, if at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditableStrategy(EditableFields):
    """The editable fields of a strategy, as texts."""

    title: str = ""
    situation: str = ""
    suggestion: str = ""
    parameters: str = ""
    """One on each line: `name (type): description`."""

    rationale: str = ""

    @classmethod
    def of(cls, strategy: Strategy) -> EditableStrategy:
        """Return the current fields of a strategy."""
        texts = {field.name: getattr(strategy, field.name) for field in fields(cls) if field.name != "parameters"}
        return cls(**texts, parameters=parameters_text(strategy.parameters))

    def changes(self, begun: EditableStrategy, record: Strategy) -> dict[str, Any]:
        """Return a person's changes to a strategy, as arguments of `edit`.

        Raises:
            InvalidInput: The parameters cannot be read.
        """
        changes = EditableFields.changes(self, begun, record)
        return changes | {"parameters": parameters_in(self.parameters)} if "parameters" in changes else changes


@dataclass(frozen=True, slots=True)
class SourceRow:
    """An attempt that a strategy was abstracted from."""

    experience_id: str
    """Empty if the attempt is no longer stored."""

    outcome: str
    title: str
    """Untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyDetail:
    """Detail of a strategy, without parts that need a search."""

    id: str
    title: Text
    situation: Text
    suggestion: Text
    steps: Steps
    parameters: tuple[Mapping[str, str], ...]
    """Untrusted texts by `name`, `type`, `description` and `example`."""

    rationale: Text | None
    other_ways: tuple[Text, ...]
    """Other suggestions that worked at the same tasks."""

    background: tuple[Fact, ...]
    """Further facts that its writer gave, by name. All are untrusted texts."""

    marks: Marks
    editable: EditableStrategy
    rate: StrategyRate
    record: Record
    headline: str
    """How often it worked, in a sentence of our own."""

    used: BarLine | None
    """How often it worked as a picture, or None before any use."""

    facts: tuple[Fact, ...]
    """Its evidence in short, its author and its time."""

    more_facts: tuple[Fact, ...]

    attempts: tuple[Use, ...]
    """Every try, oldest first."""

    sources: tuple[SourceRow, ...]
    n_more_sources: int
    versions: tuple[VersionView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectView:
    """How well a strategy worked, against similar tasks without it. Trusted text."""

    verdict: str
    """One sentence on whether it helps."""

    rows: tuple[BarLine, ...]
    """With it and without it, as far as there are attempts. Empty for a strategy that was not used."""


def strategy_detail(memory: MemorySystem, strategy_id: str) -> StrategyDetail | None:
    """Return a strategy in full, or None if it is not in the bank."""
    strategy = memory.strategies.get(strategy_id)
    if strategy is None:
        return None
    rate, attempts = memory.strategies.rate(strategy_id), memory.strategies.attempts(strategy_id)
    usage = memory.strategies.usage([strategy_id]).get(strategy_id, NO_USAGE)
    without = baseline_rates(memory.strategies, memory.experience, [strategy])[strategy_id]
    learned_from = learned_text(without, len(strategy.sources)) or _entry_text(memory, strategy)
    worse = worse_than(memory.strategies, memory.strategies.retired())
    return StrategyDetail(
        id=strategy.id,
        title=Text(readable_title(strategy.title)),
        situation=Text(strategy.situation),
        suggestion=Text(strategy.suggestion),
        steps=steps_of(strategy.suggestion),
        parameters=strategy.parameters,
        rationale=text_of(strategy.rationale),
        other_ways=_other_ways(strategy.metadata),
        background=tuple(_background(strategy.metadata)),
        marks=memory.strategies.marks([strategy_id]).get(strategy_id, NO_MARKS),
        editable=EditableStrategy.of(strategy),
        rate=rate,
        headline=_headline(rate),
        used=bar_line(WITH, rate.n_succeeded, rate.n) if rate.n else None,
        record=record_of(rate.n_succeeded, rate.n, others=worse.get(strategy_id)),
        facts=_facts(strategy, rate, attempts, learned_from),
        more_facts=_more_facts(strategy, usage),
        attempts=tuple(attempts),
        sources=_sources(memory, strategy),
        n_more_sources=max(0, len(strategy.sources) - MAX_SOURCES),
        versions=version_views(strategy, memory.strategies.versions(strategy_id), [*EDITABLE], _texts),
    )


def effect_view(memory: MemorySystem, strategy_id: str) -> EffectView:
    """Return whether a strategy helps: its tries, against attempts at similar tasks that did not use it.

    Raises:
        NotFound: It does not exist.
    """
    found = strategy_effect(memory.strategies, memory.experience, strategy_id)
    used, without = found.used, found.not_used
    below = (bar_line("Without it", without.n_succeeded, without.n, "similar attempt"),) if without.n else ()
    rows = (bar_line(WITH, used.n_succeeded, used.n, has_scale=not below), *below) if used.n else ()
    return EffectView(verdict=_verdict(found), rows=rows)


def _verdict(effect: StrategyEffect) -> str:
    headline = _headline(effect.used)
    if effect.verdict == "not used":
        return headline
    without = effect.not_used
    if effect.difference is None or without.rate is None:
        return f"{headline} No similar task was tried without it."
    if effect.verdict == "unplaced":
        names = f"{counted(effect.n_unplaced, 'use')} {'names' if effect.n_unplaced == 1 else 'name'}"
        return f"{headline} {names} no attempt and no task, so it cannot be compared with similar tasks without it."
    comparison = f"{'better' if effect.difference >= 0 else 'worse'} than similar tasks without it."
    if effect.verdict != "unclear":
        return f"Clearly {comparison}"
    verdict = verdict_of(effect.used.interval, effect.used.n)
    if verdict == NOT_CLEAR:
        return f"Not clear yet whether it is {comparison}"
    return f"{verdict.capitalize()}, not clearly {comparison}"


def _headline(rate: StrategyRate | Tries) -> str:
    if not rate.n:
        return "It has not been used yet."
    if rate.n == 1:
        return f"Its only use {'succeeded' if rate.n_succeeded else 'failed'}."
    return f"{rate.n_succeeded:,} of {counted(rate.n, 'use')} succeeded."


def _entry_text(memory: MemorySystem, strategy: Strategy) -> str:
    """Return `a journal entry of 10 Nov 2026`, or an empty string if it did not come from the journal."""
    found = strategy.metadata.get(PROMOTED_FROM)
    ids = [each for each in found if isinstance(each, str)] if _is_list(found) else []
    times = memory.journal.column("created_at", {"id": {"$in": ids}}) if ids else {}
    written = [stored_instant(times, entry_id) for entry_id in times]
    return f"a journal entry of {day_text(min(written))}" if written else ""


def _facts(strategy: Strategy, rate: StrategyRate, attempts: Sequence[Use], learned_from: str) -> tuple[Fact, ...]:
    return facts_of(
        {
            "Retired": retired_text(rate).removeprefix("retired "),
            "Trend": trend_text([attempt.success for attempt in attempts]),
            "Last used": utc_time_text(attempts[-1].at) if attempts else "",
            "Written by": written_by(strategy),
            "Learned from": learned_from,
            "Added": utc_time_text(strategy.created_at) if strategy.created_at else "",
        }
    )


def _more_facts(strategy: Strategy, usage: Usage) -> tuple[Fact, ...]:
    retrieved = counted(usage.n_retrieved, "time") if usage.n_retrieved else "never"
    return facts_of({"Domain": domain_of(strategy), "Retrieved": retrieved})


def _other_ways(metadata: Mapping[str, Any]) -> tuple[Text, ...]:
    return tuple(Text(text) for text in _of_variants(metadata, "suggestion"))


def _of_variants(metadata: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts under a name in a strategy's variants."""
    variants = metadata.get("variants")
    texts = [variant.get(name) for variant in variants if isinstance(variant, Mapping)] if _is_list(variants) else []
    return [text for text in texts if isinstance(text, str) and text]


def _background(metadata: Mapping[str, Any]) -> Iterator[Fact]:
    elsewhere = {*SHOWN_ELSEWHERE, *(("variants",) if _other_ways(metadata) else ())}
    facts = {name: value for name, value in metadata.items() if name not in elsewhere}
    if reasons := _of_variants(metadata, SEPARATION_REASON):
        facts["another_way_kept_because"] = "; ".join(reasons)
    return plain_facts(facts)


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _sources(memory: MemorySystem, strategy: Strategy) -> tuple[SourceRow, ...]:
    ids = strategy.sources[:MAX_SOURCES]
    attempts_by_id = stored_attempts(memory.experience, ids)
    titles = memory.experience.titles([experience.id for experience in attempts_by_id.values()])
    return tuple(
        SourceRow(
            attempts_by_id[source].id,
            outcome_with_sign(attempts_by_id[source].outcome),
            titles.get(attempts_by_id[source].id, ""),
        )
        if source in attempts_by_id
        else SourceRow("", "", "")
        for source in ids
    )


def _texts(strategy: Strategy) -> dict[str, str]:
    return {
        "title": strategy.title,
        "situation": strategy.situation,
        "suggestion": strategy.suggestion,
        "parameters": parameters_text(strategy.parameters),
        "rationale": strategy.rationale,
        "metadata": text.whole if (text := as_json(strategy.metadata)) else "",
    }
