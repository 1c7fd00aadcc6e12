"""Cards of hits: the matched passage, the outcome, the signals, and an explanation.

For hits of any memory: the caller provides the record's texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from atlas.core.hits import Hit
from atlas.core.settings import RankingWeights
from atlas.embedding.met_words import MetWords
from atlas.memory.base.memory import Memory
from atlas.memory.base.ranking import explain
from atlas.views.lists.facts import Badge
from atlas.views.lists.highlighting import Passage, Source, beginning_of, passage_of
from atlas.views.shared.browser import asset
from atlas.views.shared.wording import attempts_text, shortened

TITLE_CHARACTERS = 160

MET_CHARACTERS = 40
"""Maximum characters of a matched word."""

MIN_SHOWN = 0.0005
"""Least absolute value of a signal in a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One signal's part of a bar."""

    name: str
    value: float
    """Contribution to the rank value. The contribution of meaning may be negative."""

    start: float
    """Start as a share of the bar, in [0, 1], like the width."""

    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A stacked bar of a hit's signals, with negative ones to the left of zero."""

    segments: tuple[Segment, ...]
    zero: float
    """Position of zero as a share of the bar, in [0, 1]."""

    total: float
    """The rank value, which the segments' values add up to."""

    @property
    def sentence(self) -> str:
        """Alternative text of the bar."""
        named = ", ".join(f"{segment.name} {segment.value:.3f}" for segment in self.segments)
        return f"Rank value {self.total:.3f}: {named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HitCard:
    """A hit to draw. Title and passage are untrusted text. All other fields are trusted."""

    id: str
    title: str
    """On one line, or empty if the passage begins with it."""

    badge: Badge | None
    """The outcome with its sign, `✓ succeeded`, or the type of an entry. For grouped attempts, that of the best one."""

    outcome: str
    """How its uses went, or its round, or empty."""

    attempts: str
    """`4 attempts: 3 succeeded, 1 failed` for grouped attempts, or empty for a single one."""

    relevance: float | None
    """In [0, 1], or None if the search ranked by something else."""

    passage: Passage
    bar: Bar | None
    """None if the search gave no signals. Then the sentence is empty."""

    sentence: str
    parameters: tuple[str, ...] = ()
    """Names that stand in braces in the passages. They are shown as words."""

    lead: Passage | None = None
    """Advice of the record, which stands before the passage, or None. Untrusted."""

    is_titled: bool = True
    """False if the passage begins with the title, and so stands for it."""

    def as_json(self) -> dict[str, Any]:
        """Return the card for the browser.

        The passage is split at its marks here, because JavaScript counts characters differently.
        """
        return {
            "title": self.title,
            "is_titled": self.is_titled,
            "badge": self.badge and asdict(self.badge),
            "outcome": self.outcome,
            "attempts": self.attempts,
            "relevance": None if self.relevance is None else f"{self.relevance:.2f}",
            "source": self.passage.name,
            "pieces": [list(piece) for piece in self.passage.pieces],
            "before": self.passage.is_cut_before,
            "after": self.passage.is_cut_after,
            "lead": self.lead and {"source": self.lead.name, "pieces": [list(piece) for piece in self.lead.pieces]},
            "parameters": list(self.parameters),
            "bar": self.bar and _bar_as_json(self.bar),
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CardText:
    """The texts of a record's card."""

    title: str
    """May be long. Untrusted, as the sources are."""

    sources: Mapping[str, str]
    """Searched texts by label, with the embedded one first."""

    badge: Badge | None = None
    """Words of our own: `✓ succeeded`."""

    outcome: str = ""
    """Words of our own: `succeeded in 4 of 5 uses`."""

    parameters: tuple[str, ...] = ()
    """Names that stand in braces in these texts. Untrusted."""

    lead: str = ""
    """Label of the source that stands first on the card, as it says what to do, or empty."""


def record_card(
    records: Memory[Any],
    record_id: str,
    card_text: CardText,
    *,
    hit: Hit[Any] | None,
    text: str,
    weights: RankingWeights,
) -> HitCard:
    """Return the card of a record that a search found, with its passage and words nearest to the question.

    Args:
        hit: None for a search that ranks by words alone.
        text: The question.
        weights: The weights that it was ranked by.
    """
    window = records.passage(record_id, text) if hit else None
    nearest = [Source("Nearest passage", window, is_part=True)] if window else []
    others = [Source(name, source) for name, source in card_text.sources.items() if name != card_text.lead]
    lead = card_text.sources.get(card_text.lead, "")
    return hit_card(
        hit,
        id=record_id,
        title=card_text.title,
        badge=card_text.badge,
        outcome=card_text.outcome,
        sources=[*nearest, *others],
        lead=Source(card_text.lead, lead) if lead else None,
        query=text,
        weights=weights,
        parameters=card_text.parameters,
        met=records.met_words(record_id, text) if hit and "meaning" in hit.signals else (),
    )


def hit_card(
    hit: Hit[Any] | None,
    *,
    id: str,
    title: str,
    outcome: str = "",
    badge: Badge | None = None,
    sources: Sequence[Source],
    query: str,
    weights: RankingWeights = RankingWeights(),
    parameters: tuple[str, ...] = (),
    met: Sequence[MetWords] = (),
    lead: Source | None = None,
) -> HitCard:
    """Return the card of a record that a search found.

    Args:
        hit: None for a search that ranks by words alone.
        id: Id of the record.
        title: Title of the record; may be long.
        outcome: Trusted text: `succeeded in 4 of 5 uses`.
        badge: Trusted text: `✓ succeeded`.
        sources: The record's searched texts, with the embedded one first.
        query: The question.
        weights: The weights that it was ranked by, which set the length of the longest bar.
        parameters: Names that stand in braces in the sources.
        met: Words of the query that met other words of the record.
        lead: Text that stands before the passage.
    """
    passage = passage_of(sources, query)
    line = _title(title, passage)
    return HitCard(
        id=id,
        title=line,
        is_titled=bool(line),
        badge=badge,
        outcome=outcome,
        attempts=attempts_text(hit.outcomes) if hit else "",
        relevance=hit.relevance if hit else None,
        passage=passage,
        bar=bar_of(hit.signals, weights.meaning + weights.words + weights.nudges) if hit else None,
        sentence=" ".join(filter(None, [explain(hit) if hit else "", met_sentence(met)])),
        parameters=parameters,
        lead=beginning_of(lead, query) if lead else None,
    )


def met_sentence(met: Sequence[MetWords]) -> str:
    """Return `Words that met: refund ↔ reimbursement, client ↔ customer.`, or an empty string without pairs."""
    pairs = [
        f"{shortened(pair.query_word, MET_CHARACTERS)} ↔ {shortened(pair.text_word, MET_CHARACTERS)}" for pair in met
    ]
    return f"Words that met: {', '.join(pairs)}." if pairs else ""


def bar_of(signals: Mapping[str, float], most: float) -> Bar:
    """Return a bar with one segment for each signal, in their order.

    Args:
        most: The total at which a bar has its full length, so that bars can be compared.
    """
    above = sum(value for value in signals.values() if value > 0)
    below = -sum(value for value in signals.values() if value < 0)
    whole = (max(above, most) + below) or 1.0
    left, right, segments = below, below, []
    for name, value in signals.items():
        left, right = (left, right + value) if value >= 0 else (left + value, right)
        start = right - value if value >= 0 else left
        width = abs(value) / whole if abs(value) >= MIN_SHOWN else 0.0
        segments.append(Segment(name=name, value=value, start=start / whole, width=width))
    return Bar(segments=tuple(segments), zero=below / whole, total=sum(signals.values()))


def card_script() -> str:
    """Return the script that draws a card, as the module of a Streamlit component."""
    return asset("hit.js")


def card_stylesheet() -> str:
    """Return the stylesheet of a card, which follows the page's theme."""
    return asset("places.css") + asset("chip.css") + asset("hit.css")


def _title(title: str, passage: Passage) -> str:
    """Return the title, or an empty string if the passage contains it."""
    line = " ".join(title[: 4 * TITLE_CHARACTERS].split())
    begins_with_it = not passage.is_cut_before and " ".join(passage.text.split())[:60] == line[:60]
    if begins_with_it:
        return ""
    return shortened(line, TITLE_CHARACTERS)


def _bar_as_json(bar: Bar) -> dict[str, Any]:
    return {
        "zero": bar.zero,
        "total": f"{bar.total:.3f}",
        "words": bar.sentence,
        "segments": [
            {
                "name": segment.name,
                "value": f"{segment.value:.3f}".replace("-", "\u2212"),
                "start": segment.start,
                "width": segment.width,
                "below": segment.value < 0,
            }
            for segment in bar.segments
        ],
    }
